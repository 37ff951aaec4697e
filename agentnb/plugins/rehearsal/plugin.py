"""The plug-in: rehearses commands and code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.ports import Plugin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentnb.kernel.rehearsal_result import Rehearsal


class Rehearser:
    """Runs them on a copy of the file system, in a copy of the kernel (:class:`agentnb.ports.Previewer`)."""

    name = "rehearsal"

    def command(
        self,
        command: str,
        folder: str,
        *,
        env: Mapping[str, str] | None,
        seconds: float,
        descriptors: Sequence[int] = (),
        hosts: tuple[str, ...] = (),
    ) -> Rehearsal:
        from agentnb.plugins.rehearsal.command import rehearse_command

        return rehearse_command(command, folder, env=env, seconds=seconds, descriptors=descriptors, hosts=hosts)

    def code(self, shell: Any, code: str, folder: str, *, seconds: float) -> Callable[[], Rehearsal]:
        from agentnb.plugins.rehearsal.kernel_code import begin_in_shell

        return begin_in_shell(shell, code, folder, seconds=seconds)


PLUGIN = Plugin(name="rehearsal", summary="Shows what commands and code would do.", previewers=(Rehearser(),))
