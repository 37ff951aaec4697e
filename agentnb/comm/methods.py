"""Every method of the protocol: who says it, with which parameters, and what comes back.

The one table that ``docs/reference/protocol.md`` and the contract tests are made from. A method that the service
answers and that is not here, or that has no example in ``tests/cases/messages``, fails a test.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Literal

from agentnb.comm import answers as a
from agentnb.comm import file_messages as fm
from agentnb.comm import history_messages as hm
from agentnb.comm import messages as m
from agentnb.comm import settings_messages as sm
from agentnb.rpc_message import INVALID_PARAMS


@dataclass(frozen=True, kw_only=True)
class Method:
    """One method.

    Args:
        name: Its name on the wire.
        sender: Who says it.
        params: The form of its parameters.
        result: The form of the answer; None for a notification.
        errors: The codes of errors it can be answered with, beside those of every request.
        since: The version of the protocol that brought it.
    """

    name: str
    sender: Literal["page", "kernel"]
    params: type[Any]
    result: type[Any] | None = None
    errors: tuple[int, ...] = ()
    since: int = 1

    @property
    def about(self) -> str:
        """What it is for, from the docstring of its parameters."""
        first = (inspect.getdoc(self.params) or "").split("\n\n")[0]
        return " ".join(first.removeprefix(f"``{self.name}``:").split())


COMMON_ERRORS = (INVALID_PARAMS, m.UNSUPPORTED_VERSION)
"""What any request can be answered with."""

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(name="initialize", sender="page", params=m.InitializeParams, result=a.InitializeResult),
        Method(
            name="subscribe",
            sender="page",
            params=m.SubscribeParams,
            result=a.SubscribeResult,
            errors=(m.UNKNOWN_CLIENT,),
        ),
        Method(name="unsubscribe", sender="page", params=m.UnsubscribeParams, result=a.EmptyResult),
        Method(
            name="createSession",
            sender="page",
            params=m.CreateSessionParams,
            result=a.CreateSessionResult,
            errors=(m.REFUSED,),
        ),
        Method(
            name="openSession",
            sender="page",
            params=m.OpenSessionParams,
            result=a.EmptyResult,
            errors=(m.REFUSED,),
        ),
        Method(
            name="disposeSession",
            sender="page",
            params=m.DisposeSessionParams,
            result=a.EmptyResult,
            errors=(m.REFUSED,),
        ),
        Method(
            name="restartAgent",
            sender="page",
            params=m.RestartAgentParams,
            result=a.EmptyResult,
            errors=(m.REFUSED,),
        ),
        Method(
            name="stopToolCall",
            sender="page",
            params=m.StopToolCallParams,
            result=a.EmptyResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="rehearseToolCall",
            sender="page",
            params=m.RehearseToolCallParams,
            result=a.EmptyResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="forkSession",
            sender="page",
            params=m.ForkSessionParams,
            result=a.ForkSessionResult,
            errors=(m.REFUSED,),
        ),
        Method(
            name="complete",
            sender="page",
            params=m.CompleteParams,
            result=a.CompleteResult,
            errors=(m.REFUSED,),
        ),
        Method(
            name="previewMentions",
            sender="page",
            params=m.PreviewMentionsParams,
            result=a.PreviewMentionsResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="suggestPrompts",
            sender="page",
            params=m.SuggestPromptsParams,
            result=a.SuggestPromptsResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="refreshAgents",
            sender="page",
            params=m.RefreshAgentsParams,
            result=a.RefreshAgentsResult,
            since=2,
        ),
        Method(
            name="installAgent",
            sender="page",
            params=m.InstallAgentParams,
            result=a.EmptyResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="stopInstall",
            sender="page",
            params=m.StopInstallParams,
            result=a.EmptyResult,
            since=2,
        ),
        Method(
            name="checkAgent",
            sender="page",
            params=m.CheckAgentParams,
            result=a.CheckAgentResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="fetchContent",
            sender="page",
            params=fm.FetchContentParams,
            result=fm.FetchContentResult,
            errors=(m.REFUSED,),
        ),
        Method(
            name="fetchModule",
            sender="page",
            params=fm.FetchModuleParams,
            result=fm.FetchModuleResult,
            errors=(m.REFUSED,),
        ),
        Method(
            name="listFiles",
            sender="page",
            params=fm.ListFilesParams,
            result=fm.ListFilesResult,
            errors=(m.REFUSED,),
        ),
        Method(
            name="readFile",
            sender="page",
            params=fm.ReadFileParams,
            result=fm.ReadFileResult,
            errors=(m.REFUSED,),
        ),
        Method(
            name="invokeChangesetOperation",
            sender="page",
            params=fm.InvokeChangesetOperationParams,
            result=fm.InvokeChangesetOperationResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="readChange",
            sender="page",
            params=fm.ReadChangeParams,
            result=fm.ReadChangeResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="fetchTurns",
            sender="page",
            params=m.FetchTurnsParams,
            result=a.FetchTurnsResult,
            errors=(m.REFUSED,),
        ),
        Method(
            name="listSessions",
            sender="page",
            params=hm.ListSessionsParams,
            result=hm.ListSessionsResult,
            errors=(m.REFUSED,),
        ),
        Method(
            name="resumeSession",
            sender="page",
            params=hm.ResumeSessionParams,
            result=hm.ResumeSessionResult,
            errors=(m.REFUSED,),
        ),
        Method(
            name="previewSession",
            sender="page",
            params=hm.PreviewSessionParams,
            result=hm.PreviewSessionResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="watchSessions",
            sender="page",
            params=hm.WatchSessionsParams,
            result=a.EmptyResult,
            since=2,
        ),
        Method(
            name="listFolders",
            sender="page",
            params=sm.ListFoldersParams,
            result=sm.ListFoldersResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="changeMcpServer",
            sender="page",
            params=sm.ChangeMcpServerParams,
            result=sm.ChangedResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="changeOwnAgent",
            sender="page",
            params=sm.ChangeOwnAgentParams,
            result=sm.ChangedResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="watchSettings",
            sender="page",
            params=sm.WatchSettingsParams,
            result=a.EmptyResult,
            since=2,
        ),
        Method(
            name="updateSession",
            sender="page",
            params=hm.UpdateSessionParams,
            result=a.EmptyResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="duplicateSession",
            sender="page",
            params=hm.DuplicateSessionParams,
            result=hm.DuplicateSessionResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="exportSession",
            sender="page",
            params=hm.ExportSessionParams,
            result=hm.ExportSessionResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="listSettings",
            sender="page",
            params=sm.ListSettingsParams,
            result=sm.ListSettingsResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="changeSetting",
            sender="page",
            params=sm.ChangeSettingParams,
            result=sm.ChangedResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="changePolicy",
            sender="page",
            params=sm.ChangePolicyParams,
            result=sm.ChangedResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="changeSkillTrust",
            sender="page",
            params=sm.ChangeSkillTrustParams,
            result=a.EmptyResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="testPolicy",
            sender="page",
            params=sm.TestPolicyParams,
            result=sm.TestPolicyResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="listAgentSessions",
            sender="page",
            params=hm.ListAgentSessionsParams,
            result=hm.ListAgentSessionsResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="openAgentSession",
            sender="page",
            params=hm.OpenAgentSessionParams,
            result=hm.ResumeSessionResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="measureStorage",
            sender="page",
            params=hm.MeasureStorageParams,
            result=hm.MeasureStorageResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="changeStorage",
            sender="page",
            params=hm.ChangeStorageParams,
            result=hm.ChangeStorageResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(
            name="deleteSession",
            sender="page",
            params=hm.DeleteSessionParams,
            result=a.EmptyResult,
            errors=(m.REFUSED,),
            since=2,
        ),
        Method(name="dispatchAction", sender="page", params=m.DispatchParams),
        Method(name="ack", sender="page", params=m.AckParams),
        Method(name="resync", sender="page", params=m.ResyncParams),
        Method(name="visibility", sender="page", params=m.VisibilityParams),
        Method(name="ping", sender="page", params=m.PingParams),
        Method(name="draft", sender="page", params=m.DraftParams),
        Method(name="leave", sender="page", params=m.LeaveParams),
    )
}
"""What a page says, by name."""

NOTIFICATIONS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(name="actions", sender="kernel", params=a.ActionsParams),
        Method(name="text", sender="kernel", params=a.TextParams),
        Method(name="pong", sender="kernel", params=a.PongParams),
        Method(name="unknownClient", sender="kernel", params=a.UnknownClientParams),
        Method(name="draft", sender="kernel", params=a.KernelDraftParams),
        Method(name="sessionsChanged", sender="kernel", params=hm.SessionsChangedParams, since=2),
        Method(name="settingsChanged", sender="kernel", params=sm.SettingsChangedParams, since=2),
    )
}
"""What the kernel says of its own accord, by name."""

LAB_NOTIFICATIONS = frozenset({"notebookAgain", "edit", "failedPrompt", "outputs", "quoted"})
"""What the kernel says on the comm of the JupyterLab extension."""
