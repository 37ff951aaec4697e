/** Which code opened this page. It leaves the address at once, so that no history has it; a reload finds it in this tab. */
import type { Access } from "./connection";

const KEY = "agentnb-phone";
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** The access that the address, or this tab, has; undefined where neither has one. */
export function takeAccess(): Access | undefined {
  const token = location.hash.slice(1);
  history.replaceState(null, "", location.pathname + location.search);
  if (TOKEN.test(token)) {
    const access = { token, clientId: newId() };
    sessionStorage.setItem(KEY, JSON.stringify(access));
    return access;
  }
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "") as Partial<Access>;
    if (typeof kept.token === "string" && typeof kept.clientId === "string") return kept as Access;
  } catch {
    // Nothing, or nonsense, is kept.
  }
  return undefined;
}

/** Nothing of it is kept: it is of no use any more. */
export function forgetAccess(): void {
  sessionStorage.removeItem(KEY);
}

/** Not `crypto.randomUUID`: that is there on encrypted pages only. */
function newId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
