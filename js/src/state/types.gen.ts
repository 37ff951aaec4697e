/** Written by scripts/gen_types.py from agentnb/state: change that, then run `make types`. */

/** A JSON object taken as it is. */
export interface JsonObject {
  readonly [name: string]: unknown;
}

export type Action = RootAction | SessionAction | SessionMemberAction | ChatAction | TerminalAction | ChangesetAction;

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

/** Ours: an install of an agent, running or ended. */
export interface AgentSetup {
  readonly state: "checking" | "done" | "failed" | "running" | "stopped";
  readonly message?: string;
  readonly terminal: TerminalView;
}

/** Ours: who answered the question whether a tool may run. The host says so, whatever a client claims. */
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
export interface ChangesetCleared {
  readonly type: "changeset/cleared";
  readonly time?: number;
  readonly _meta?: JsonObject;
}

/** All files; all operations too, where there are some (AHP `changeset/contentChanged`). */
export interface ChangesetContentChanged {
  readonly type: "changeset/contentChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
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
export interface ChangesetFileRemoved {
  readonly type: "changeset/fileRemoved";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly fileId: string;
}

/** A file, in the place of the one with its id (AHP `changeset/fileSet`). */
export interface ChangesetFileSet {
  readonly type: "changeset/fileSet";
  readonly time?: number;
  readonly _meta?: JsonObject;
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
export interface ChangesetOperationStatusChanged {
  readonly type: "changeset/operationStatusChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly operationId: string;
  readonly status: string;
  readonly error?: ErrorInfo;
}

/** All operations; `None` for none (AHP `changeset/operationsChanged`). */
export interface ChangesetOperationsChanged {
  readonly type: "changeset/operationsChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
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
export interface ChangesetStatusChanged {
  readonly type: "changeset/statusChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
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
export interface ChatDelta {
  readonly type: "chat/delta";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly partId: string;
  readonly content: string;
}

/** The turn failed (AHP `chat/error`). */
export interface ChatError {
  readonly type: "chat/error";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly part: ErrorResponsePart;
  readonly stopReason?: string;
  readonly duration?: number;
}

export type ChatInputAnswer = ChatInputDraft | ChatInputSubmitted | ChatInputSkipped;

/** An answer was drafted, given, skipped or, with `None`, withdrawn (AHP `chat/inputAnswerChanged`). */
export interface ChatInputAnswerChanged {
  readonly type: "chat/inputAnswerChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
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
export interface ChatInputBooleanQuestion {
  readonly kind: "boolean";
  readonly id: string;
  readonly title?: string;
  readonly message: string;
  readonly required?: boolean;
  readonly defaultValue?: boolean;
}

/** A request for input is settled and goes away (AHP `chat/inputCompleted`). */
export interface ChatInputCompleted {
  readonly type: "chat/inputCompleted";
  readonly time?: number;
  readonly _meta?: JsonObject;
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
export interface ChatInputIntegerQuestion {
  readonly kind: "integer";
  readonly id: string;
  readonly title?: string;
  readonly message: string;
  readonly required?: boolean;
  readonly min?: number;
  readonly max?: number;
  readonly defaultValue?: number;
}

/** Asks to choose some (AHP `ChatInputMultiSelectQuestion`). */
export interface ChatInputMultiSelectQuestion {
  readonly kind: "multi-select";
  readonly id: string;
  readonly title?: string;
  readonly message: string;
  readonly required?: boolean;
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
export interface ChatInputNumberQuestion {
  readonly kind: "number";
  readonly id: string;
  readonly title?: string;
  readonly message: string;
  readonly required?: boolean;
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

/** A request for input that waits (AHP `ChatInputRequest`). */
export interface ChatInputRequest {
  readonly id: string;
  readonly message?: string;
  readonly url?: string;
  readonly questions?: readonly ChatInputQuestion[];
  readonly answers?: Readonly<Record<string, ChatInputAnswer>>;
}

/** The agent asks for input; the same id again replaces the request (AHP `chat/inputRequested`). */
export interface ChatInputRequested {
  readonly type: "chat/inputRequested";
  readonly time?: number;
  readonly _meta?: JsonObject;
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
export interface ChatInputSingleSelectQuestion {
  readonly kind: "single-select";
  readonly id: string;
  readonly title?: string;
  readonly message: string;
  readonly required?: boolean;
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
export interface ChatInputTextQuestion {
  readonly kind: "text";
  readonly id: string;
  readonly title?: string;
  readonly message: string;
  readonly required?: boolean;
  readonly format?: string;
  readonly min?: number;
  readonly max?: number;
  readonly defaultValue?: string;
}

/** How a chat came to be (AHP `ChatOrigin`). */
export interface ChatOrigin {
  readonly kind: string;
  readonly chat?: string;
  readonly turnId?: string;
  readonly toolCallId?: string;
}

/** A waiting message is taken back (AHP `chat/pendingMessageRemoved`). */
export interface ChatPendingMessageRemoved {
  readonly type: "chat/pendingMessageRemoved";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly kind: PendingMessageKind;
  readonly id: string;
}

/** A message waits; the same id again replaces it (AHP `chat/pendingMessageSet`). */
export interface ChatPendingMessageSet {
  readonly type: "chat/pendingMessageSet";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly kind: PendingMessageKind;
  readonly id: string;
  readonly message: Message;
}

/** Another order of the queued messages (AHP `chat/queuedMessagesReordered`). */
export interface ChatQueuedMessagesReordered {
  readonly type: "chat/queuedMessagesReordered";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly order: readonly string[];
  readonly held?: boolean;
}

/** More text for a reasoning part (AHP `chat/reasoning`). */
export interface ChatReasoning {
  readonly type: "chat/reasoning";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly partId: string;
  readonly content: string;
}

/** A new part of the answer (AHP `chat/responsePart`). */
export interface ChatResponsePart {
  readonly type: "chat/responsePart";
  readonly time?: number;
  readonly _meta?: JsonObject;
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

/** A chat as its session lists it (AHP `ChatSummary`). */
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

/** The tool has ended (AHP `chat/toolCallComplete`). */
export interface ChatToolCallComplete {
  readonly type: "chat/toolCallComplete";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly toolCallId: string;
  readonly result: ToolCallResult;
  readonly requiresResultConfirmation?: boolean;
}

/** The answer to the question whether a tool may run (AHP `chat/toolCallConfirmed`). */
export interface ChatToolCallConfirmed {
  readonly type: "chat/toolCallConfirmed";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly toolCallId: string;
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
export interface ChatToolCallContentChanged {
  readonly type: "chat/toolCallContentChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly toolCallId: string;
  readonly content: readonly ToolResultContent[];
}

/** More of the input, as the model writes it (AHP `chat/toolCallDelta`). */
export interface ChatToolCallDelta {
  readonly type: "chat/toolCallDelta";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly toolCallId: string;
  readonly content: string;
  readonly invocationMessage?: StringOrMarkdown;
}

/** The input is whole, or a running tool needs leave again (AHP `chat/toolCallReady`). */
export interface ChatToolCallReady {
  readonly type: "chat/toolCallReady";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly toolCallId: string;
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
export interface ChatToolCallResultConfirmed {
  readonly type: "chat/toolCallResultConfirmed";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly toolCallId: string;
  readonly approved: boolean;
}

/** A tool call begins (AHP `chat/toolCallStart`). Starting the same call again changes nothing. */
export interface ChatToolCallStart {
  readonly type: "chat/toolCallStart";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly contributor?: ToolCallContributor;
  readonly details?: ToolCallDetails;
}

/** The history is cut short; the running turn goes with it (AHP `chat/truncated`). */
export interface ChatTruncated {
  readonly type: "chat/truncated";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId?: string;
}

/** The turn was broken off (AHP `chat/turnCancelled`). */
export interface ChatTurnCancelled {
  readonly type: "chat/turnCancelled";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly stopReason?: string;
  readonly duration?: number;
  readonly holdQueue?: boolean;
}

/** The turn is over (AHP `chat/turnComplete`). */
export interface ChatTurnComplete {
  readonly type: "chat/turnComplete";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly stopReason?: string;
  readonly duration?: number;
}

/** A turn begins (AHP `chat/turnStarted`). Starting the same turn again changes nothing. */
export interface ChatTurnStarted {
  readonly type: "chat/turnStarted";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly message: Message;
  readonly queuedMessageId?: string;
  readonly startedAt?: string;
}

/** Tokens that the turn has used so far (AHP `chat/usage`). */
export interface ChatUsage {
  readonly type: "chat/usage";
  readonly time?: number;
  readonly _meta?: JsonObject;
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

/** Large content kept elsewhere (AHP `ResourceReponsePart`, kind `contentRef`). */
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

/** Ours: how full the model's context is (ACP `usage_update`). */
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

/** Ours: something about a table that a step changed and that may be a mistake. */
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

/** An action in its place (AHP `ActionEnvelope`; ours counts per channel). */
export interface Envelope {
  readonly channel: string;
  readonly first?: number;
  readonly index: number;
  readonly action: Action;
  readonly origin?: ActionOrigin;
  readonly rejectionReason?: string;
  readonly repeated?: boolean;
}

/** What went wrong (AHP `ErrorInfo`). */
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

/** A question of the agent, where it was put (AHP `InputRequestResponsePart`). */
export interface InputRequestResponsePart {
  readonly kind: "inputRequest";
  readonly request: ChatInputRequest;
  readonly response?: "accept" | "cancel" | "decline";
}

/** Text to be read as Markdown. */
export interface Markdown {
  readonly markdown: string;
}

/** Text of the answer, in Markdown; grows by `chat/delta` (AHP `MarkdownResponsePart`). */
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
export interface MessageAnnotationsAttachment {
  readonly type: "annotations";
  readonly label: string;
  readonly range?: TextRange;
  readonly displayKind?: string;
  readonly _meta?: JsonObject;
  readonly resource: string;
  readonly annotationIds?: readonly string[];
}

export type MessageAttachment =
  | SimpleMessageAttachment
  | MessageEmbeddedResourceAttachment
  | MessageResourceAttachment
  | MessageAnnotationsAttachment;

/** Bytes carried along in base64 (AHP `MessageEmbeddedResourceAttachment`). */
export interface MessageEmbeddedResourceAttachment {
  readonly type: "embeddedResource";
  readonly label: string;
  readonly range?: TextRange;
  readonly displayKind?: string;
  readonly _meta?: JsonObject;
  readonly data: string;
  readonly contentType: string;
  readonly selection?: TextSelection;
}

/** Who wrote a message (AHP `MessageOrigin`). */
export interface MessageOrigin {
  readonly kind: string;
}

/** A resource named by URI (AHP `MessageResourceAttachment`). */
export interface MessageResourceAttachment {
  readonly type: "resource";
  readonly label: string;
  readonly range?: TextRange;
  readonly displayKind?: string;
  readonly _meta?: JsonObject;
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

/** Ours: an update of a kind that we do not know, shown generically. */
export interface RawResponsePart {
  readonly kind: "x-agentnb/raw";
  readonly id: string;
  readonly name: string;
  readonly payload: unknown;
}

/** What the model thinks; grows by `chat/reasoning` (AHP `ReasoningResponsePart`). */
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
export interface RootActiveSessionsChanged {
  readonly type: "root/activeSessionsChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly activeSessions: number;
}

/** The agents that can be used (AHP `root/agentsChanged`). */
export interface RootAgentsChanged {
  readonly type: "root/agentsChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly agents: readonly AgentInfo[];
}

/** Settings of the host changed (AHP `root/configChanged`). */
export interface RootConfigChanged {
  readonly type: "root/configChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly config: JsonObject;
  readonly replace?: boolean;
}

/** Settings of the host: what there is, and what is chosen (AHP `RootConfigState`). */
export interface RootConfigState {
  readonly schema: JsonObject;
  readonly values: JsonObject;
}

/** What every client sees first (AHP `RootState`). */
export interface RootState {
  readonly agents: readonly AgentInfo[];
  readonly activeSessions?: number;
  readonly terminals?: readonly TerminalInfo[];
  readonly config?: RootConfigState;
  readonly _meta?: JsonObject;
  readonly sessions?: readonly SessionSummary[];
}

/** The terminals that there are (AHP `root/terminalsChanged`). */
export interface RootTerminalsChanged {
  readonly type: "root/terminalsChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
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

/** A client takes part no more (AHP `session/activeClientRemoved`). */
export interface SessionActiveClientRemoved {
  readonly type: "session/activeClientRemoved";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly clientId: string;
}

/** A client takes part, or its whole entry is replaced (AHP `session/activeClientSet`). */
export interface SessionActiveClientSet {
  readonly type: "session/activeClientSet";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly activeClient: JsonObject;
}

/** What the session is doing, for people; `None` for nothing (AHP `session/activityChanged`). */
export interface SessionActivityChanged {
  readonly type: "session/activityChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly activity?: string;
}

/** The sets of changes on offer (AHP `session/changesetsChanged`). */
export interface SessionChangesetsChanged {
  readonly type: "session/changesetsChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly changesets?: readonly Changeset[];
}

/** A chat was added, or its whole entry replaced (AHP `session/chatAdded`). */
export interface SessionChatAdded {
  readonly type: "session/chatAdded";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly summary: ChatSummary;
}

/** A chat is gone (AHP `session/chatRemoved`). */
export interface SessionChatRemoved {
  readonly type: "session/chatRemoved";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly chat: string;
}

/** Some fields of a chat's entry changed (AHP `session/chatUpdated`). */
export interface SessionChatUpdated {
  readonly type: "session/chatUpdated";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly chat: string;
  readonly changes: ChatSummaryChanges;
}

/** Settings changed (AHP `session/configChanged`). */
export interface SessionConfigChanged {
  readonly type: "session/configChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly config: JsonObject;
  readonly replace?: boolean;
}

/** Settings of a session: what there is, and what is chosen (AHP `SessionConfigState`). */
export interface SessionConfigState {
  readonly schema: JsonObject;
  readonly values: JsonObject;
}

/** The session did not come up (AHP `session/creationFailed`). */
export interface SessionCreationFailed {
  readonly type: "session/creationFailed";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly error: ErrorInfo;
}

/** A customization is gone, with what is in it, or one within another (AHP `session/customizationRemoved`). */
export interface SessionCustomizationRemoved {
  readonly type: "session/customizationRemoved";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly id: string;
}

/** A customization is on or off; not those within another (AHP `session/customizationToggled`). */
export interface SessionCustomizationToggled {
  readonly type: "session/customizationToggled";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly id: string;
  readonly enabled: boolean;
}

/** A customization, whole, in the place of the one with its id (AHP `session/customizationUpdated`). */
export interface SessionCustomizationUpdated {
  readonly type: "session/customizationUpdated";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly customization: JsonObject;
}

/** The customizations, all of them (AHP `session/customizationsChanged`). */
export interface SessionCustomizationsChanged {
  readonly type: "session/customizationsChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly customizations: readonly JsonObject[];
}

/** The chat that input goes to; `None` for none (AHP `session/defaultChatChanged`). */
export interface SessionDefaultChatChanged {
  readonly type: "session/defaultChatChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly defaultChat?: string;
}

/** Whether the session is put away (AHP `session/isArchivedChanged`). */
export interface SessionIsArchivedChanged {
  readonly type: "session/isArchivedChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly isArchived: boolean;
}

/** Whether the user has seen what is new (AHP `session/isReadChanged`). */
export interface SessionIsReadChanged {
  readonly type: "session/isReadChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly isRead: boolean;
}

/** An MCP server starts, serves, wants a login, fails or stops (AHP `session/mcpServerStateChanged`). */
export interface SessionMcpServerStateChanged {
  readonly type: "session/mcpServerStateChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly id: string;
  readonly state: JsonObject;
  readonly channel?: string;
}

export type SessionMemberAction =
  | SessionServerToolsChanged
  | SessionActiveClientSet
  | SessionActiveClientRemoved
  | SessionCustomizationsChanged
  | SessionCustomizationToggled
  | SessionCustomizationUpdated
  | SessionCustomizationRemoved
  | SessionMcpServerStateChanged;

/** The session's `_meta`, replaced by the action's own (AHP `session/metaChanged`). */
export interface SessionMetaChanged {
  readonly type: "session/metaChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
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
export interface SessionReady {
  readonly type: "session/ready";
  readonly time?: number;
  readonly _meta?: JsonObject;
}

/** The tools that the host offers, all of them (AHP `session/serverToolsChanged`). */
export interface SessionServerToolsChanged {
  readonly type: "session/serverToolsChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly tools: readonly JsonObject[];
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

/** A session as lists show it (AHP `SessionSummary`). */
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
export interface SessionTitleChanged {
  readonly type: "session/titleChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly title: string;
}

/** Text that goes to the model beside the message (AHP `SimpleMessageAttachment`). */
export interface SimpleMessageAttachment {
  readonly type: "simple";
  readonly label: string;
  readonly range?: TextRange;
  readonly displayKind?: string;
  readonly _meta?: JsonObject;
  readonly modelRepresentation?: string;
}

export type StringOrMarkdown = string | Markdown;

/** A word from the system (AHP `SystemNotificationResponsePart`). */
export interface SystemNotificationResponsePart {
  readonly kind: "systemNotification";
  readonly content: StringOrMarkdown;
}

export type TerminalAction =
  | TerminalData
  | TerminalInput
  | TerminalResized
  | TerminalClaimed
  | TerminalTitleChanged
  | TerminalCwdChanged
  | TerminalExited
  | TerminalCleared
  | TerminalCommandDetectionAvailable
  | TerminalCommandExecuted
  | TerminalCommandFinished;

/** Somebody else holds the terminal (AHP `terminal/claimed`). */
export interface TerminalClaimed {
  readonly type: "terminal/claimed";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly claim: JsonObject;
}

/** What was shown is gone (AHP `terminal/cleared`). */
export interface TerminalCleared {
  readonly type: "terminal/cleared";
  readonly time?: number;
  readonly _meta?: JsonObject;
}

/** From now on commands are told apart (AHP `terminal/commandDetectionAvailable`). */
export interface TerminalCommandDetectionAvailable {
  readonly type: "terminal/commandDetectionAvailable";
  readonly time?: number;
  readonly _meta?: JsonObject;
}

/** A command begins; what is printed now is its output (AHP `terminal/commandExecuted`). */
export interface TerminalCommandExecuted {
  readonly type: "terminal/commandExecuted";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly commandId: string;
  readonly commandLine: string;
  readonly timestamp: number;
}

/** A command has ended (AHP `terminal/commandFinished`). */
export interface TerminalCommandFinished {
  readonly type: "terminal/commandFinished";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly commandId: string;
  readonly exitCode?: number;
  readonly durationMs?: number;
}

/** A command and what it printed (AHP `TerminalCommandPart`). */
export interface TerminalCommandPart {
  readonly type: "command";
  readonly commandId: string;
  readonly commandLine: string;
  readonly output: string;
  readonly timestamp: number;
  readonly isComplete: boolean;
  readonly exitCode?: number;
  readonly durationMs?: number;
}

export type TerminalContentPart = TerminalUnclassifiedPart | TerminalCommandPart;

/** Another working directory, as URI (AHP `terminal/cwdChanged`). */
export interface TerminalCwdChanged {
  readonly type: "terminal/cwdChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly cwd: string;
}

/** The terminal printed something (AHP `terminal/data`). */
export interface TerminalData {
  readonly type: "terminal/data";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly data: string;
}

/** The process has ended (AHP `terminal/exited`). */
export interface TerminalExited {
  readonly type: "terminal/exited";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly exitCode?: number;
}

/** A terminal that the root lists (AHP `TerminalInfo`). */
export interface TerminalInfo {
  readonly resource: string;
  readonly title: string;
  readonly claim: JsonObject;
  readonly lifecycle: JsonObject;
}

/** Something was typed; what comes of it is printed (AHP `terminal/input`). */
export interface TerminalInput {
  readonly type: "terminal/input";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly data: string;
}

/** Another size, in characters and lines (AHP `terminal/resized`). */
export interface TerminalResized {
  readonly type: "terminal/resized";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly cols: number;
  readonly rows: number;
}

/** Everything about one terminal (AHP `TerminalState`). */
export interface TerminalState {
  readonly title: string;
  readonly cwd?: string;
  readonly cols?: number;
  readonly rows?: number;
  readonly content: readonly TerminalContentPart[];
  readonly lifecycle: JsonObject;
  readonly claim: JsonObject;
  readonly supportsCommandDetection?: boolean;
}

/** Another title (AHP `terminal/titleChanged`). */
export interface TerminalTitleChanged {
  readonly type: "terminal/titleChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly title: string;
}

/** Output outside of any command (AHP `TerminalUnclassifiedPart`). */
export interface TerminalUnclassifiedPart {
  readonly type: "unclassified";
  readonly value: string;
}

/** Ours: a terminal that the agent opened, as it is shown. */
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

/** It was not run, or its result not used (AHP `ToolCallCancelledState`). */
export interface ToolCallCancelledState {
  readonly status: "cancelled";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly contributor?: ToolCallContributor;
  readonly _meta?: JsonObject;
  readonly details?: ToolCallDetails;
  readonly invocationMessage: StringOrMarkdown;
  readonly toolInput?: string;
  readonly reason: string;
  readonly reasonMessage?: StringOrMarkdown;
  readonly userSuggestion?: Message;
  readonly selectedOption?: ConfirmationOption;
  readonly answeredBy?: Answerer;
}

/** Ours: what a tool call would do to a cell of an open notebook, which its page shows in the cell. */
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

/** Ours: one thing that a research found, and the place that shows it. */
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
export interface ToolCallCompletedState {
  readonly status: "completed";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly contributor?: ToolCallContributor;
  readonly _meta?: JsonObject;
  readonly details?: ToolCallDetails;
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

/** Where a tool comes from (AHP `ToolCallContributor`). */
export interface ToolCallContributor {
  readonly kind: string;
  readonly clientId?: string;
  readonly customizationId?: string;
}

/** Ours: what ACP says about a tool call and AHP has no field for. */
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

/** A file that a tool call works on (ACP `ToolCallLocation`). */
export interface ToolCallLocation {
  readonly path: string;
  readonly line?: number;
}

/** Someone must allow it (AHP `ToolCallPendingConfirmationState`). */
export interface ToolCallPendingConfirmationState {
  readonly status: "pending-confirmation";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly contributor?: ToolCallContributor;
  readonly _meta?: JsonObject;
  readonly details?: ToolCallDetails;
  readonly invocationMessage: StringOrMarkdown;
  readonly toolInput?: string;
  readonly confirmationTitle?: StringOrMarkdown;
  readonly edits?: JsonObject;
  readonly editable?: boolean;
  readonly options?: readonly ConfirmationOption[];
  readonly risk?: ToolCallRisk;
}

/** Someone must allow its result to be used (AHP `ToolCallPendingResultConfirmationState`). */
export interface ToolCallPendingResultConfirmationState {
  readonly status: "pending-result-confirmation";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly contributor?: ToolCallContributor;
  readonly _meta?: JsonObject;
  readonly details?: ToolCallDetails;
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

/** Ours: what code or a command did in a closed-in copy. Nothing of it has been done for real. */
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

/** Ours: the answer to a question about a package, which a kernel tool gave. */
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

/** How a tool call ended (AHP `ToolCallResult`). */
export interface ToolCallResult {
  readonly success: boolean;
  readonly pastTenseMessage: StringOrMarkdown;
  readonly content?: readonly ToolResultContent[];
  readonly structuredContent?: JsonObject;
  readonly error?: ToolCallError;
}

/** Ours: what the policy says about a tool call that must be allowed. */
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

/** It works (AHP `ToolCallRunningState`). */
export interface ToolCallRunningState {
  readonly status: "running";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly contributor?: ToolCallContributor;
  readonly _meta?: JsonObject;
  readonly details?: ToolCallDetails;
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
export interface ToolCallStreamingState {
  readonly status: "streaming";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly contributor?: ToolCallContributor;
  readonly _meta?: JsonObject;
  readonly details?: ToolCallDetails;
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

/** Ours: what a turn changed, in numbers; its change-set channel has the changes themselves. */
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
export interface XAgentChanged {
  readonly type: "x-agentnb/agentChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly agentProcess: AgentProcess;
}

/** Ours: the slash commands on offer (ACP `available_commands_update`). */
export interface XCommandsChanged {
  readonly type: "x-agentnb/commandsChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly commands: readonly AgentCommand[];
}

/** Ours: one config option got another value (ACP `session/set_config_option`). */
export interface XConfigOptionChosen {
  readonly type: "x-agentnb/configOptionChosen";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly configId: string;
  readonly value: unknown;
}

/** Ours: all config options with their values, as sent (ACP `config_option_update`). */
export interface XConfigOptionsChanged {
  readonly type: "x-agentnb/configOptionsChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly configOptions: readonly JsonObject[];
}

/** Ours: how full the model's context is (ACP `usage_update`). */
export interface XContextUsageChanged {
  readonly type: "x-agentnb/contextUsageChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly used: number;
  readonly size: number;
  readonly cost?: Cost;
}

/** Ours: an action on a turn that is already finished, as some agents go on talking. */
export interface XLate {
  readonly type: "x-agentnb/late";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly action: Action;
}

/** Ours: the mode in force, chosen by the agent or the user (ACP `current_mode_update`). */
export interface XModeChanged {
  readonly type: "x-agentnb/modeChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly modeId: string;
}

/** Ours: the modes on offer and the one in force (ACP `SessionModeState`). */
export interface XModesChanged {
  readonly type: "x-agentnb/modesChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly modes: SessionModes;
}

/** Ours: a part is taken back (ACP `plan_removed`). */
export interface XPartRemoved {
  readonly type: "x-agentnb/partRemoved";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly partId: string;
}

/** Ours: the agent's plan, new or replaced whole (ACP `plan`). */
export interface XPlanSet {
  readonly type: "x-agentnb/planSet";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly partId: string;
  readonly planId?: string;
  readonly entries: readonly PlanEntry[];
}

/** Ours: the prompts that the agent expects the user to send next (ACP `prompt_suggestions_update`). */
export interface XPromptSuggestionsChanged {
  readonly type: "x-agentnb/promptSuggestionsChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly suggestions: readonly string[];
}

/** Ours: a session was closed. */
export interface XSessionRemoved {
  readonly type: "x-agentnb/sessionRemoved";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly resource: string;
}

/** Ours: a session was opened, or its summary changed. */
export interface XSessionSet {
  readonly type: "x-agentnb/sessionSet";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly summary: SessionSummary;
}

/** Ours: a terminal printed something. */
export interface XTerminalData {
  readonly type: "x-agentnb/terminalData";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly terminalId: string;
  readonly data: string;
}

/** Ours: a terminal's program ended (ACP `TerminalExitStatus`). */
export interface XTerminalExited {
  readonly type: "x-agentnb/terminalExited";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly terminalId: string;
  readonly exitCode?: number;
  readonly signal?: string;
}

/** Ours: the agent opened a terminal (ACP `terminal/create`). */
export interface XTerminalOpened {
  readonly type: "x-agentnb/terminalOpened";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly terminal: TerminalView;
}

/** Ours: what ACP says beyond AHP, in whatever state the call is (ACP `tool_call_update`). */
export interface XToolCallDetailsChanged {
  readonly type: "x-agentnb/toolCallDetailsChanged";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly toolCallId: string;
  readonly displayName?: string;
  readonly details: ToolCallDetails;
}

/** Ours: what a finished turn changed, in numbers; the changes themselves are in its change-set channel. */
export interface XTurnChanges {
  readonly type: "x-agentnb/turnChanges";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly changes: TurnChanges;
}

/** Ours: more text for a user-message part (ACP `user_message_chunk`). */
export interface XUserMessageDelta {
  readonly type: "x-agentnb/userMessageDelta";
  readonly time?: number;
  readonly _meta?: JsonObject;
  readonly turnId: string;
  readonly partId: string;
  readonly content: string;
}
