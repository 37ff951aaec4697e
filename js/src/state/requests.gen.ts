/** Written by scripts/gen_types.py from agentnb/server: change that, then run `make types`. */
import type {
  Envelope,
  Turn,
  JsonObject,
} from "./types.gen.ts";

/** One rule; any condition that it leaves out does not matter to it. */
export interface AccessRule {
  readonly action: "allow" | "ask" | "deny";
  readonly agent?: readonly string[];
  readonly tool?: readonly string[];
  readonly path?: readonly string[];
  readonly command?: readonly string[];
  readonly severity?: "critical" | "high" | "low" | "medium" | "none";
  readonly sensitive?: boolean;
  readonly folder?: readonly string[];
  readonly note?: string;
}

/** `actions`: one flush, with everything that the page has not seen of all its channels. */
export interface ActionsParams {
  readonly flush: number;
  readonly envelopes: readonly Envelope[];
  readonly snapshots?: readonly ChannelSnapshot[];
}

/** A session that an agent keeps itself. */
export interface AgentKeptSession {
  readonly id: string;
  readonly title: string;
  readonly cwd: string;
  readonly modifiedAt?: number;
}

/** The start command of an agent, from the catalogue or the user's own. */
export interface AgentLaunch {
  readonly name: string;
  readonly title: string;
  readonly line: string;
  readonly variables: readonly string[];
  readonly file?: string;
  readonly state?: string;
  readonly problem?: string;
}

/** A conflict with a later change, in three versions. */
export interface ChangeConflict {
  readonly id: string;
  readonly path: string;
  readonly base?: string;
  readonly current?: string;
  readonly target?: string;
  readonly merged?: string;
}

/** Lines of a file's change, from 0; each end is the line after the last one. */
export interface ChangeHunk {
  readonly beforeStart: number;
  readonly beforeEnd: number;
  readonly afterStart: number;
  readonly afterEnd: number;
  readonly before: string;
  readonly after: string;
}

/** Add one MCP server to the settings, or remove one; the others stay unchanged. */
export interface ChangeMcpServerParams {
  readonly name: string;
  readonly server?: McpServerChange;
  readonly here?: boolean;
  readonly confirmed?: string;
}

/** `changeOwnAgent`: write an agent's description into the user's folder, or remove it from there. */
export interface ChangeOwnAgentParams {
  readonly name: string;
  readonly agent?: OwnAgentChange;
  readonly state?: string;
  readonly confirmed?: string;
}

/** Change a rule or a trusted folder in the user's own policy file. */
export interface ChangePolicyParams {
  readonly action: "add" | "remove" | "trust" | "untrust";
  readonly rule?: AccessRule;
  readonly number?: number;
  readonly text?: string;
  readonly folder?: string;
  readonly confirmed?: string;
}

/** `changeSetting`: change a setting for the user. */
export interface ChangeSettingParams {
  readonly name: string;
  readonly value?: unknown;
  readonly here?: boolean;
  readonly was?: unknown;
  readonly checks?: boolean;
  readonly confirmed?: string;
}

/** Trust the skills of an installed package for the user, refuse them, or revoke the trust. */
export interface ChangeSkillTrustParams {
  readonly action: "refuse" | "revoke" | "trust";
  readonly package: string;
  readonly digest?: string;
}

/** `changeStorage`: compact, check, repair, export or import the log, or delete conversations from it. */
export interface ChangeStorageParams {
  readonly action: "check" | "compact" | "deleteAll" | "export" | "import" | "remove" | "repair";
  readonly olderThanDays?: number;
  readonly largerThan?: string;
  readonly dryRun?: boolean;
  readonly path?: string;
}

/** The result. */
export interface ChangeStorageResult {
  readonly message: string;
  readonly count: number;
}

/** One change of a change set (AHP `ChangesetOperationTarget`), or a part of one. */
export interface ChangeTarget {
  readonly kind: "resource";
  readonly resource: string;
  readonly hunk?: ChangeHunk;
}

/** The result of a change. */
export interface ChangedResult {
  readonly confirm?: string;
}

/** The whole state of a channel (AHP `Snapshot`), with more data for the page. */
export interface ChannelSnapshot {
  readonly resource: string;
  readonly state: JsonObject;
  readonly fromSeq: number;
  readonly answered?: readonly number[];
  readonly earlier?: number;
  readonly gap?: string;
}

