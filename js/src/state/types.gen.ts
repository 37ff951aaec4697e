/** Written by scripts/gen_types.py from agentnb/state: change that, then run `make types`. */

/** A JSON object taken as it is. */
export interface JsonObject {
  readonly [name: string]: unknown;
}

export type Action = RootAction | SessionAction | ChatAction | ChangesetAction;

/** The client that asked for an action (AHP `ActionOrigin`). */
export interface ActionOrigin {
  readonly clientId: string;
  readonly clientSeq: number;
}

/** The running turn (AHP `ActiveTurn`). */
export interface ActiveTurn {
  readonly id: string;
  readonly startedAt?: string;
  readonly message: Message;
  readonly responseParts: readonly ResponsePart[];
  readonly usage?: UsageInfo;
}

/** Ours: a slash command (ACP `AvailableCommand`). */
export interface AgentCommand {
  readonly name: string;
  readonly description: string;
  readonly hint?: string;
}

/** An agent that can be used (AHP `AgentInfo`). */
export interface AgentInfo {
  readonly provider: string;
  readonly displayName: string;
  readonly description: string;
  readonly models: readonly SessionModelInfo[];
  readonly protectedResources?: readonly unknown[];
  readonly customizations?: readonly unknown[];
  readonly missing?: boolean;
  readonly install?: string;
  readonly canInstall?: boolean;
  readonly runner?: string;
  readonly setup?: AgentSetup;
  readonly hidden?: boolean;
}

/** Ours: the process that serves the session. */
export interface AgentProcess {
  readonly name?: string;
  readonly version?: string;
  readonly state: "failed" | "running" | "starting" | "stopped";
  readonly message?: string;
  readonly steering?: boolean;
  readonly fork?: boolean;
  readonly confined?: string;
  readonly unconfined?: string;
  readonly actsUnasked?: string;
}

/** The chosen custom agent (AHP `AgentSelection`). */
export interface AgentSelection {
  readonly uri: string;
}

/** Ours: the installation of an agent, running or ended. */
export interface AgentSetup {
  readonly state: "checking" | "done" | "failed" | "running" | "stopped";
  readonly message?: string;
  readonly terminal: TerminalView;
}

/** Ours: who answered a permission request. The host sets it, whatever a client claims. */
export interface Answerer {
  readonly kind: string;
  readonly clientId?: string;
  readonly name?: string;
}

/** How much a session has changed: lines and files (AHP `ChangesSummary`). */
export interface ChangesSummary {
  readonly additions?: number;
  readonly deletions?: number;
  readonly files?: number;
}

/** A set of changes that can be looked at (AHP `Changeset`). */
export interface Changeset {
  readonly label: string;
  readonly uriTemplate: string;
  readonly description?: string;
  readonly changeKind: string;
}

export type ChangesetAction =
  | ChangesetStatusChanged
  | ChangesetFileSet
  | ChangesetFileRemoved
  | ChangesetContentChanged
  | ChangesetOperationsChanged
  | ChangesetOperationStatusChanged
  | ChangesetCleared;

/** No file is in it any more (AHP `changeset/cleared`). */
export interface ChangesetCleared extends KnownAction {
  readonly type: "changeset/cleared";
}

/** All files; all operations too, where there are some (AHP `changeset/contentChanged`). */
export interface ChangesetContentChanged extends KnownAction {
  readonly type: "changeset/contentChanged";
  readonly files: readonly ChangesetFile[];
  readonly operations?: readonly ChangesetOperation[];
}

/** One changed file (AHP `ChangesetFile`). */
export interface ChangesetFile {
  readonly id: string;
  readonly edit: JsonObject;
  readonly _meta?: JsonObject;
}

/** A file is no longer in it (AHP `changeset/fileRemoved`). */
export interface ChangesetFileRemoved extends KnownAction {
  readonly type: "changeset/fileRemoved";
  readonly fileId: string;
}

/** A file, in the place of the one with its id (AHP `changeset/fileSet`). */
export interface ChangesetFileSet extends KnownAction {
  readonly type: "changeset/fileSet";
  readonly file: ChangesetFile;
}

/** Something that can be done with a set of changes, such as reverting it (AHP `ChangesetOperation`). */
export interface ChangesetOperation {
  readonly id: string;
  readonly label: string;
  readonly description?: string;
  readonly scopes: readonly string[];
  readonly confirmation?: StringOrMarkdown;
  readonly icon?: string;
  readonly group?: string;
  readonly status: string;
  readonly error?: ErrorInfo;
}

/** How far an operation has come (AHP `changeset/operationStatusChanged`). */
export interface ChangesetOperationStatusChanged extends KnownAction {
  readonly type: "changeset/operationStatusChanged";
  readonly operationId: string;
  readonly status: string;
  readonly error?: ErrorInfo;
}

/** All operations; `None` for none (AHP `changeset/operationsChanged`). */
export interface ChangesetOperationsChanged extends KnownAction {
  readonly type: "changeset/operationsChanged";
  readonly operations?: readonly ChangesetOperation[];
}

/** Everything about one set of changes (AHP `ChangesetState`). */
export interface ChangesetState {
  readonly status: string;
  readonly error?: ErrorInfo;
  readonly files: readonly ChangesetFile[];
  readonly operations?: readonly ChangesetOperation[];
}

/** How far the set has come, with the error where it failed (AHP `changeset/statusChanged`). */
export interface ChangesetStatusChanged extends KnownAction {
  readonly type: "changeset/statusChanged";
  readonly status: string;
  readonly error?: ErrorInfo;
}

export type ChatAction =
  | ChatToolCallStart
  | ChatToolCallDelta
  | ChatToolCallReady
  | ChatToolCallConfirmed
  | ChatToolCallComplete
  | ChatToolCallResultConfirmed
  | ChatToolCallContentChanged
  | XToolCallDetailsChanged
  | ChatDelta
  | ChatReasoning
  | ChatResponsePart
  | ChatUsage
  | XPlanSet
  | XPartRemoved
  | XUserMessageDelta
  | ChatPendingMessageSet
  | ChatPendingMessageRemoved
  | ChatQueuedMessagesReordered
  | ChatInputRequested
  | ChatInputAnswerChanged
  | ChatInputCompleted
  | XLate
  | XTerminalOpened
  | XTerminalData
  | XTerminalExited
  | ChatTurnStarted
  | ChatTurnComplete
  | ChatTurnCancelled
  | ChatError
  | ChatTruncated
  | XTurnChanges
  | XPromptSuggestionsChanged;

