/** Written by scripts/gen_types.py from agentnb/state: change that, then run `make types`. */

/** The versions of the protocol that the page speaks. */
export const WINDOW = { oldest: 1, current: 2 } as const;

/** Bits of a status (AHP `SessionStatus`). */
export const SessionStatus = {
  IDLE: 1,
  ERROR: 2,
  IN_PROGRESS: 8,
  INPUT_NEEDED: 24,
  IS_READ: 32,
  IS_ARCHIVED: 64,
} as const;

/** How many characters of a terminal's output the state keeps. */
export const OUTPUT_LIMIT = 65536;

/** The fields that actions must have, where they must: `name:type`, or `name` alone for a string. */
export const REQUIRED: Readonly<Record<string, string>> = {
  "root/agentsChanged": "agents:array",
  "root/activeSessionsChanged": "activeSessions:number",
  "root/terminalsChanged": "terminals:array",
  "root/configChanged": "config:object",
  "x-agentnb/sessionSet": "summary:object",
  "x-agentnb/sessionRemoved": "resource",
  "session/creationFailed": "error:object",
  "session/titleChanged": "title",
  "session/isReadChanged": "isRead:boolean",
  "session/isArchivedChanged": "isArchived:boolean",
  "session/configChanged": "config:object",
  "session/chatAdded": "summary:object",
  "session/chatRemoved": "chat",
  "session/chatUpdated": "chat changes:object",
  "x-agentnb/commandsChanged": "commands:array",
  "x-agentnb/modesChanged": "modes:object",
  "x-agentnb/modeChanged": "modeId",
  "x-agentnb/configOptionsChanged": "configOptions:array",
  "x-agentnb/configOptionChosen": "configId",
  "x-agentnb/contextUsageChanged": "used:number size:number",
  "x-agentnb/agentChanged": "agentProcess:object",
  "chat/delta": "turnId partId content",
  "chat/reasoning": "turnId partId content",
  "chat/responsePart": "turnId part:object",
  "chat/usage": "turnId usage:object",
  "x-agentnb/planSet": "turnId partId entries:array",
  "x-agentnb/partRemoved": "turnId partId",
  "x-agentnb/userMessageDelta": "turnId partId content",
  "chat/toolCallStart": "turnId toolCallId toolName displayName",
  "chat/toolCallDelta": "turnId toolCallId content",
  "chat/toolCallReady": "turnId toolCallId",
  "chat/toolCallConfirmed": "turnId toolCallId approved:boolean",
  "chat/toolCallComplete": "turnId toolCallId result:object",
  "chat/toolCallResultConfirmed": "turnId toolCallId approved:boolean",
  "chat/toolCallContentChanged": "turnId toolCallId content:array",
  "x-agentnb/toolCallDetailsChanged": "turnId toolCallId details:object",
  "chat/pendingMessageSet": "kind id message:object",
  "chat/pendingMessageRemoved": "kind id",
  "chat/queuedMessagesReordered": "order:array",
  "chat/inputRequested": "request:object",
  "chat/inputAnswerChanged": "requestId questionId",
  "chat/inputCompleted": "requestId response",
  "x-agentnb/late": "turnId action:object",
  "x-agentnb/terminalOpened": "terminal:object",
  "x-agentnb/terminalData": "terminalId data",
  "x-agentnb/terminalExited": "terminalId",
  "chat/turnStarted": "turnId message:object",
  "chat/turnComplete": "turnId",
  "chat/turnCancelled": "turnId",
  "chat/error": "turnId part:object",
  "x-agentnb/turnChanges": "turnId changes:object",
  "x-agentnb/promptSuggestionsChanged": "suggestions:array",
};

/** The actions that only set fields: the action's field for each of the state's, by channel. */
export const SETS = {
  root: {
    "root/agentsChanged": { agents: "agents" },
    "root/activeSessionsChanged": { activeSessions: "activeSessions" },
    "root/terminalsChanged": { terminals: "terminals" },
  },
  session: {
    "session/serverToolsChanged": { serverTools: "tools" },
    "session/customizationsChanged": { customizations: "customizations" },
    "session/titleChanged": { title: "title" },
    "session/activityChanged": { activity: "activity" },
    "session/metaChanged": { _meta: "_meta" },
    "session/defaultChatChanged": { defaultChat: "defaultChat" },
    "session/changesetsChanged": { changesets: "changesets" },
    "x-agentnb/commandsChanged": { commands: "commands" },
    "x-agentnb/modesChanged": { modes: "modes" },
    "x-agentnb/configOptionsChanged": { configOptions: "configOptions" },
    "x-agentnb/agentChanged": { agentProcess: "agentProcess" },
  },
  chat: {},
  terminal: {
    "terminal/resized": { cols: "cols", rows: "rows" },
    "terminal/claimed": { claim: "claim" },
    "terminal/titleChanged": { title: "title" },
    "terminal/cwdChanged": { cwd: "cwd" },
  },
  changeset: {
    "changeset/statusChanged": { status: "status", error: "error" },
    "changeset/operationsChanged": { operations: "operations" },
  },
} as const;