/** Start an agent briefly, open a session in an empty folder, and report its state. */
export interface CheckAgentParams {
  readonly agent: string;
}

/** The state of an agent. */
export interface CheckAgentResult {
  readonly state: string;
  readonly message: string;
  readonly version?: string;
  readonly todo?: string;
  readonly startMs?: number;
  readonly models?: readonly string[];
}

/** List the possible continuations of the `@` that the user is typing. */
export interface CompleteParams {
  readonly channel: string;
  readonly start: string;
}

/** The possible mentions, the best first; empty if they are not found in time. */
export interface CompleteResult {
  readonly items: readonly Suggestion[];
}

/** Open a new tab. */
export interface CreateSessionParams {
  readonly agent?: string;
  readonly tabId?: string;
  readonly kernel?: "look" | "off" | "run";
  readonly folder?: string;
  readonly freedom?: "ask" | "auto" | "edit";
  readonly reuse?: boolean;
}

/** Delete a session from the log permanently, with the stored changes of its turns. */
export interface DeleteSessionParams {
  readonly channel: string;
}

/** Describe what the freedom Auto runs at once; that depends on whether a sandbox and previews are available here. */
export interface DescribeFreedomParams {
  readonly channel?: string;
}

/** The effect of the freedom Auto. */
export interface DescribeFreedomResult {
  readonly auto: string;
}

/** Close a tab and free the agent's session. */
export interface DisposeSessionParams {
  readonly channel: string;
}

/** `draft`: the text that is typed, but not sent, in a tab of a window; empty if there is none. */
export interface DraftParams {
  readonly channel: string;
  readonly text: string;
}

/** Copy a session in the log, so that the conversation can continue in two ways. */
export interface DuplicateSessionParams {
  readonly channel: string;
}

/** The copy. */
export interface DuplicateSessionResult {
  readonly channel: string;
  readonly open: boolean;
}

/** Done; there is nothing to say. */
export interface EmptyResult {}

/** Export a session in the log as a document. */
export interface ExportSessionParams {
  readonly channel: string;
  readonly form?: "html" | "ipynb" | "jsonl" | "md";
}

/** The document, without the credentials that agentnb knows. */
export interface ExportSessionResult {
  readonly text: string;
}

/** Fetch a range of large content, as the answer's bytes. */
export interface FetchContentParams {
  readonly channel: string;
  readonly uri: string;
  readonly offset?: number;
  readonly length?: number;
}

/** The bytes are in `_buffers`, as base64. */
export interface FetchContentResult {
  readonly uri: string;
  readonly offset: number;
  readonly size: number;
}

/** Fetch a part of the front end that is not loaded at once, as the answer's bytes. */
export interface FetchModuleParams {
  readonly name: string;
}

/** The module; its text is the only buffer of the message. */
export interface FetchModuleResult {
  readonly size: number;
}

/** Fetch older turns of a chat (AHP `fetchTurns`). */
export interface FetchTurnsParams {
  readonly channel: string;
  readonly before?: string;
  readonly limit?: number;
}

/** The turns, oldest first. */
export interface FetchTurnsResult {
  readonly turns: readonly Turn[];
  readonly hasMore: boolean;
  readonly earlier: number;
  readonly index: number;
}

/** One entry of a folder. */
export interface FileEntry {
  readonly name: string;
  readonly kind: "file" | "folder" | "link" | "other";
  readonly modified: number;
  readonly size?: number;
}

/** Copy a session into its own tab, if its agent can (`agentProcess.fork`). */
export interface ForkSessionParams {
  readonly channel: string;
}

/** A permission of an agent to act without asking, because the user said so. */
export interface Grant {
  readonly id: string;
  readonly scope: "conversation" | "folder" | "turn" | "user";
  readonly text: string;
  readonly rule?: string;
  readonly session?: string;
  readonly title?: string;
}

/** `initialize`: introduce a page, which then follows these channels (AHP `initialize`). */
export interface InitializeParams {
  readonly protocolVersions: readonly number[];
  readonly initialSubscriptions?: readonly string[];
  readonly visible?: boolean;
  readonly accepts?: readonly string[];
}