/** More text for a Markdown part (AHP `chat/delta`). */
export interface ChatDelta extends KnownAction {
  readonly type: "chat/delta";
  readonly turnId: string;
  readonly partId: string;
  readonly content: string;
}

/** The turn failed (AHP `chat/error`). */
export interface ChatError extends KnownAction {
  readonly type: "chat/error";
  readonly turnId: string;
  readonly part: ErrorResponsePart;
  readonly stopReason?: string;
  readonly duration?: number;
}

export type ChatInputAnswer = ChatInputDraft | ChatInputSubmitted | ChatInputSkipped;

/** An answer was drafted, given, skipped or, with `None`, withdrawn (AHP `chat/inputAnswerChanged`). */
export interface ChatInputAnswerChanged extends KnownAction {
  readonly type: "chat/inputAnswerChanged";
  readonly requestId: string;
  readonly questionId: string;
  readonly answer?: ChatInputAnswer;
}

export type ChatInputAnswerValue =
  | ChatInputTextAnswerValue
  | ChatInputNumberAnswerValue
  | ChatInputBooleanAnswerValue
  | ChatInputSelectedAnswerValue
  | ChatInputSelectedManyAnswerValue;

/** Yes or no (AHP `ChatInputBooleanAnswerValue`). */
export interface ChatInputBooleanAnswerValue {
  readonly kind: "boolean";
  readonly value: boolean;
}

/** Asks yes or no (AHP `ChatInputBooleanQuestion`). */
export interface ChatInputBooleanQuestion extends ChatInputQuestionBase {
  readonly kind: "boolean";
  readonly defaultValue?: boolean;
}

/** A request for input is settled and removed (AHP `chat/inputCompleted`). */
export interface ChatInputCompleted extends KnownAction {
  readonly type: "chat/inputCompleted";
  readonly requestId: string;
  readonly response: "accept" | "cancel" | "decline";
  readonly answers?: Readonly<Record<string, ChatInputAnswer>>;
}

/** An answer not yet given (AHP `ChatInputAnswered` in state `draft`). */
export interface ChatInputDraft {
  readonly state: "draft";
  readonly value: ChatInputAnswerValue;
}

/** Asks for a whole number (AHP `ChatInputNumberQuestion` of kind `integer`). */
export interface ChatInputIntegerQuestion extends ChatInputQuestionBase {
  readonly kind: "integer";
  readonly min?: number;
  readonly max?: number;
  readonly defaultValue?: number;
}

/** Asks to choose several options (AHP `ChatInputMultiSelectQuestion`). */
export interface ChatInputMultiSelectQuestion extends ChatInputQuestionBase {
  readonly kind: "multi-select";
  readonly options: readonly ChatInputOption[];
  readonly allowFreeformInput?: boolean;
  readonly min?: number;
  readonly max?: number;
}

/** A number (AHP `ChatInputNumberAnswerValue`). */
export interface ChatInputNumberAnswerValue {
  readonly kind: "number";
  readonly value: number;
}

/** Asks for a number (AHP `ChatInputNumberQuestion`). */
export interface ChatInputNumberQuestion extends ChatInputQuestionBase {
  readonly kind: "number";
  readonly min?: number;
  readonly max?: number;
  readonly defaultValue?: number;
}

/** One choice of a select question (AHP `ChatInputOption`). */
export interface ChatInputOption {
  readonly id: string;
  readonly label: string;
  readonly description?: string;
  readonly recommended?: boolean;
}

export type ChatInputQuestion =
  | ChatInputTextQuestion
  | ChatInputNumberQuestion
  | ChatInputIntegerQuestion
  | ChatInputBooleanQuestion
  | ChatInputSingleSelectQuestion
  | ChatInputMultiSelectQuestion;

/** What all questions have (AHP `ChatInputQuestionBase`). */
export interface ChatInputQuestionBase {
  readonly id: string;
  readonly title?: string;
  readonly message: string;
  readonly required?: boolean;
}

/** A request for input that waits for an answer (AHP `ChatInputRequest`). */
export interface ChatInputRequest {
  readonly id: string;
  readonly message?: string;
  readonly url?: string;
  readonly questions?: readonly ChatInputQuestion[];
  readonly answers?: Readonly<Record<string, ChatInputAnswer>>;
}

/** The agent asks for input; the same id again replaces the request (AHP `chat/inputRequested`). */
export interface ChatInputRequested extends KnownAction {
  readonly type: "chat/inputRequested";
  readonly request: ChatInputRequest;
}

/** One choice's id (AHP `ChatInputSelectedAnswerValue`). */
export interface ChatInputSelectedAnswerValue {
  readonly kind: "selected";
  readonly value: string;
  readonly freeformValues?: readonly string[];
}

/** Some choices' ids (AHP `ChatInputSelectedManyAnswerValue`). */
export interface ChatInputSelectedManyAnswerValue {
  readonly kind: "selected-many";
  readonly value: readonly string[];
  readonly freeformValues?: readonly string[];
}

/** Asks to choose one (AHP `ChatInputSingleSelectQuestion`). */
export interface ChatInputSingleSelectQuestion extends ChatInputQuestionBase {
  readonly kind: "single-select";
  readonly options: readonly ChatInputOption[];
  readonly allowFreeformInput?: boolean;
}

/** A question passed over (AHP `ChatInputSkipped`). */
export interface ChatInputSkipped {
  readonly state: "skipped";
  readonly freeformValues?: readonly string[];
}

/** An answer given (AHP `ChatInputAnswered` in state `submitted`). */
export interface ChatInputSubmitted {
  readonly state: "submitted";
  readonly value: ChatInputAnswerValue;
}

/** A text (AHP `ChatInputTextAnswerValue`). */
export interface ChatInputTextAnswerValue {
  readonly kind: "text";
  readonly value: string;
}

/** Asks for text (AHP `ChatInputTextQuestion`). */
export interface ChatInputTextQuestion extends ChatInputQuestionBase {
  readonly kind: "text";
  readonly format?: string;
  readonly min?: number;
  readonly max?: number;
  readonly defaultValue?: string;
}

/** The origin of a chat (AHP `ChatOrigin`). */
export interface ChatOrigin {
  readonly kind: string;
  readonly chat?: string;
  readonly turnId?: string;
  readonly toolCallId?: string;
}

