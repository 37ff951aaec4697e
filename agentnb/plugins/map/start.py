"""``agentnb.map`` and ``agentnb.compare_agents``: one prompt over many inputs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, overload

import msgspec

from agentnb.api.answers import Wanted
from agentnb.api.arguments import check_count, check_permissions
from agentnb.api.configured import DEFAULT_AGENT, configured
from agentnb.api.unattended import follow_work
from agentnb.budget import read_budget
from agentnb.errors import UsageError
from agentnb.host.environment import current_environment
from agentnb.plugins.map.asking import BatchQuestion
from agentnb.plugins.map.batch import Batch
from agentnb.plugins.map.cassette import cassette_for, not_recorded
from agentnb.plugins.map.comparison import Comparison
from agentnb.plugins.map.inputs import input_prompts, length_of
from agentnb.plugins.map.progress import show_progress
from agentnb.plugins.map.records import BatchRows
from agentnb.plugins.map.workspaces import ISOLATED

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from typing_extensions import Unpack

    from agentnb.api.session import Permissions
    from agentnb.plugins.map.batch import OnError
    from agentnb.plugins.map.cluster import Cluster

T = TypeVar("T")
MOST_AT_ONCE = 256


class MapOptions(TypedDict, total=False):
    """The arguments of :func:`map` on which the type of its answers does not depend."""

    agent: str | None
    command: Sequence[str] | None
    env: Mapping[str, str] | None
    model: str | None
    cwd: str | os.PathLike[str] | None
    permissions: Permissions
    mcp_servers: Any
    verify: bool
    concurrency: int
    processes: int
    check: Callable[[Any, Any], Any] | None
    timeout: float | None
    retries: int
    backoff: float
    max_failures: int | None
    max_cost: float | None
    budget: str | None
    resume: str | None
    cassette: str | os.PathLike[str] | None
    executor: Any
    progress: bool


class CompareOptions(MapOptions, total=False):
    """The arguments of :func:`compare_agents` that are those of :func:`map`."""

    output: Any
    on_error: OnError


@overload
def map(
    prompt: str | Callable[[Any], Any],
    inputs: Any,
    *,
    output: None = None,
    on_error: Literal["raise"] = "raise",
    **options: Unpack[MapOptions],
) -> Batch[str]: ...


@overload
def map(
    prompt: str | Callable[[Any], Any],
    inputs: Any,
    *,
    output: None = None,
    on_error: Literal["keep"],
    **options: Unpack[MapOptions],
) -> Batch[str | None]: ...


@overload
def map(
    prompt: str | Callable[[Any], Any],
    inputs: Any,
    *,
    output: type[T],
    on_error: Literal["raise"] = "raise",
    **options: Unpack[MapOptions],
) -> Batch[T]: ...


@overload
def map(
    prompt: str | Callable[[Any], Any],
    inputs: Any,
    *,
    output: type[T],
    on_error: Literal["keep"],
    **options: Unpack[MapOptions],
) -> Batch[T | None]: ...


@overload
def map(
    prompt: str | Callable[[Any], Any],
    inputs: Any,
    *,
    output: Any = None,
    on_error: OnError = "raise",
    **options: Unpack[MapOptions],
) -> Batch: ...


def map(
    prompt: str | Callable[[Any], Any],
    inputs: Any,
    *,
    agent: str | None = None,
    command: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    model: str | None = None,
    cwd: str | os.PathLike[str] | None = None,
    permissions: Permissions = "deny",
    mcp_servers: Any = (),
    verify: bool = False,
    concurrency: int = 4,
    processes: int = 1,
    output: Any = None,
    check: Callable[[Any, Any], Any] | None = None,
    timeout: float | None = None,
    retries: int = 1,
    backoff: float = 1.0,
    on_error: OnError = "raise",
    max_failures: int | None = None,
    max_cost: float | None = None,
    budget: str | None = None,
    resume: str | None = None,
    cassette: str | os.PathLike[str] | None = None,
    executor: Any = None,
    progress: bool = True,
) -> Batch:
    """Ask an agent the same question about many inputs; returns at once, answers arrive in the background.

    Each input has its own session, so no answer knows of another. The answers are kept in a file beside the log:
    ``resume=`` continues a batch that was interrupted, or whose kernel was restarted.

    Args:
        prompt: A template with fields in braces (``"Classify: {text}"``), or a function that gets each row and returns
            the prompt, or the prompt and its mentions, as :meth:`agentnb.Session.prompt` takes it. Fields are columns,
            keys of mappings, or ``{input}`` for inputs without names. ``{{`` and ``}}`` are braces; missing values
            (None, NaN) are empty.
        inputs: A list, a dict, a Series, a DataFrame (pandas, polars), a Dask DataFrame or bag, or any iterable; a lazy
            one is read as it is needed, on a thread of the batch.
        agent: As for :func:`agentnb.start`.
        command: As for :func:`agentnb.start`.
        env: As for :func:`agentnb.start`.
        model: As for :func:`agentnb.start`.
        cwd: As for :func:`agentnb.start`; all inputs share it (``"shared"``: the current folder). ``"isolated"``: each
            input has a copy of the current folder, with its own agent process; the result lists the changes that the
            agent made there (``changes``), and ``result.keep()`` applies them to the folder.
        permissions: As for :func:`agentnb.start`; ``"deny"`` by default, since nobody wants to be asked 1,000 times.
        mcp_servers: As for :func:`agentnb.start`.
        verify: As for :func:`agentnb.start`: an answer is done once the notebooks that its turn wrote are verified.
        concurrency: How many inputs are asked at once.
        processes: How many processes of the agent they share.
        output: The type of the answers: a msgspec, dataclass or pydantic type, any other type such as ``list[str]`` or
            ``Literal["good", "bad"]``, or a JSON schema. The answer is read as JSON and checked; if it does not fit,
            the agent is asked once more, with the error.
        check: A function of the input and the answer that returns what is wrong (a text or data checks,
            :func:`agentnb.compare`) or fails with an ``assert``; it returns nothing if all is well. The input is then
            asked again, with the problem (of data checks without values), as after a failure.
        timeout: Seconds for an input; None for no limit.
        retries: How often an input is asked again after a failure.
        backoff: Seconds of the first pause when the agent reports that its model is busy (429 and similar); each
            further pause is twice as long, a minute at most. All inputs wait then.
        on_error: ``"raise"``: the first failure ends the batch, and reading its answer raises; ``"keep"``: the others
            continue, and the answer is None.
        max_failures: End the batch after so many failures.
        max_cost: End it when it has cost that much, in any currency that the agent reports.
        budget: A limit for all inputs together: some of tokens, money, time and turns, such as ``"2M tokens, $20, 1
            h"``. At the limit the batch ends with the reason, and running inputs are cancelled; ``resume=`` with a
            larger budget continues it. Its earlier answers count; those from a cassette do not.
        resume: The id of a batch: inputs that it has answered are not asked again.
        cassette: A file of recorded answers: inputs with an answer in it are not asked, the other answers are added. If
            a notebook is recorded or replayed, a file beside its cassette by default.
        executor: Where agents run: None for this machine; for the workers of a Dask cluster a ``distributed.Client``,
            the cluster or the address of its scheduler (``"tcp://host:8786"``). Each worker asks as many inputs at once
            as it has threads; *concurrency* limits how many inputs are with the cluster at once.
        progress: True to show a progress bar.

    Returns:
        The batch: a sequence of the answers in the order of the inputs.

    Raises:
        UsageError: If an argument is invalid, or there is no batch to resume.
        UnknownAgent: If the catalogue has no such agent.
        AgentNotFound: If its command is not installed.
        CassetteBroken: If the cassette cannot be read.

    Example:
        >>> df["label"] = agentnb.map("Classify this complaint: {text}", df, agent="claude")  # doctest: +SKIP
    """
    if not callable(prompt) and not isinstance(prompt, str):
        raise UsageError(f"The prompt is {type(prompt).__name__}.", hint='Give a template, "Classify: {text}".')
    if on_error not in ("raise", "keep"):
        raise UsageError(f"on_error={on_error!r} is neither 'raise' nor 'keep'.")
    for name, value in (("concurrency", concurrency), ("processes", processes)):
        check_count(name, value)
        if not 1 <= value <= MOST_AT_ONCE:
            raise UsageError(f"{name}={value} is not between 1 and {MOST_AT_ONCE}.")
    check_permissions(permissions)
    read_budget("" if budget is None else budget)
    is_isolated = cwd == ISOLATED
    if cwd in (ISOLATED, "shared"):
        cwd = None
    recorded = cassette_for(cassette)
    variables = not_recorded(env, recorded)
    if executor is None and (recorded is None or not recorded.is_complete):
        configured(agent, command, variables, cwd, mcp_servers=mcp_servers, verify=verify, model=model)
    options = {
        "agent": agent,
        "command": None if command is None else tuple(command),
        "env": variables,
        "model": model,
        "cwd": cwd,
        "permissions": permissions,
        "mcp_servers": mcp_servers,
        **({"verify": True} if verify else {}),
    }
    question = BatchQuestion(
        options=options,
        prompt=prompt if isinstance(prompt, str) else getattr(prompt, "__name__", "a function"),
        wanted=None if output is None else Wanted(output),
        timeout=timeout,
        retries=retries,
        backoff=backoff,
        processes=min(processes, concurrency),
        stops_at_failure=on_error == "raise",
        max_failures=max_failures,
        max_cost=max_cost,
        budget=budget or "",
        is_isolated=is_isolated,
    )
    source = input_prompts(prompt, inputs, check)
    records = BatchRows(resume, question.agent, question.prompt)
    total = length_of(inputs)
    batch = Batch(
        question,
        source,
        records,
        recorded,
        total=total,
        on_error=on_error,
        concurrency=concurrency,
        cluster=None if executor is None else cluster_of(executor, question, records.id),
    )
    if executor is not None and not getattr(executor, "asynchronous", False):  # or its loop would wait for this thread
        batch.wait_until_begun()
    follow_work(batch)
    if progress:
        show_progress(batch)
    return batch


def compare_agents(
    prompt: str | Callable[[Any], Any],
    agents: Sequence[str | Mapping[str, Any]],
    inputs: Any,
    **options: Unpack[CompareOptions],
) -> Comparison:
    """Ask several agents or models the same question about many inputs; returns at once.

    Args:
        prompt: As for :func:`agentnb.map`.
        agents: Names of agents, or mappings of arguments of :func:`agentnb.map` (``agent``, ``model``, ``command``,
            ``env``), with ``name`` for the column.
        inputs: As for :func:`agentnb.map`; a lazy one is read completely first.
        **options: The other arguments of :func:`agentnb.map`, for all of them; failures are kept by default.

    Returns:
        A table side by side, with time, cost and agreement.

    Raises:
        UsageError: If there are fewer than two agents, or two have the same name.

    Example:
        >>> agentnb.compare_agents("Classify: {input}", ["claude", "codex"], complaints)  # doctest: +SKIP
    """
    chosen = [_choice(each) for each in agents]
    names = [name for name, _ in chosen]
    if len(names) < 2 or len(set(names)) < len(names):  # noqa: PLR2004 - to compare takes two
        raise UsageError(
            "compare_agents needs at least two agents with different names.", hint="agents=['claude', 'codex']"
        )
    if length_of(inputs) is None:
        inputs = list(inputs)
    common: dict[str, Any] = {"on_error": "keep", "progress": False, **options}
    return Comparison({name: map(prompt, inputs, **{**common, **own}) for name, own in chosen})


def dask_missing(error: ImportError) -> UsageError:
    return UsageError(f"executor= needs Dask's distributed ({error}).", hint="%pip install 'jupyter-agentnb[dask]'")


def cluster_of(executor: Any, question: BatchQuestion, batch: str) -> Cluster:
    """Returns the agents of a batch on a cluster, with the default settings of this machine.

    Raises:
        UsageError: If Dask is not installed, or *executor* is not a cluster.
    """
    try:
        from agentnb.plugins.map.cluster import Cluster as Made
    except ImportError as error:
        raise dask_missing(error) from error
    common, environment = question.options, current_environment()
    servers = environment.default_mcp_servers() if common["mcp_servers"] is None else common["mcp_servers"]
    options = {
        **common,
        "cwd": str(Path(common["cwd"] or Path.cwd()).expanduser().absolute()),
        "env": {**environment.default_variables(common["agent"] or DEFAULT_AGENT), **(common["env"] or {})},
        "mcp_servers": servers,
    }
    return Made(executor, msgspec.structs.replace(question, options=options), batch)


def _choice(choice: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    if isinstance(choice, str):
        return choice, {"agent": choice}
    own = dict(choice)
    name = own.pop("name", None) or " ".join(filter(None, (own.get("agent"), own.get("model"))))
    if not name:
        raise UsageError(f"{choice!r} does not name an agent.", hint='{"agent": "claude", "model": "haiku"}')
    return str(name), own