/** The host, the version, and everything that the page lacks. */
export interface InitializeResult {
  readonly protocolVersion: number;
  readonly hostId: string;
  readonly snapshots: readonly ChannelSnapshot[];
  readonly missing: readonly string[];
  readonly drafts?: Readonly<Record<string, string>>;
  readonly time?: number;
  readonly kernel?: "off" | "run";
  readonly actions?: readonly Envelope[];
}

/** Run the command that installs an agent; the user has seen it and agreed. */
export interface InstallAgentParams {
  readonly agent: string;
  readonly command: string;
}

/** Undo, redo, keep or apply changes (AHP `invokeChangesetOperation`). */
export interface InvokeChangesetOperationParams {
  readonly channel: string;
  readonly operationId: "apply" | "keep" | "redo" | "undo";
  readonly target?: ChangeTarget;
  readonly choices?: Readonly<Record<string, "mine" | "theirs">>;
  readonly onwards?: boolean;
}

/** The result (AHP `InvokeChangesetOperationResult`); the change sets' channels have the new states. */
export interface InvokeChangesetOperationResult {
  readonly message: string;
  readonly conflicts?: readonly ChangeConflict[];
}

/** The storage used by one kind, agent or folder. */
export interface KeptStorage {
  readonly what: "agent" | "folder" | "kind";
  readonly name: string;
  readonly bytes: number;
  readonly items: number;
}

/** List the sessions that an agent keeps itself and the log does not have (ACP `session/list`). */
export interface ListAgentSessionsParams {
  readonly agent: string;
  readonly everywhere?: boolean;
  readonly cursor?: string;
}

/** One page of sessions, in the agent's order. */
export interface ListAgentSessionsResult {
  readonly sessions: readonly AgentKeptSession[];
  readonly cursor?: string;
}

/** List the contents of a folder of a session's workspace. */
export interface ListFilesParams {
  readonly channel: string;
  readonly path?: string;
}

/** The contents of the folder: folders first, by name. */
export interface ListFilesResult {
  readonly path: string;
  readonly entries: readonly FileEntry[];
  readonly more: number;
}

/** List the folders in a folder, to choose one; only in the home folder and the kernel's folder. */
export interface ListFoldersParams {
  readonly path?: string;
}

/** The folders in a folder. */
export interface ListFoldersResult {
  readonly path: string;
  readonly folders: readonly string[];
  readonly isCut: boolean;
  readonly parent?: string;
}

/** List what agents may do without asking because the user said so: in conversations, folders, and everywhere. */
export interface ListGrantsParams {}

/** The grants. */
export interface ListGrantsResult {
  readonly grants: readonly Grant[];
}

/** `listSessions`: list the sessions in the log, the latest first. */
export interface ListSessionsParams {
  readonly search?: string;
  readonly here?: boolean;
  readonly folder?: boolean;
  readonly agent?: string;
  readonly since?: number;
  readonly until?: number;
  readonly state?: "" | "failed" | "needs-you" | "running";
  readonly archived?: boolean;
  readonly limit?: number;
  readonly offset?: number;
}

/** The sessions, the latest first. */
export interface ListSessionsResult {
  readonly sessions: readonly SessionRecord[];
  readonly elsewhere?: readonly string[];
  readonly hits?: Readonly<Record<string, readonly SearchHit[]>>;
  readonly left?: number;
  readonly note?: string;
}

/** List every setting, where its value comes from, the policy's rules and the trusted folders. */
export interface ListSettingsParams {}

/** The settings. */
export interface ListSettingsResult {
  readonly groups: readonly SettingsGroup[];
  readonly problems: readonly string[];
  readonly rules: readonly PolicyRule[];
  readonly projectRules: readonly string[];
  readonly trusted: readonly string[];
  readonly folder: string;
  readonly policyFile: string;
  readonly projectFile: string;
  readonly agents?: readonly AgentLaunch[];
  readonly models?: readonly OfferedModel[];
  readonly first?: readonly string[];
}