/** A waiting message is taken back (AHP `chat/pendingMessageRemoved`). */
export interface ChatPendingMessageRemoved extends KnownAction {
  readonly type: "chat/pendingMessageRemoved";
  readonly kind: PendingMessageKind;
  readonly id: string;
}

/** A message waits; it replaces one with the same id (AHP `chat/pendingMessageSet`). */
export interface ChatPendingMessageSet extends KnownAction {
  readonly type: "chat/pendingMessageSet";
  readonly kind: PendingMessageKind;
  readonly id: string;
  readonly message: Message;
}

/** The queued messages get another order (AHP `chat/queuedMessagesReordered`). */
export interface ChatQueuedMessagesReordered extends KnownAction {
  readonly type: "chat/queuedMessagesReordered";
  readonly order: readonly string[];
  readonly held?: boolean;
}

/** More text for a reasoning part (AHP `chat/reasoning`). */
export interface ChatReasoning extends KnownAction {
  readonly type: "chat/reasoning";
  readonly turnId: string;
  readonly partId: string;
  readonly content: string;
}

/** A new part of the answer (AHP `chat/responsePart`). */
export interface ChatResponsePart extends KnownAction {
  readonly type: "chat/responsePart";
  readonly turnId: string;
  readonly part: ResponsePart;
}

/** Everything about one chat (AHP `ChatState`). */
export interface ChatState {
  readonly resource: string;
  readonly title: string;
  readonly status: number;
  readonly activity?: string;
  readonly modifiedAt: string;
  readonly model?: ModelSelection;
  readonly agent?: AgentSelection;
  readonly origin?: ChatOrigin;
  readonly interactivity?: string;
  readonly workingDirectories?: readonly string[];
  readonly turns: readonly Turn[];
  readonly activeTurn?: ActiveTurn;
  readonly steeringMessage?: PendingMessage;
  readonly queuedMessages?: readonly PendingMessage[];
  readonly _meta?: JsonObject;
  readonly terminals?: readonly TerminalView[];
  readonly inputRequests?: readonly ChatInputRequest[];
  readonly promptSuggestions?: readonly string[];
}

/** A chat in the list of its session (AHP `ChatSummary`). */
export interface ChatSummary {
  readonly resource: string;
  readonly title: string;
  readonly status: number;
  readonly activity?: string;
  readonly modifiedAt: string;
  readonly model?: ModelSelection;
  readonly agent?: AgentSelection;
  readonly origin?: ChatOrigin;
  readonly interactivity?: string;
  readonly workingDirectories?: readonly string[];
}

/** The fields of a `ChatSummary` that have changed. */
export interface ChatSummaryChanges {
  readonly title?: string;
  readonly status?: number;
  readonly activity?: string;
  readonly modifiedAt?: string;
  readonly model?: ModelSelection;
  readonly agent?: AgentSelection;
  readonly origin?: ChatOrigin;
  readonly interactivity?: string;
  readonly workingDirectories?: readonly string[];
}

/** The tool call has ended (AHP `chat/toolCallComplete`). */
export interface ChatToolCallComplete extends ToolCallAction {
  readonly type: "chat/toolCallComplete";
  readonly result: ToolCallResult;
  readonly requiresResultConfirmation?: boolean;
}

/** The answer to the permission request of a tool call (AHP `chat/toolCallConfirmed`). */
export interface ChatToolCallConfirmed extends ToolCallAction {
  readonly type: "chat/toolCallConfirmed";
  readonly approved: boolean;
  readonly confirmed?: string;
  readonly editedToolInput?: string;
  readonly reason?: string;
  readonly reasonMessage?: StringOrMarkdown;
  readonly userSuggestion?: Message;
  readonly selectedOptionId?: string;
  readonly answeredBy?: Answerer;
}

/** What a running tool shows so far (AHP `chat/toolCallContentChanged`). */
export interface ChatToolCallContentChanged extends ToolCallAction {
  readonly type: "chat/toolCallContentChanged";
  readonly content: readonly ToolResultContent[];
}

/** More of the input, as the model writes it (AHP `chat/toolCallDelta`). */
export interface ChatToolCallDelta extends ToolCallAction {
  readonly type: "chat/toolCallDelta";
  readonly content: string;
  readonly invocationMessage?: StringOrMarkdown;
}

/** The input is complete, or a running tool needs permission again (AHP `chat/toolCallReady`). */
export interface ChatToolCallReady extends ToolCallAction {
  readonly type: "chat/toolCallReady";
  readonly invocationMessage: StringOrMarkdown;
  readonly toolInput?: string;
  readonly confirmationTitle?: StringOrMarkdown;
  readonly edits?: JsonObject;
  readonly editable?: boolean;
  readonly confirmed?: string;
  readonly options?: readonly ConfirmationOption[];
  readonly risk?: ToolCallRisk;
}

/** The answer to the question whether a result may be used (AHP `chat/toolCallResultConfirmed`). */
export interface ChatToolCallResultConfirmed extends ToolCallAction {
  readonly type: "chat/toolCallResultConfirmed";
  readonly approved: boolean;
}

/** A tool call begins (AHP `chat/toolCallStart`). Starting the same call again changes nothing. */
export interface ChatToolCallStart extends ToolCallAction {
  readonly type: "chat/toolCallStart";
  readonly toolName: string;
  readonly displayName: string;
  readonly contributor?: ToolCallContributor;
  readonly details?: ToolCallDetails;
}

/** The history is cut after a turn; the running turn is removed, too (AHP `chat/truncated`). */
export interface ChatTruncated extends KnownAction {
  readonly type: "chat/truncated";
  readonly turnId?: string;
}

/** The turn was cancelled (AHP `chat/turnCancelled`). */
export interface ChatTurnCancelled extends KnownAction {
  readonly type: "chat/turnCancelled";
  readonly turnId: string;
  readonly stopReason?: string;
  readonly duration?: number;
  readonly holdQueue?: boolean;
}

/** The turn is complete (AHP `chat/turnComplete`). */
export interface ChatTurnComplete extends KnownAction {
  readonly type: "chat/turnComplete";
  readonly turnId: string;
  readonly stopReason?: string;
  readonly duration?: number;
}

