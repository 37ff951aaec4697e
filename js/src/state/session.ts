/** Reduces a session channel. */
import { changed, defined, put, without } from "./change.ts";
import { byType } from "./reducers.ts";
import type {
  SessionAction,
  SessionChatRemoved,
  SessionChatUpdated,
  SessionState,
  XConfigOptionChosen,
} from "./types.gen.ts";

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

/** A session after an action; the same object if nothing has changed. */
export const reduceSession = byType<SessionState, SessionAction, "session">("session", {
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
