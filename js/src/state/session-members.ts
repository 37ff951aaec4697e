/**
 * Reduces what takes part in a session: clients, customizations, MCP servers. They are JSON, kept as sent.
 *
 * No view shows them: nothing but the tests imports this, and the bundle has none of it. The kernel sends a page the
 * session's state in the place of such an action.
 */
import { changed, put } from "./change.ts";
import { isObject } from "./guard.ts";
import { byType } from "./reducers.ts";
import { reduceSession } from "./session.ts";
import type {
  Action,
  JsonObject,
  SessionMcpServerStateChanged,
  SessionMemberAction,
  SessionState,
} from "./types.gen.ts";

const is = (item: unknown, key: string, value: unknown): boolean => isObject(item) && item[key] === value;

function upsert(items: readonly JsonObject[] = [], item: JsonObject, key: string): readonly JsonObject[] {
  const value = item[key];
  const at = typeof value === "string" ? items.findIndex((other) => is(other, key, value)) : -1;
  return put(items, at < 0 ? items.length : at, item);
}

const without = <T>(items: readonly T[], key: string, value: string): readonly T[] =>
  items.filter((item) => !is(item, key, value));

const withChildren = (item: JsonObject, change: (children: readonly unknown[]) => readonly unknown[]): JsonObject =>
  Array.isArray(item.children) ? { ...item, children: change(item.children) } : item;

function removed(items: readonly JsonObject[], id: string): readonly JsonObject[] {
  const rest = without(items, "id", id);
  return rest.length < items.length ? rest : items.map((item) => withChildren(item, (all) => without(all, "id", id)));
}

function served<T>(item: T, { id, state, channel }: SessionMcpServerStateChanged): T {
  if (!is(item, "id", id) || !is(item, "type", "mcpServer")) return item;
  const { channel: _, ...rest } = item as T & JsonObject;
  return { ...rest, state, ...(channel === undefined ? {} : { channel }) } as T;
}

const reduceMembers = byType<SessionState, SessionMemberAction, "session">("session", {
  "session/activeClientSet": (state, { activeClient }) =>
    changed(state, { activeClients: upsert(state.activeClients, activeClient, "clientId") }),
  "session/activeClientRemoved": (state, { clientId }) =>
    changed(state, { activeClients: state.activeClients && without(state.activeClients, "clientId", clientId) }),
  "session/customizationToggled": (state, { id, enabled }) => {
    const items = state.customizations ?? [];
    const at = items.findIndex((item) => is(item, "id", id));
    return at < 0 ? state : changed(state, { customizations: put(items, at, { ...items[at], enabled }) });
  },
  "session/customizationUpdated": (state, { customization }) =>
    changed(state, { customizations: upsert(state.customizations, customization, "id") }),
  "session/customizationRemoved": (state, { id }) =>
    changed(state, { customizations: state.customizations && removed(state.customizations, id) }),
  "session/mcpServerStateChanged": (state, action) =>
    changed(state, {
      customizations: state.customizations?.map((item) =>
        withChildren(served(item, action), (children) => children.map((child) => served(child, action))),
      ),
    }),
});

/** A session after any of its actions, these too. */
export const reduceWholeSession = (state: SessionState, action: Action): SessionState =>
  reduceMembers(reduceSession(state, action), action);