/** A turn begins (AHP `chat/turnStarted`). Starting the same turn again changes nothing. */
export interface ChatTurnStarted extends KnownAction {
  readonly type: "chat/turnStarted";
  readonly turnId: string;
  readonly message: Message;
  readonly queuedMessageId?: string;
  readonly startedAt?: string;
}

/** Tokens that the turn has used so far (AHP `chat/usage`). */
export interface ChatUsage extends KnownAction {
  readonly type: "chat/usage";
  readonly turnId: string;
  readonly usage: UsageInfo;
}

/** One answer that the agent offers for a permission request (AHP `ConfirmationOption`). */
export interface ConfirmationOption {
  readonly id: string;
  readonly label: string;
  readonly kind: string;
  readonly group?: number;
  readonly optionKind?: string;
}

/** Large content that is stored elsewhere (AHP `ResourceReponsePart`, kind `contentRef`). */
export interface ContentRefResponsePart {
  readonly kind: "contentRef";
  readonly uri: string;
  readonly sizeHint?: number;
  readonly contentType?: string;
}

/** Ours: a block of the agent's message that is not text: image, audio, resource, resource_link, as sent. */
export interface ContentResponsePart {
  readonly kind: "x-agentnb/content";
  readonly id: string;
  readonly block: JsonObject;
}

/** Ours: the usage of the model's context (ACP `usage_update`). */
export interface ContextUsage {
  readonly used: number;
  readonly size: number;
  readonly cost?: Cost;
}

/** Ours: money spent (ACP `Cost`). */
export interface Cost {
  readonly amount: number;
  readonly currency: string;
}

/** Ours: a possible mistake in a table that a step changed. */
export interface DataCheck {
  readonly table: string;
  readonly cause: string;
  readonly text: string;
  readonly count?: number;
  readonly columns?: readonly string[];
  readonly others?: readonly string[];
  readonly rowsBefore?: number;
  readonly rowsAfter?: number;
  readonly isSampled?: boolean;
  readonly show?: string;
  readonly assertion?: string;
  readonly question?: string;
}

/** An action with its channel and index (AHP `ActionEnvelope`; ours counts per channel). */
export interface Envelope {
  readonly channel: string;
  readonly first?: number;
  readonly index: number;
  readonly action: Action;
  readonly origin?: ActionOrigin;
  readonly rejectionReason?: string;
  readonly repeated?: boolean;
}

/** An error (AHP `ErrorInfo`). */
export interface ErrorInfo {
  readonly errorType: string;
  readonly message: string;
  readonly stack?: string;
  readonly _meta?: JsonObject;
}

/** What went wrong (AHP `ErrorResponsePart`). */
export interface ErrorResponsePart {
  readonly kind: "error";
  readonly error: ErrorInfo;
}

/** A question from the agent, at its place in the answer (AHP `InputRequestResponsePart`). */
export interface InputRequestResponsePart {
  readonly kind: "inputRequest";
  readonly request: ChatInputRequest;
  readonly response?: "accept" | "cancel" | "decline";
}

/** Base of the actions that this version knows; each carries its `type` on the wire. */
export interface KnownAction {
  readonly time?: number;
  readonly _meta?: JsonObject;
}

/** Markdown text. */
export interface Markdown {
  readonly markdown: string;
}

/** Text of the answer, in Markdown; `chat/delta` adds to it (AHP `MarkdownResponsePart`). */
export interface MarkdownResponsePart {
  readonly kind: "markdown";
  readonly id: string;
  readonly content: string;
  readonly messageId?: string;
}

/** A message to the agent (AHP `Message`). */
export interface Message {
  readonly text: string;
  readonly origin: MessageOrigin;
  readonly attachments?: readonly MessageAttachment[];
  readonly _meta?: JsonObject;
}

/** Annotations of a session (AHP `MessageAnnotationsAttachment`). */
export interface MessageAnnotationsAttachment extends MessageAttachmentBase {
  readonly type: "annotations";
  readonly resource: string;
  readonly annotationIds?: readonly string[];
}

export type MessageAttachment =
  | SimpleMessageAttachment
  | MessageEmbeddedResourceAttachment
  | MessageResourceAttachment
  | MessageAnnotationsAttachment;

/** The fields that all attachments have (AHP `MessageAttachmentBase`). */
export interface MessageAttachmentBase {
  readonly label: string;
  readonly range?: TextRange;
  readonly displayKind?: string;
  readonly _meta?: JsonObject;
}

/** Bytes carried along in base64 (AHP `MessageEmbeddedResourceAttachment`). */
export interface MessageEmbeddedResourceAttachment extends MessageAttachmentBase {
  readonly type: "embeddedResource";
  readonly data: string;
  readonly contentType: string;
  readonly selection?: TextSelection;
}

/** The author of a message (AHP `MessageOrigin`). */
export interface MessageOrigin {
  readonly kind: string;
}

/** A resource named by URI (AHP `MessageResourceAttachment`). */
export interface MessageResourceAttachment extends MessageAttachmentBase {
  readonly type: "resource";
  readonly uri: string;
  readonly sizeHint?: number;
  readonly contentType?: string;
  readonly selection?: TextSelection;
}

/** The chosen language model (AHP `ModelSelection`). */
export interface ModelSelection {
  readonly id: string;
  readonly config?: JsonObject;
}

/** A message that waits (AHP `PendingMessage`). */
export interface PendingMessage {
  readonly id: string;
  readonly message: Message;
  readonly held?: boolean;
}

/** What a waiting message will do: go into the running turn, or start one (AHP `PendingMessageKind`). */
export type PendingMessageKind = "queued" | "steering";

/** One step of a plan (ACP `PlanEntry`). */
export interface PlanEntry {
  readonly content: string;
  readonly priority?: string;
  readonly status: string;
}

/** Ours: the agent's plan (ACP `plan`). */
export interface PlanResponsePart {
  readonly kind: "x-agentnb/plan";
  readonly id: string;
  readonly planId?: string;
  readonly entries: readonly PlanEntry[];
}

/** The project that a session works on (AHP `ProjectInfo`). */
export interface ProjectInfo {
  readonly uri: string;
  readonly displayName: string;
}

/** Ours: an update of an unknown kind, shown generically. */
export interface RawResponsePart {
  readonly kind: "x-agentnb/raw";
  readonly id: string;
  readonly name: string;
  readonly payload: unknown;
}

/** The reasoning of the model; `chat/reasoning` adds to it (AHP `ReasoningResponsePart`). */
export interface ReasoningResponsePart {
  readonly kind: "reasoning";
  readonly id: string;
  readonly content: string;
  readonly messageId?: string;
}

