"""The listener: who hears what the agent says in one session, and decides about its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.acp.elicitation import ElicitationAnswer, ElicitationQuestion
    from agentnb.acp.permission import AcpPermissionRequest
    from agentnb.changes.model import PathChange
    from agentnb.errors import AgentnbError
    from agentnb.policy.request import PolicyRequest
    from agentnb.state import Action, ChatState


class SessionListener(Protocol):
    """One session's host side; every method is called on the loop of the agent."""

    @property
    def chat(self) -> ChatState:
        """The chat as it is now: where what the agent says is put."""
        ...

    @property
    def speaking(self) -> str | None:
        """The turn that the agent answers now; None where there is none yet."""
        ...

    def actions(self, actions: Sequence[Action]) -> None:
        """Accept what the agent said or a terminal of its did; empty where that changes nothing."""

    async def permission(self, question: AcpPermissionRequest) -> str | None:
        """Answer a permission request with the id of one of its options; None: the turn was cancelled."""

    async def elicit(self, question: ElicitationQuestion) -> ElicitationAnswer:
        """Answer what the agent asks the user."""

    def elicited(self, elicitation_id: str) -> None:
        """What an elicitation sent the user elsewhere for is done (ACP ``elicitation/complete``)."""

    def extension(self, method: str, params: Any) -> None:
        """A notification of no session and of a method that we do not know, kept as it came."""

    def answers(self, method: str) -> bool:
        """True if :meth:`extended` knows *method*."""

    async def extended(self, method: str, params: dict[str, Any]) -> Any:
        """Answer a request that the protocol leaves to the two sides (ACP extension methods, ``_name/method``)."""

    async def authorize(self, request: PolicyRequest) -> PolicyRequest:
        """Allow *request*, or raise :class:`agentnb.errors.PermissionDenied`."""

    def refused(self, request: PolicyRequest, error: AgentnbError) -> None:
        """*request* was refused because it is outside the workspace; the agent gets *error*."""

    def opens(self, path: str, tool: str) -> bool:
        """True if a rule of the user's allows *path*, an absolute one outside the workspace, to *tool*."""

    def unsaved(self, path: str) -> Unsaved | None:
        """Returns what an editor holds of the file *path*, absolute and resolved, and has not saved.

        None: nothing known.
        """

    def lost(self, error: AgentnbError) -> None:
        """The agent went away; nothing more comes."""


class Unsaved(Protocol):
    """A file as it stands in an editor, with changes that are not saved."""

    @property
    def editor(self) -> str:
        """Returns what the editor is called."""
        ...

    def over(self, saved: str) -> str:
        """The file's text with the changes in it, given what is *saved*. Called on a thread of its own."""
        ...


class ChangedFile(NamedTuple):
    """A file that a turn changed."""

    change: PathChange
    before: bytes | None
    after: bytes | None
    is_sensitive: bool


class Tap(Protocol):
    """Receives a copy of the bytes of one agent's connection, in both directions."""

    def sent(self, data: bytes) -> None:
        """We have written *data*."""

    def received(self, data: bytes) -> None:
        """The agent has written *data*."""

    def served(self, params: dict[str, Any]) -> Callable[[Any, dict[str, Any] | None], None]:
        """The agent has asked something that did not come over this connection: an ``mcp/message`` of *params*."""
        ...

    @property
    def takes_files(self) -> bool:
        """True if it is told which files a turn changed."""
        ...

    def changed_files(self, session_id: str, files: Sequence[ChangedFile], is_own: Callable[[str], bool]) -> None:
        """A turn has changed *files*; called on any thread."""

    def ended(self) -> None:
        """The agent is gone, unasked."""
