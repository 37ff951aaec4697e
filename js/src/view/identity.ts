/** Makes ids, and derives channel names from each other. */
import { isObject } from "../state/object.ts";
import type { RootState } from "../state/types.gen.ts";

export const ROOT = "ahp-root://";
const CHAT = "/chat";
/** The suffix of a session's channel in the channels of its chat and its change sets. */
const MEMBER = /\/(?:chat|changes(?:\/[^/]*)?)$/;
const CHANGES = /\/changes(?:\/[^/]*)?$/;

/** Returns a UUID v4; `crypto.randomUUID` exists only in secure contexts, so not on a hub over plain http. */
export function uuid(): string {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Returns the session of a chat or a change set. */
export function sessionChannel(channel: string): string {
  return channel.replace(MEMBER, "");
}

/** Returns the change set of a turn, or of the whole conversation. */
export function changesChannel(session: string, turnId?: string): string {
  return `${session}/changes${turnId === undefined ? "" : `/${turnId}`}`;
}

export function isChanges(channel: string): boolean {
  return CHANGES.test(channel);
}

export function chatChannel(channel: string): string {
  return channel.endsWith(CHAT) ? channel : channel + CHAT;
}

/** True if the session at `resource` is the tab called `tab` (a tab id, or its channel). */
export function isTab(resource: string, tab: string): boolean {
  return resource === sessionChannel(tab) || resource.endsWith(`:/${tab}`);
}

/** True if no agent answers here: a program elsewhere, or the notebook itself (agentnb/host/pairing.py). */
export function isReadOnly(provider: string): boolean {
  return /^(?:terminal|remote|notebook)-/.test(provider);
}

/** True if the conversations belong to another host, which this page's own kernel is connected to. */
export function isRemote(root: RootState | undefined): boolean {
  return isObject(root?.config?.values.remoteHost);
}

/** Returns the settings of the chat's look and behaviour. */
export function lookOf(root: RootState | undefined): Readonly<Record<string, unknown>> {
  const look = root?.config?.values.look;
  return isObject(look) ? look : {};
}

export function provider(channel: string): string {
  return channel.slice(0, Math.max(0, channel.indexOf(":")));
}