/** Ours: a file that would change. */
export interface RehearsalFile {
  readonly path: string;
  readonly status: string;
  readonly added?: number;
  readonly removed?: number;
  readonly diff?: string;
}

/** Ours: a variable of the kernel that would change. */
export interface RehearsalVariable {
  readonly name: string;
  readonly status: string;
  readonly detail: string;
  readonly value?: string;
  readonly canRestore?: boolean;
}

export type ResponsePart =
  | MarkdownResponsePart
  | ReasoningResponsePart
  | ToolCallResponsePart
  | SystemNotificationResponsePart
  | ContentRefResponsePart
  | InputRequestResponsePart
  | ErrorResponsePart
  | PlanResponsePart
  | ContentResponsePart
  | UserMessageResponsePart
  | RawResponsePart;

export type RootAction =
  | RootAgentsChanged
  | RootActiveSessionsChanged
  | RootTerminalsChanged
  | RootConfigChanged
  | XSessionSet
  | XSessionRemoved;

/** How many sessions are open (AHP `root/activeSessionsChanged`). */
export interface RootActiveSessionsChanged extends KnownAction {
  readonly type: "root/activeSessionsChanged";
  readonly activeSessions: number;
}

/** The agents that can be used (AHP `root/agentsChanged`). */
export interface RootAgentsChanged extends KnownAction {
  readonly type: "root/agentsChanged";
  readonly agents: readonly AgentInfo[];
}

/** The host's settings changed (AHP `root/configChanged`). */
export interface RootConfigChanged extends KnownAction {
  readonly type: "root/configChanged";
  readonly config: JsonObject;
  readonly replace?: boolean;
}

/** Settings of the host: what there is, and what is chosen (AHP `RootConfigState`). */
export interface RootConfigState {
  readonly schema: JsonObject;
  readonly values: JsonObject;
}

/** The first state that every client gets (AHP `RootState`). */
export interface RootState {
  readonly agents: readonly AgentInfo[];
  readonly activeSessions?: number;
  readonly terminals?: readonly TerminalInfo[];
  readonly config?: RootConfigState;
  readonly _meta?: JsonObject;
  readonly sessions?: readonly SessionSummary[];
}

/** The terminals that there are (AHP `root/terminalsChanged`). */
export interface RootTerminalsChanged extends KnownAction {
  readonly type: "root/terminalsChanged";
  readonly terminals: readonly TerminalInfo[];
}

export type SessionAction =
  | SessionReady
  | SessionCreationFailed
  | SessionTitleChanged
  | SessionIsReadChanged
  | SessionIsArchivedChanged
  | SessionActivityChanged
  | SessionConfigChanged
  | SessionMetaChanged
  | SessionChatAdded
  | SessionChatRemoved
  | SessionChatUpdated
  | SessionDefaultChatChanged
  | SessionChangesetsChanged
  | XCommandsChanged
  | XModesChanged
  | XModeChanged
  | XConfigOptionsChanged
  | XConfigOptionChosen
  | XContextUsageChanged
  | XAgentChanged;

/** What the session is doing, for people; `None` for nothing (AHP `session/activityChanged`). */
export interface SessionActivityChanged extends KnownAction {
  readonly type: "session/activityChanged";
  readonly activity?: string;
}

/** The sets of changes on offer (AHP `session/changesetsChanged`). */
export interface SessionChangesetsChanged extends KnownAction {
  readonly type: "session/changesetsChanged";
  readonly changesets?: readonly Changeset[];
}

/** A chat was added, or its whole entry replaced (AHP `session/chatAdded`). */
export interface SessionChatAdded extends KnownAction {
  readonly type: "session/chatAdded";
  readonly summary: ChatSummary;
}

/** A chat was removed (AHP `session/chatRemoved`). */
export interface SessionChatRemoved extends KnownAction {
  readonly type: "session/chatRemoved";
  readonly chat: string;
}

/** Some fields of a chat's entry changed (AHP `session/chatUpdated`). */
export interface SessionChatUpdated extends KnownAction {
  readonly type: "session/chatUpdated";
  readonly chat: string;
  readonly changes: ChatSummaryChanges;
}

/** Settings changed (AHP `session/configChanged`). */
export interface SessionConfigChanged extends KnownAction {
  readonly type: "session/configChanged";
  readonly config: JsonObject;
  readonly replace?: boolean;
}

/** Settings of a session: the available ones and their values (AHP `SessionConfigState`). */
export interface SessionConfigState {
  readonly schema: JsonObject;
  readonly values: JsonObject;
}

/** The session did not come up (AHP `session/creationFailed`). */
export interface SessionCreationFailed extends KnownAction {
  readonly type: "session/creationFailed";
  readonly error: ErrorInfo;
}

/** The chat that input goes to; `None` for none (AHP `session/defaultChatChanged`). */
export interface SessionDefaultChatChanged extends KnownAction {
  readonly type: "session/defaultChatChanged";
  readonly defaultChat?: string;
}

/** Whether the session is put away (AHP `session/isArchivedChanged`). */
export interface SessionIsArchivedChanged extends KnownAction {
  readonly type: "session/isArchivedChanged";
  readonly isArchived: boolean;
}

/** Whether the user has seen what is new (AHP `session/isReadChanged`). */
export interface SessionIsReadChanged extends KnownAction {
  readonly type: "session/isReadChanged";
  readonly isRead: boolean;
}

/** The session's `_meta`, replaced by the action's own (AHP `session/metaChanged`). */
export interface SessionMetaChanged extends KnownAction {
  readonly type: "session/metaChanged";
}

/** Ours: a way the agent can work in (ACP `SessionMode`). */
export interface SessionMode {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
}

/** A language model that an agent offers (AHP `SessionModelInfo`). */
export interface SessionModelInfo {
  readonly id: string;
  readonly provider: string;
  readonly name: string;
  readonly maxContextWindow?: number;
  readonly maxOutputTokens?: number;
  readonly maxPromptTokens?: number;
  readonly supportsVision?: boolean;
  readonly policyState?: string;
  readonly configSchema?: JsonObject;
  readonly _meta?: JsonObject;
}

/** Ours: the modes on offer and the one in force (ACP `SessionModeState`). */
export interface SessionModes {
  readonly currentModeId: string;
  readonly availableModes: readonly SessionMode[];
}