/** An MCP server as the page's user types it. */
export interface McpServerChange {
  readonly line: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Measure how much agentnb keeps on disk, by kind, agent and folder. */
export interface MeasureStorageParams {}

/** The storage that agentnb uses. */
export interface MeasureStorageResult {
  readonly path: string;
  readonly rows: readonly KeptStorage[];
}

/** One attachment that a draft's mention would give. */
export interface MentionPreview {
  readonly label: string;
  readonly kind: string;
  readonly leftOut: readonly string[];
  readonly isTaken: boolean;
  readonly tokens?: number;
  readonly text?: string;
  readonly data?: string;
  readonly contentType?: string;
}

/** A model that an agent offers in an open conversation. */
export interface OfferedModel {
  readonly agent: string;
  readonly id: string;
  readonly name: string;
}

/** Open a session that an agent keeps itself, in its own tab (ACP `session/load`). */
export interface OpenAgentSessionParams {
  readonly agent: string;
  readonly id: string;
  readonly cwd?: string;
  readonly title?: string;
}

/** Start the agent of a tab and open its session, before the first prompt. */
export interface OpenSessionParams {
  readonly channel: string;
}

/** An agent as the page's user describes it. */
export interface OwnAgentChange {
  readonly line: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A rule of the user's policy file. */
export interface PolicyRule {
  readonly number: number;
  readonly text: string;
}

/** `pong`: the kernel answers a page's `ping`. */
export interface PongParams {
  readonly hostId: string;
  readonly indexes?: Readonly<Record<string, number>>;
}

/** List the attachments that the mentions of a draft would add if it were sent now. */
export interface PreviewMentionsParams {
  readonly channel: string;
  readonly text: string;
  readonly label?: string;
}

/** The attachments; empty if the user's objects could not be inspected in time. */
export interface PreviewMentionsResult {
  readonly items: readonly MentionPreview[];
}

/** Show the latest turns of a session in the log, as plain text. */
export interface PreviewSessionParams {
  readonly channel: string;
}

/** The latest turns, oldest first. */
export interface PreviewSessionResult {
  readonly title: string;
  readonly total: number;
  readonly turns: readonly TurnPreview[];
}

/** Read a range of the content of one side of a change, as the answer's bytes. */
export interface ReadChangeParams {
  readonly channel: string;
  readonly id: string;
  readonly side: "after" | "before" | "now";
  readonly first?: number;
  readonly length?: number;
}

/** The bytes are in `_buffers`, as base64. */
export interface ReadChangeResult {
  readonly size: number;
  readonly cut: boolean;
  readonly binary: boolean;
}

/** `readFile`: read a range of a file of a session's workspace, or its first or last lines, as bytes. */
export interface ReadFileParams {
  readonly channel: string;
  readonly path: string;
  readonly offset?: number;
  readonly length?: number;
  readonly head?: number;
  readonly tail?: number;
}

/** The bytes are in `_buffers`, as base64; none if the range begins after the file's end. */
export interface ReadFileResult {
  readonly path: string;
  readonly offset: number;
  readonly size: number;
  readonly modified: number;
}

/** `reconnect`: introduce a page that has seen channels of this kernel or an earlier one (AHP `reconnect`). */
export interface ReconnectParams extends InitializeParams {
  readonly hostId: string;
  readonly lastSeen?: Readonly<Record<string, number>>;
}

/** Check again which agents are installed. */
export interface RefreshAgentsParams {}

/** The agents that are installed now. */
export interface RefreshAgentsResult {
  readonly installed: readonly string[];
}

/** Preview the command or code of a permission request; the tool call's details show the result. */
export interface RehearseToolCallParams {
  readonly channel: string;
  readonly toolCallId: string;
  readonly input?: string;
}

/** Restart the agent of a session; the transcript stays. */
export interface RestartAgentParams {
  readonly channel: string;
}

/** Open a session from the log again. */
export interface ResumeSessionParams {
  readonly channel: string;
}

/** Revoke a grant: the agent asks again from its next request on, in every open conversation. */
export interface RevokeGrantParams {
  readonly id?: string;
  readonly channel?: string;
  readonly toolCallId?: string;
}

/** The grant is revoked. */
export interface RevokeGrantResult {
  readonly message: string;
}

/** Go back to before a message: cut the transcript there, and keep a copy of the conversation in the history. */
export interface RewindSessionParams {
  readonly channel: string;
  readonly turnId?: string;
  readonly changes?: boolean;
  readonly choices?: Readonly<Record<string, "mine" | "theirs">>;
}

/** One place where the searched text was found. */
export interface SearchHit {
  readonly number: number;
  readonly turnId: string;
  readonly where: "answer" | "prompt";
  readonly before: string;
  readonly text: string;
  readonly after: string;
}

/** A session as the log lists it. */
export interface SessionRecord {
  readonly uri: string;
  readonly agent: string;
  readonly title: string;
  readonly cwd: string;
  readonly place?: string;
  readonly agentSession?: string;
  readonly hostId: string;
  readonly open?: boolean;
  readonly createdAt: number;
  readonly modifiedAt: number;
  readonly turns?: number;
  readonly gap?: string;
  readonly status?: number;
  readonly pinned?: boolean;
  readonly archived?: boolean;
}

/** `sessionsChanged`: sessions in the log have changed, in this kernel or another one; fetch the list again. */
export interface SessionsChangedParams {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** A setting with its current value. */
export interface SettingInfo {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly kind: string;
  readonly value: unknown;
  readonly source: string;
  readonly where: string;
  readonly below: readonly SettingLayer[];
  readonly file: string;
  readonly isTrait: boolean;
  readonly counts: string;
  readonly choices: readonly (readonly [string, string])[];
  readonly inFile?: unknown;
  readonly empty?: string;
}

/** A value of a setting from another place, which has no effect. */
export interface SettingLayer {
  readonly source: string;
  readonly value: unknown;
}

/** `settingsChanged`: settings, rules or trusted folders have changed; fetch the list again. */
export interface SettingsChangedParams {}

/** Settings that are shown together. */
export interface SettingsGroup {
  readonly title: string;
  readonly settings: readonly SettingInfo[];
}

/** End the install of an agent. */
export interface StopInstallParams {
  readonly agent: string;
}

/** Stop the code that a tool call runs in the kernel, and only that; the turn continues. */
export interface StopToolCallParams {
  readonly channel: string;
  readonly toolCallId: string;
}

/** Follow a channel from its current state on (AHP `subscribe`). */
export interface SubscribeParams {
  readonly channel: string;
}

/** The current state of the channel. */
export interface SubscribeResult {
  readonly snapshot: ChannelSnapshot;
}

/** Suggest prompts for an empty conversation, made from the existing cells, tables and errors. */
export interface SuggestPromptsParams {
  readonly channel: string;
}

/** The examples; empty outside of IPython, and if they are not found in time. */
export interface SuggestPromptsResult {
  readonly prompts: readonly string[];
}

/** One thing that can be mentioned. */
export interface Suggestion {
  readonly text: string;
  readonly kind: string;
  readonly detail?: string;
}

/** The tab's channels. */
export interface TabChannels {
  readonly channel: string;
  readonly chat: string;
}

/** Test how the policy decides if an agent wants to run a command, or to use a file; nothing is run. */
export interface TestPolicyParams {
  readonly command?: string;
  readonly path?: string;
  readonly tool?: string;
  readonly agent?: string;
}

/** The policy's decision. */
export interface TestPolicyResult {
  readonly outcome: "allow" | "ask" | "deny";
  readonly message: string;
}

/** A turn as plain text. */
export interface TurnPreview {
  readonly number: number;
  readonly turnId: string;
  readonly prompt: string;
  readonly answer: string;
  readonly cut: boolean;
}

/** `unknownClient`: the kernel does not know this page (any more); the page sends `initialize` again. */
export interface UnknownClientParams {}

/** Stop following a channel (AHP `unsubscribe`). */
export interface UnsubscribeParams {
  readonly channel: string;
}

/** Rename, pin or archive a session in the log, or take that back. */
export interface UpdateSessionParams {
  readonly channel: string;
  readonly title?: string;
  readonly pinned?: boolean;
  readonly archived?: boolean;
}

/** Start or stop telling this page when sessions in the log change. */
export interface WatchSessionsParams {
  readonly on: boolean;
}

/** Start or stop telling this page when the answer of `listSettings` changes. */
export interface WatchSettingsParams {
  readonly on: boolean;
}

/** Every request, by name. */
export interface Requests {
  readonly changeMcpServer: { readonly params: ChangeMcpServerParams; readonly result: ChangedResult };
  readonly changeOwnAgent: { readonly params: ChangeOwnAgentParams; readonly result: ChangedResult };
  readonly changePolicy: { readonly params: ChangePolicyParams; readonly result: ChangedResult };
  readonly changeSetting: { readonly params: ChangeSettingParams; readonly result: ChangedResult };
  readonly changeSkillTrust: { readonly params: ChangeSkillTrustParams; readonly result: EmptyResult };
  readonly changeStorage: { readonly params: ChangeStorageParams; readonly result: ChangeStorageResult };
  readonly checkAgent: { readonly params: CheckAgentParams; readonly result: CheckAgentResult };
  readonly complete: { readonly params: CompleteParams; readonly result: CompleteResult };
  readonly createSession: { readonly params: CreateSessionParams; readonly result: TabChannels };
  readonly deleteSession: { readonly params: DeleteSessionParams; readonly result: EmptyResult };
  readonly describeFreedom: { readonly params: DescribeFreedomParams; readonly result: DescribeFreedomResult };
  readonly disposeSession: { readonly params: DisposeSessionParams; readonly result: EmptyResult };
  readonly duplicateSession: { readonly params: DuplicateSessionParams; readonly result: DuplicateSessionResult };
  readonly exportSession: { readonly params: ExportSessionParams; readonly result: ExportSessionResult };
  readonly fetchContent: { readonly params: FetchContentParams; readonly result: FetchContentResult };
  readonly fetchModule: { readonly params: FetchModuleParams; readonly result: FetchModuleResult };
  readonly fetchTurns: { readonly params: FetchTurnsParams; readonly result: FetchTurnsResult };
  readonly forkSession: { readonly params: ForkSessionParams; readonly result: TabChannels };
  readonly initialize: { readonly params: InitializeParams; readonly result: InitializeResult };
  readonly installAgent: { readonly params: InstallAgentParams; readonly result: EmptyResult };
  readonly invokeChangesetOperation: { readonly params: InvokeChangesetOperationParams; readonly result: InvokeChangesetOperationResult };
  readonly listAgentSessions: { readonly params: ListAgentSessionsParams; readonly result: ListAgentSessionsResult };
  readonly listFiles: { readonly params: ListFilesParams; readonly result: ListFilesResult };
  readonly listFolders: { readonly params: ListFoldersParams; readonly result: ListFoldersResult };
  readonly listGrants: { readonly params: ListGrantsParams; readonly result: ListGrantsResult };
  readonly listSessions: { readonly params: ListSessionsParams; readonly result: ListSessionsResult };
  readonly listSettings: { readonly params: ListSettingsParams; readonly result: ListSettingsResult };
  readonly measureStorage: { readonly params: MeasureStorageParams; readonly result: MeasureStorageResult };
  readonly openAgentSession: { readonly params: OpenAgentSessionParams; readonly result: TabChannels };
  readonly openSession: { readonly params: OpenSessionParams; readonly result: EmptyResult };
  readonly previewMentions: { readonly params: PreviewMentionsParams; readonly result: PreviewMentionsResult };
  readonly previewSession: { readonly params: PreviewSessionParams; readonly result: PreviewSessionResult };
  readonly readChange: { readonly params: ReadChangeParams; readonly result: ReadChangeResult };
  readonly readFile: { readonly params: ReadFileParams; readonly result: ReadFileResult };
  readonly reconnect: { readonly params: ReconnectParams; readonly result: InitializeResult };
  readonly refreshAgents: { readonly params: RefreshAgentsParams; readonly result: RefreshAgentsResult };
  readonly rehearseToolCall: { readonly params: RehearseToolCallParams; readonly result: EmptyResult };
  readonly restartAgent: { readonly params: RestartAgentParams; readonly result: EmptyResult };
  readonly resumeSession: { readonly params: ResumeSessionParams; readonly result: TabChannels };
  readonly revokeGrant: { readonly params: RevokeGrantParams; readonly result: RevokeGrantResult };
  readonly rewindSession: { readonly params: RewindSessionParams; readonly result: InvokeChangesetOperationResult };
  readonly stopInstall: { readonly params: StopInstallParams; readonly result: EmptyResult };
  readonly stopToolCall: { readonly params: StopToolCallParams; readonly result: EmptyResult };
  readonly subscribe: { readonly params: SubscribeParams; readonly result: SubscribeResult };
  readonly suggestPrompts: { readonly params: SuggestPromptsParams; readonly result: SuggestPromptsResult };
  readonly testPolicy: { readonly params: TestPolicyParams; readonly result: TestPolicyResult };
  readonly unsubscribe: { readonly params: UnsubscribeParams; readonly result: EmptyResult };
  readonly updateSession: { readonly params: UpdateSessionParams; readonly result: EmptyResult };
  readonly watchSessions: { readonly params: WatchSessionsParams; readonly result: EmptyResult };
  readonly watchSettings: { readonly params: WatchSettingsParams; readonly result: EmptyResult };
}

/** What the page says that the Agent Host Protocol has, too; all other names begin with `x-agentnb/`. */
export const AHP_METHODS: ReadonlySet<string> = new Set([
  "createSession",
  "dispatchAction",
  "disposeSession",
  "fetchTurns",
  "initialize",
  "invokeChangesetOperation",
  "reconnect",
  "subscribe",
  "unsubscribe",
]);

/** The form of the answer to each request. */
export const ANSWERS: Readonly<Record<keyof Requests, string>> = {
  changeMcpServer: "ChangedResult",
  changeOwnAgent: "ChangedResult",
  changePolicy: "ChangedResult",
  changeSetting: "ChangedResult",
  changeSkillTrust: "EmptyResult",
  changeStorage: "ChangeStorageResult",
  checkAgent: "CheckAgentResult",
  complete: "CompleteResult",
  createSession: "TabChannels",
  deleteSession: "EmptyResult",
  describeFreedom: "DescribeFreedomResult",
  disposeSession: "EmptyResult",
  duplicateSession: "DuplicateSessionResult",
  exportSession: "ExportSessionResult",
  fetchContent: "FetchContentResult",
  fetchModule: "FetchModuleResult",
  fetchTurns: "FetchTurnsResult",
  forkSession: "TabChannels",
  initialize: "InitializeResult",
  installAgent: "EmptyResult",
  invokeChangesetOperation: "InvokeChangesetOperationResult",
  listAgentSessions: "ListAgentSessionsResult",
  listFiles: "ListFilesResult",
  listFolders: "ListFoldersResult",
  listGrants: "ListGrantsResult",
  listSessions: "ListSessionsResult",
  listSettings: "ListSettingsResult",
  measureStorage: "MeasureStorageResult",
  openAgentSession: "TabChannels",
  openSession: "EmptyResult",
  previewMentions: "PreviewMentionsResult",
  previewSession: "PreviewSessionResult",
  readChange: "ReadChangeResult",
  readFile: "ReadFileResult",
  reconnect: "InitializeResult",
  refreshAgents: "RefreshAgentsResult",
  rehearseToolCall: "EmptyResult",
  restartAgent: "EmptyResult",
  resumeSession: "TabChannels",
  revokeGrant: "RevokeGrantResult",
  rewindSession: "InvokeChangesetOperationResult",
  stopInstall: "EmptyResult",
  stopToolCall: "EmptyResult",
  subscribe: "SubscribeResult",
  suggestPrompts: "SuggestPromptsResult",
  testPolicy: "TestPolicyResult",
  unsubscribe: "EmptyResult",
  updateSession: "EmptyResult",
  watchSessions: "EmptyResult",
  watchSettings: "EmptyResult",
};

/** The fields of each form and their kinds; a kind with a question mark may be absent. */
export const FORMS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ActionsParams: { flush: "count", envelopes: "Envelope[]", snapshots: "ChannelSnapshot[]?" },
  AgentKeptSession: { id: "string", title: "string", cwd: "string", modifiedAt: "integer?" },
  AgentLaunch: {
    name: "string",
    title: "string",
    line: "string",
    variables: "string[]",
    file: "string?",
    state: "string?",
    problem: "string?",
  },
  ChangeConflict: {
    id: "string",
    path: "string",
    base: "string?",
    current: "string?",
    target: "string?",
    merged: "string?",
  },
  ChangeStorageResult: { message: "string", count: "count" },
  ChangedResult: { confirm: "string?" },
  ChannelSnapshot: {
    resource: "string",
    state: "object",
    fromSeq: "count",
    answered: "count[]?",
    earlier: "count?",
    gap: "string?",
  },
  CheckAgentResult: {
    state: "string",
    message: "string",
    version: "string?",
    todo: "string?",
    startMs: "count?",
    models: "string[]?",
  },
  CompleteResult: { items: "Suggestion[]" },
  DescribeFreedomResult: { auto: "string" },
  DraftParams: { channel: "string", text: "string" },
  DuplicateSessionResult: { channel: "string", open: "boolean" },
  EmptyResult: {},
  ExportSessionResult: { text: "string" },
  FetchContentResult: { uri: "string", offset: "count", size: "count" },
  FetchModuleResult: { size: "count" },
  FetchTurnsResult: { turns: "Turn[]", hasMore: "boolean", earlier: "count", index: "count" },
  FileEntry: { name: "string", kind: "=file|folder|link|other", modified: "integer", size: "count?" },
  Grant: {
    id: "string",
    scope: "=conversation|folder|turn|user",
    text: "string",
    rule: "string?",
    session: "string?",
    title: "string?",
  },
  InitializeResult: {
    protocolVersion: "integer",
    hostId: "string",
    snapshots: "ChannelSnapshot[]",
    missing: "string[]",
    drafts: "string{}?",
    time: "count?",
    kernel: "=off|run?",
    actions: "Envelope[]?",
  },
  InvokeChangesetOperationResult: { message: "string", conflicts: "ChangeConflict[]?" },
  KeptStorage: { what: "=agent|folder|kind", name: "string", bytes: "count", items: "count" },
  ListAgentSessionsResult: { sessions: "AgentKeptSession[]", cursor: "string?" },
  ListFilesResult: { path: "string", entries: "FileEntry[]", more: "count" },
  ListFoldersResult: { path: "string", folders: "string[]", isCut: "boolean", parent: "string?" },
  ListGrantsResult: { grants: "Grant[]" },
  ListSessionsResult: {
    sessions: "SessionRecord[]",
    elsewhere: "string[]?",
    hits: "SearchHit[]{}?",
    left: "count?",
    note: "string?",
  },
  ListSettingsResult: {
    groups: "SettingsGroup[]",
    problems: "string[]",
    rules: "PolicyRule[]",
    projectRules: "string[]",
    trusted: "string[]",
    folder: "string",
    policyFile: "string",
    projectFile: "string",
    agents: "AgentLaunch[]?",
    models: "OfferedModel[]?",
    first: "string[]?",
  },
  MeasureStorageResult: { path: "string", rows: "KeptStorage[]" },
  MentionPreview: {
    label: "string",
    kind: "string",
    leftOut: "string[]",
    isTaken: "boolean",
    tokens: "count?",
    text: "string?",
    data: "string?",
    contentType: "string?",
  },
  OfferedModel: { agent: "string", id: "string", name: "string" },
  PolicyRule: { number: "count", text: "string" },
  PongParams: { hostId: "string", indexes: "count{}?" },
  PreviewMentionsResult: { items: "MentionPreview[]" },
  PreviewSessionResult: { title: "string", total: "count", turns: "TurnPreview[]" },
  ReadChangeResult: { size: "count", cut: "boolean", binary: "boolean" },
  ReadFileResult: { path: "string", offset: "count", size: "count", modified: "integer" },
  RefreshAgentsResult: { installed: "string[]" },
  RevokeGrantResult: { message: "string" },
  SearchHit: {
    number: "count",
    turnId: "string",
    where: "=answer|prompt",
    before: "string",
    text: "string",
    after: "string",
  },
  SessionRecord: {
    uri: "string",
    agent: "string",
    title: "string",
    cwd: "string",
    place: "string?",
    agentSession: "string?",
    hostId: "string",
    open: "boolean?",
    createdAt: "integer",
    modifiedAt: "integer",
    turns: "integer?",
    gap: "string?",
    status: "integer?",
    pinned: "boolean?",
    archived: "boolean?",
  },
  SessionsChangedParams: { added: "string[]", removed: "string[]", changed: "string[]" },
  SettingInfo: {
    name: "string",
    title: "string",
    about: "string",
    kind: "string",
    value: "unknown",
    source: "string",
    where: "string",
    below: "SettingLayer[]",
    file: "string",
    isTrait: "boolean",
    counts: "string",
    choices: "array[]",
    empty: "string?",
  },
  SettingLayer: { source: "string", value: "unknown" },
  SettingsChangedParams: {},
  SettingsGroup: { title: "string", settings: "SettingInfo[]" },
  SubscribeResult: { snapshot: "ChannelSnapshot" },
  SuggestPromptsResult: { prompts: "string[]" },
  Suggestion: { text: "string", kind: "string", detail: "string?" },
  TabChannels: { channel: "string", chat: "string" },
  TestPolicyResult: { outcome: "=allow|ask|deny", message: "string" },
  TurnPreview: { number: "count", turnId: "string", prompt: "string", answer: "string", cut: "boolean" },
  UnknownClientParams: {},
};
