/** Written by scripts/gen_types.py from agentnb/state: change that, then run `make types`. */

/** The versions of the protocol that the page speaks. */
export const WINDOW = { oldest: 3, current: 3 } as const;

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
  "chat/toolCallStart": "turnId toolCallId toolName displayName",
  "chat/toolCallDelta": "turnId toolCallId content",
  "chat/toolCallReady": "turnId toolCallId",
  "chat/toolCallConfirmed": "turnId toolCallId approved:boolean",
  "chat/toolCallComplete": "turnId toolCallId result:object",
  "chat/toolCallResultConfirmed": "turnId toolCallId approved:boolean",
  "chat/toolCallContentChanged": "turnId toolCallId content:array",
  "x-agentnb/toolCallDetailsChanged": "turnId toolCallId details:object",
  "chat/delta": "turnId partId content",
  "chat/reasoning": "turnId partId content",
  "chat/responsePart": "turnId part:object",
  "chat/usage": "turnId usage:object",
  "x-agentnb/planSet": "turnId partId entries:array",
  "x-agentnb/partRemoved": "turnId partId",
  "x-agentnb/userMessageDelta": "turnId partId content",
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

/** The actions that are reduced by steps: a verb, the state's field, and what else the verb needs. */
export const ROWS = {
  root: {
    "root/agentsChanged": [["set", "agents", "agents"]],
    "root/activeSessionsChanged": [["set", "activeSessions", "activeSessions"]],
    "root/terminalsChanged": [["set", "terminals", "terminals"]],
    "root/configChanged": [["merge", "config"]],
    "x-agentnb/sessionSet": [["upsert", "sessions", "summary", "resource"]],
    "x-agentnb/sessionRemoved": [["remove", "sessions", "resource", "resource"]],
  },
  session: {
    "session/serverToolsChanged": [["set", "serverTools", "tools"]],
    "session/customizationsChanged": [["set", "customizations", "customizations"]],
    "session/titleChanged": [["set", "title", "title"]],
    "session/activityChanged": [["set", "activity", "activity"]],
    "session/metaChanged": [["set", "_meta", "_meta"]],
    "session/defaultChatChanged": [["set", "defaultChat", "defaultChat"]],
    "session/changesetsChanged": [["set", "changesets", "changesets"]],
    "session/ready": [["value", "lifecycle", "ready"]],
    "session/creationFailed": [["value", "lifecycle", "failed"], ["set", "creationError", "error"]],
    "session/isReadChanged": [["flag", "status", "isRead", 32]],
    "session/isArchivedChanged": [["flag", "status", "isArchived", 64]],
    "session/configChanged": [["merge", "config"]],
    "session/chatAdded": [["upsert", "chats", "summary", "resource"]],
    "x-agentnb/commandsChanged": [["set", "commands", "commands"]],
    "x-agentnb/modesChanged": [["set", "modes", "modes"]],
    "x-agentnb/configOptionsChanged": [["set", "configOptions", "configOptions"]],
    "x-agentnb/agentChanged": [["set", "agentProcess", "agentProcess"]],
  },
  chat: {},
  changeset: {
    "changeset/statusChanged": [["set", "status", "status"], ["set", "error", "error"]],
    "changeset/operationsChanged": [["set", "operations", "operations"]],
    "changeset/fileSet": [["upsert", "files", "file", "id"]],
    "changeset/fileRemoved": [["remove", "files", "fileId", "id"]],
    "changeset/cleared": [["value", "files", []]],
  },
} as const;