/** The session has come up (AHP `session/ready`). */
export interface SessionReady extends KnownAction {
  readonly type: "session/ready";
}

/** Everything about one session (AHP `SessionState`). */
export interface SessionState {
  readonly provider: string;
  readonly title: string;
  readonly status: number;
  readonly activity?: string;
  readonly project?: ProjectInfo;
  readonly workingDirectories?: readonly string[];
  readonly annotations?: JsonObject;
  readonly lifecycle: "creating" | "failed" | "ready";
  readonly creationError?: ErrorInfo;
  readonly serverTools?: readonly JsonObject[];
  readonly activeClients?: readonly JsonObject[];
  readonly chats: readonly ChatSummary[];
  readonly defaultChat?: string;
  readonly config?: SessionConfigState;
  readonly customizations?: readonly JsonObject[];
  readonly changesets?: readonly Changeset[];
  readonly _meta?: JsonObject;
  readonly commands?: readonly AgentCommand[];
  readonly modes?: SessionModes;
  readonly configOptions?: readonly JsonObject[];
  readonly contextUsage?: ContextUsage;
  readonly agentProcess?: AgentProcess;
}

/** A session in a list (AHP `SessionSummary`). */
export interface SessionSummary {
  readonly resource: string;
  readonly provider: string;
  readonly title: string;
  readonly status: number;
  readonly activity?: string;
  readonly createdAt: string;
  readonly modifiedAt: string;
  readonly project?: ProjectInfo;
  readonly workingDirectories?: readonly string[];
  readonly changes?: ChangesSummary;
  readonly annotations?: JsonObject;
  readonly _meta?: JsonObject;
}

/** The title, set by the agent or the user (AHP `session/titleChanged`). */
export interface SessionTitleChanged extends KnownAction {
  readonly type: "session/titleChanged";
  readonly title: string;
}

/** Text that goes to the model beside the message (AHP `SimpleMessageAttachment`). */
export interface SimpleMessageAttachment extends MessageAttachmentBase {
  readonly type: "simple";
  readonly modelRepresentation?: string;
}

export type StringOrMarkdown = string | Markdown;

/** A word from the system (AHP `SystemNotificationResponsePart`). */
export interface SystemNotificationResponsePart {
  readonly kind: "systemNotification";
  readonly content: StringOrMarkdown;
}

/** A terminal that the root lists (AHP `TerminalInfo`). */
export interface TerminalInfo {
  readonly resource: string;
  readonly title: string;
  readonly claim: JsonObject;
  readonly lifecycle: JsonObject;
}

/** Ours: a terminal that the agent opened, as views show it. */
export interface TerminalView {
  readonly id: string;
  readonly command: string;
  readonly cwd?: string;
  readonly output?: string;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly truncated?: boolean;
  readonly exited?: boolean;
}

/** A place in a text, both counted from zero (AHP `TextPosition`). */
export interface TextPosition {
  readonly line: number;
  readonly character: number;
}

/** From one place up to another (AHP `TextRange`). */
export interface TextRange {
  readonly start: TextPosition;
  readonly end: TextPosition;
}

/** A part of a text resource (AHP `TextSelection`). */
export interface TextSelection {
  readonly range: TextRange;
}

/** Ours: any other ACP content block as sent: image, audio, resource, resource_link. */
export interface ToolBlockContent {
  readonly type: "block";
  readonly block: JsonObject;
}

/** What all of these name (AHP `ToolCallActionBase`). Their `_meta` replaces the tool call's. */
export interface ToolCallAction extends KnownAction {
  readonly turnId: string;
  readonly toolCallId: string;
}

/** The fields of a tool call in every state (AHP `ToolCallBase`). */
export interface ToolCallBase {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly contributor?: ToolCallContributor;
  readonly _meta?: JsonObject;
  readonly details?: ToolCallDetails;
}

/** The tool call was not run, or its result was not used (AHP `ToolCallCancelledState`). */
export interface ToolCallCancelledState extends ToolCallBase {
  readonly status: "cancelled";
  readonly invocationMessage: StringOrMarkdown;
  readonly toolInput?: string;
  readonly reason: string;
  readonly reasonMessage?: StringOrMarkdown;
  readonly userSuggestion?: Message;
  readonly selectedOption?: ConfirmationOption;
  readonly answeredBy?: Answerer;
}

/** Ours: the change that a tool call would make to a cell of an open notebook; the page shows it in the cell. */
export interface ToolCallCell {
  readonly notebook: string;
  readonly action: string;
  readonly cellId?: string;
  readonly kind?: string;
  readonly oldText?: string;
  readonly newText?: string;
  readonly moreText?: string;
  readonly others?: readonly string[];
  readonly below?: string;
  readonly newKind?: string;
  readonly newTags?: readonly string[];
}

/** Ours: one finding of a research, with its place in the source. */
export interface ToolCallCitation {
  readonly text: string;
  readonly place?: string;
  readonly path?: string;
  readonly line?: number;
  readonly excerpt?: string;
  readonly lines?: string;
  readonly firstLine?: number;
}

/** It ended, well or not (AHP `ToolCallCompletedState`). */
export interface ToolCallCompletedState extends ToolCallFinishedBase {
  readonly status: "completed";
}

/** The source of a tool (AHP `ToolCallContributor`). */
export interface ToolCallContributor {
  readonly kind: string;
  readonly clientId?: string;
  readonly customizationId?: string;
}

/** Ours: the details of a tool call that ACP has and AHP has no field for. */
export interface ToolCallDetails {
  readonly kind?: string;
  readonly locations?: readonly ToolCallLocation[];
  readonly rawInput?: unknown;
  readonly rawOutput?: unknown;
  readonly content?: readonly ToolContent[];
  readonly ranWithoutAsking?: boolean;
  readonly cell?: ToolCallCell;
  readonly run?: ToolCallRun;
  readonly research?: ToolCallResearch;
  readonly rehearsal?: ToolCallRehearsal;
  readonly differences?: readonly string[];
}

/** Why a tool failed (AHP `ToolCallResult.error`). */
export interface ToolCallError {
  readonly message: string;
  readonly code?: string;
}

