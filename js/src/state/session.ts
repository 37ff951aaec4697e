/** Reduces a session channel. */
import { changed, defined, put, upsert, without } from "./change.ts";
import { byType } from "./reducers.ts";
import { SessionStatus } from "./tables.gen.ts";
import type {
  SessionAction,
  SessionChatRemoved,
  SessionChatUpdated,
  SessionConfigChanged,
  SessionState,
  XConfigOptionChosen,
} from "./types.gen.ts";

function flag(state: SessionState, bit: number, on: boolean): SessionState {
  return changed(state, { status: on ? state.status | bit : state.status & ~bit });
}

function configChanged(state: SessionState, action: SessionConfigChanged): SessionState {
  if (state.config === undefined) return state;
  const values = action.replace ? action.config : { ...state.config.values, ...action.config };
  return changed(state, { config: changed(state.config, { values }) });
}

function chatRemoved(state: SessionState, { chat }: SessionChatRemoved): SessionState {
  const chats = without(state.chats, "resource", chat);
  if (chats === state.chats) return state;
  return changed(state, { chats, defaultChat: state.defaultChat === chat ? undefined : state.defaultChat });
}

function chatUpdated(state: SessionState, action: SessionChatUpdated): SessionState {
  const at = state.chats.findIndex((chat) => chat.resource === action.chat);
  const old = state.chats[at];
  if (old === undefined) return state;
  const chat = changed(old, { ...defined({ ...action.changes }), resource: old.resource });
  return chat === old ? state : changed(state, { chats: put(state.chats, at, chat) });
}

function configOptionChosen(state: SessionState, action: XConfigOptionChosen): SessionState {
  const options = state.configOptions ?? [];
  const at = options.findIndex((option) => option.id === action.configId);
  if (at < 0) return state;
  return changed(state, { configOptions: put(options, at, { ...options[at], currentValue: action.value }) });
}

/** A session after an action; the very same object when nothing has changed. */
export const reduceSession = byType<SessionState, SessionAction, "session">("session", {
  "session/ready": (state) => changed(state, { lifecycle: "ready" }),
  "session/creationFailed": (state, { error }) => changed(state, { lifecycle: "failed", creationError: error }),
  "session/isReadChanged": (state, { isRead }) => flag(state, SessionStatus.IS_READ, isRead),
  "session/isArchivedChanged": (state, { isArchived }) => flag(state, SessionStatus.IS_ARCHIVED, isArchived),
  "session/configChanged": configChanged,
  "session/chatAdded": (state, action) => changed(state, { chats: upsert(state.chats, action.summary, "resource") }),
  "session/chatRemoved": chatRemoved,
  "session/chatUpdated": chatUpdated,
  "x-agentnb/modeChanged": (state, { modeId }) => {
    const modes = state.modes ?? { currentModeId: modeId, availableModes: [] };
    return changed(state, { modes: changed(modes, { currentModeId: modeId }) });
  },
  "x-agentnb/configOptionChosen": configOptionChosen,
  "x-agentnb/contextUsageChanged": (state, { used, size, cost }) =>
    changed(state, { contextUsage: defined({ used, size, cost }) }),
});
