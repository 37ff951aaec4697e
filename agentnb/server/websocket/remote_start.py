"""Has a running kernel served, from a terminal: the kernel is asked over Jupyter's own protocol."""

from __future__ import annotations

from pathlib import Path

from agentnb.errors import AgentnbError
from agentnb.server.websocket.runtime_file import runtime_folder

ANSWER_SECONDS = 60.0
CODE = "import agentnb.api.serving as _s; _s.serving() or _s.serve()"


class NotServed(AgentnbError):
    """A kernel that could not be served."""


def start_in(kernel: str) -> None:
    """Have *kernel* served, where it is not yet."""
    try:
        from jupyter_client.blocking.client import BlockingKernelClient
    except ModuleNotFoundError as error:
        raise NotServed("jupyter_client is not installed here.", hint="Run `%agents serve` in the notebook.") from error
    client = BlockingKernelClient(connection_file=str(_connection_file(kernel)))
    client.load_connection_file()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=ANSWER_SECONDS)
        reply = client.execute_interactive(
            CODE, silent=True, store_history=False, timeout=ANSWER_SECONDS, output_hook=lambda _message: None
        )
    except (RuntimeError, TimeoutError) as error:
        raise NotServed(
            "The kernel did not answer.", hint="A cell may be running. Wait until it finishes, then try again."
        ) from error
    finally:
        client.stop_channels()
    content = reply["content"]
    if content.get("status") != "ok":
        raise NotServed(f"The kernel could not be served: {content.get('ename')}: {content.get('evalue')}")


def _connection_file(kernel: str) -> Path:
    if kernel.endswith(".json"):
        path = Path(kernel)
        if path.is_file():
            return path
        raise NotServed(f"There is no file {kernel}.")
    names = [path for path in runtime_folder().glob("kernel-*.json") if path.stem.startswith(f"kernel-{kernel}")]
    if len(names) != 1:
        what = f"{len(names)} kernels begin with {kernel!r}" if names else f"No running kernel begins with {kernel!r}"
        hint = "`jupyter server list` and the notebook's kernel menu name them; %connect_info shows the file."
        raise NotServed(f"{what} in {runtime_folder()}.", hint=hint)
    return names[0]