/** What is known once a tool has given its result. */
export interface ToolCallFinishedBase extends ToolCallBase {
  readonly invocationMessage: StringOrMarkdown;
  readonly toolInput?: string;
  readonly confirmed: string;
  readonly selectedOption?: ConfirmationOption;
  readonly answeredBy?: Answerer;
  readonly success: boolean;
  readonly pastTenseMessage: StringOrMarkdown;
  readonly content?: readonly ToolResultContent[];
  readonly structuredContent?: JsonObject;
  readonly error?: ToolCallError;
}

/** A file that a tool call works on (ACP `ToolCallLocation`). */
export interface ToolCallLocation {
  readonly path: string;
  readonly line?: number;
}

/** The tool call needs permission (AHP `ToolCallPendingConfirmationState`). */
export interface ToolCallPendingConfirmationState extends ToolCallBase {
  readonly status: "pending-confirmation";
  readonly invocationMessage: StringOrMarkdown;
  readonly toolInput?: string;
  readonly confirmationTitle?: StringOrMarkdown;
  readonly edits?: JsonObject;
  readonly editable?: boolean;
  readonly options?: readonly ConfirmationOption[];
  readonly risk?: ToolCallRisk;
}

/** Someone must allow its result to be used (AHP `ToolCallPendingResultConfirmationState`). */
export interface ToolCallPendingResultConfirmationState extends ToolCallFinishedBase {
  readonly status: "pending-result-confirmation";
}

/** Ours: the preview of code or a command, run in an isolated copy. Nothing was done for real. */
export interface ToolCallRehearsal {
  readonly status: string;
  readonly input?: string;
  readonly reason?: string;
  readonly isAvailable?: boolean;
  readonly summary?: string;
  readonly printed?: string;
  readonly result?: string;
  readonly error?: string;
  readonly exitCode?: number;
  readonly variables?: readonly RehearsalVariable[];
  readonly dataChecks?: readonly DataCheck[];
  readonly files?: readonly RehearsalFile[];
  readonly moreFiles?: number;
  readonly pictures?: readonly ToolBlockContent[];
  readonly processes?: readonly string[];
  readonly connections?: readonly string[];
  readonly refused?: readonly string[];
  readonly seconds?: number;
  readonly memory?: number;
  readonly way?: string;
}

/** Ours: the answer of a kernel tool to a question about a package. */
export interface ToolCallResearch {
  readonly package: string;
  readonly version: string;
  readonly citations: readonly ToolCallCitation[];
  readonly session?: string;
}

/** A tool call (AHP `ToolCallResponsePart`). Its part id is the tool call's id. */
export interface ToolCallResponsePart {
  readonly kind: "toolCall";
  readonly toolCall: ToolCallState;
}

/** The result of a tool call (AHP `ToolCallResult`). */
export interface ToolCallResult {
  readonly success: boolean;
  readonly pastTenseMessage: StringOrMarkdown;
  readonly content?: readonly ToolResultContent[];
  readonly structuredContent?: JsonObject;
  readonly error?: ToolCallError;
}

/** Ours: the policy's assessment of a tool call that needs permission. */
export interface ToolCallRisk {
  readonly severity: string;
  readonly reason: string;
  readonly like?: string;
}

/** Ours: code that a tool call runs in the user's kernel, or has run there. */
export interface ToolCallRun {
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly content?: readonly ToolContent[];
}

/** The tool call runs (AHP `ToolCallRunningState`). */
export interface ToolCallRunningState extends ToolCallBase {
  readonly status: "running";
  readonly invocationMessage: StringOrMarkdown;
  readonly toolInput?: string;
  readonly confirmed: string;
  readonly selectedOption?: ConfirmationOption;
  readonly answeredBy?: Answerer;
  readonly content?: readonly ToolResultContent[];
}

export type ToolCallState =
  | ToolCallStreamingState
  | ToolCallPendingConfirmationState
  | ToolCallRunningState
  | ToolCallPendingResultConfirmationState
  | ToolCallCompletedState
  | ToolCallCancelledState;

/** The model is still writing the input (AHP `ToolCallStreamingState`). */
export interface ToolCallStreamingState extends ToolCallBase {
  readonly status: "streaming";
  readonly partialInput?: string;
  readonly invocationMessage?: StringOrMarkdown;
}

export type ToolContent = ToolTextContent | ToolDiffContent | ToolTerminalContent | ToolBlockContent | ToolRawContent;

/** Ours: a changed file (ACP `diff`). */
export interface ToolDiffContent {
  readonly type: "diff";
  readonly path: string;
  readonly oldText?: string;
  readonly newText: string;
}

/** Ours: content of a kind that we do not know, as sent. */
export interface ToolRawContent {
  readonly type: "raw";
  readonly raw: unknown;
}

export type ToolResultContent =
  | ToolResultTextContent
  | ToolResultEmbeddedResourceContent
  | ToolResultResourceContent
  | ToolResultFileEditContent
  | ToolResultTerminalContent
  | ToolResultSubagentContent;

/** Bytes in base64 (AHP `ToolResultEmbeddedResourceContent`). */
export interface ToolResultEmbeddedResourceContent {
  readonly type: "embeddedResource";
  readonly data: string;
  readonly contentType: string;
}

/** A changed file (AHP `ToolResultFileEditContent`). */
export interface ToolResultFileEditContent {
  readonly type: "fileEdit";
  readonly before?: JsonObject;
  readonly after?: JsonObject;
  readonly diff?: JsonObject;
}

/** A resource named by URI (AHP `ToolResultResourceContent`). */
export interface ToolResultResourceContent {
  readonly type: "resource";
  readonly uri: string;
  readonly sizeHint?: number;
  readonly contentType?: string;
}

/** A chat that the tool started (AHP `ToolResultSubagentContent`). */
export interface ToolResultSubagentContent {
  readonly type: "subagent";
  readonly resource: string;
  readonly title: string;
  readonly agentName?: string;
  readonly description?: string;
}

/** A terminal (AHP `ToolResultTerminalContent`). */
export interface ToolResultTerminalContent {
  readonly type: "terminal";
  readonly resource: string;
  readonly title: string;
}

/** Text (AHP `ToolResultTextContent`). */
export interface ToolResultTextContent {
  readonly type: "text";
  readonly text: string;
}

/** Ours: a terminal, see `ChatState.terminals` (ACP `terminal`). */
export interface ToolTerminalContent {
  readonly type: "terminal";
  readonly terminalId: string;
}

/** Ours: text (ACP `content` with a text block). */
export interface ToolTextContent {
  readonly type: "text";
  readonly text: string;
}

