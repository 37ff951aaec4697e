/** Helpers for objects from the wire. In a separate file: the JupyterLab extension needs no more of the guard. */

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Returns a table that is safe to look up by any word of an agent, a file or the kernel.
 *
 * It has only its own entries, not what all objects inherit (`constructor`, `__proto__`). If Preact drew the object
 * behind `__proto__`, it would write into it, and so into all objects of the page.
 */
export function table<T extends object>(entries: T): Readonly<T> {
  return Object.freeze(Object.assign(Object.create(null), entries));
}

/** Returns the entry of an object by any word; undefined if it is not the object's own. */
export function own<T>(entries: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(entries, name) ? entries[name] : undefined;
}