/** A finished turn (AHP `Turn`). */
export interface Turn {
  readonly id: string;
  readonly startedAt?: string;
  readonly duration?: number;
  readonly message: Message;
  readonly responseParts: readonly ResponsePart[];
  readonly usage?: UsageInfo;
  readonly state: "cancelled" | "complete" | "error";
  readonly stopReason?: string;
  readonly changes?: TurnChanges;
}

/** Ours: the numbers of changes in a turn; the changes themselves are in its changeset channel. */
export interface TurnChanges {
  readonly status: "computing" | "error" | "ready";
  readonly error?: ErrorInfo;
  readonly files?: number;
  readonly added?: number;
  readonly removed?: number;
  readonly cells?: number;
  readonly variables?: number;
  readonly undone?: number;
  readonly kept?: number;
  readonly undoable?: number;
  readonly notes?: readonly string[];
  readonly dataChecks?: readonly DataCheck[];
}

export type TurnContentAction =
  | ChatToolCallStart
  | ChatToolCallDelta
  | ChatToolCallReady
  | ChatToolCallConfirmed
  | ChatToolCallComplete
  | ChatToolCallResultConfirmed
  | ChatToolCallContentChanged
  | XToolCallDetailsChanged
  | ChatDelta
  | ChatReasoning
  | ChatResponsePart
  | ChatUsage
  | XPlanSet
  | XPartRemoved
  | XUserMessageDelta;

/** Tokens that a turn has used (AHP `UsageInfo`). */
export interface UsageInfo {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly model?: string;
  readonly cacheReadTokens?: number;
  readonly _meta?: JsonObject;
}

/** Ours: the user's words as the agent repeats them (ACP `user_message_chunk`). */
export interface UserMessageResponsePart {
  readonly kind: "x-agentnb/userMessage";
  readonly id: string;
  readonly content: string;
}

/** Ours: the process that serves the session started, stopped or failed. */
export interface XAgentChanged extends KnownAction {
  readonly type: "x-agentnb/agentChanged";
  readonly agentProcess: AgentProcess;
}

/** Ours: the slash commands on offer (ACP `available_commands_update`). */
export interface XCommandsChanged extends KnownAction {
  readonly type: "x-agentnb/commandsChanged";
  readonly commands: readonly AgentCommand[];
}

/** Ours: a config option got another value (ACP `session/set_config_option`). */
export interface XConfigOptionChosen extends KnownAction {
  readonly type: "x-agentnb/configOptionChosen";
  readonly configId: string;
  readonly value: unknown;
}

/** Ours: all config options with their values, as sent (ACP `config_option_update`). */
export interface XConfigOptionsChanged extends KnownAction {
  readonly type: "x-agentnb/configOptionsChanged";
  readonly configOptions: readonly JsonObject[];
}

/** Ours: the usage of the model's context (ACP `usage_update`). */
export interface XContextUsageChanged extends KnownAction {
  readonly type: "x-agentnb/contextUsageChanged";
  readonly used: number;
  readonly size: number;
  readonly cost?: Cost;
}

/** Ours: an action on a turn that has already finished, since some agents continue to send updates. */
export interface XLate extends KnownAction {
  readonly type: "x-agentnb/late";
  readonly turnId: string;
  readonly action: Action;
}

/** Ours: the mode in force, chosen by the agent or the user (ACP `current_mode_update`). */
export interface XModeChanged extends KnownAction {
  readonly type: "x-agentnb/modeChanged";
  readonly modeId: string;
}

/** Ours: the modes on offer and the one in force (ACP `SessionModeState`). */
export interface XModesChanged extends KnownAction {
  readonly type: "x-agentnb/modesChanged";
  readonly modes: SessionModes;
}

/** Ours: a part is taken back (ACP `plan_removed`). */
export interface XPartRemoved extends KnownAction {
  readonly type: "x-agentnb/partRemoved";
  readonly turnId: string;
  readonly partId: string;
}

/** Ours: the agent's plan, new or replaced as a whole (ACP `plan`). */
export interface XPlanSet extends KnownAction {
  readonly type: "x-agentnb/planSet";
  readonly turnId: string;
  readonly partId: string;
  readonly planId?: string;
  readonly entries: readonly PlanEntry[];
}

/** Ours: the prompts that the agent expects the user to send next (ACP `prompt_suggestions_update`). */
export interface XPromptSuggestionsChanged extends KnownAction {
  readonly type: "x-agentnb/promptSuggestionsChanged";
  readonly suggestions: readonly string[];
}

/** Ours: a session was closed. */
export interface XSessionRemoved extends KnownAction {
  readonly type: "x-agentnb/sessionRemoved";
  readonly resource: string;
}

/** Ours: a session was opened, or its summary changed. */
export interface XSessionSet extends KnownAction {
  readonly type: "x-agentnb/sessionSet";
  readonly summary: SessionSummary;
}

/** Ours: a terminal printed something. */
export interface XTerminalData extends KnownAction {
  readonly type: "x-agentnb/terminalData";
  readonly terminalId: string;
  readonly data: string;
}

/** Ours: a terminal's program ended (ACP `TerminalExitStatus`). */
export interface XTerminalExited extends KnownAction {
  readonly type: "x-agentnb/terminalExited";
  readonly terminalId: string;
  readonly exitCode?: number;
  readonly signal?: string;
}

/** Ours: the agent opened a terminal (ACP `terminal/create`). */
export interface XTerminalOpened extends KnownAction {
  readonly type: "x-agentnb/terminalOpened";
  readonly terminal: TerminalView;
}

/** Ours: the details from ACP that AHP has no field for, in any state of the call (ACP `tool_call_update`). */
export interface XToolCallDetailsChanged extends ToolCallAction {
  readonly type: "x-agentnb/toolCallDetailsChanged";
  readonly displayName?: string;
  readonly details: ToolCallDetails;
}

/** Ours: the numbers of changes in a finished turn; the changes themselves are in its changeset channel. */
export interface XTurnChanges extends KnownAction {
  readonly type: "x-agentnb/turnChanges";
  readonly turnId: string;
  readonly changes: TurnChanges;
}

/** Ours: more text for a user-message part (ACP `user_message_chunk`). */
export interface XUserMessageDelta extends KnownAction {
  readonly type: "x-agentnb/userMessageDelta";
  readonly turnId: string;
  readonly partId: string;
  readonly content: string;
}
