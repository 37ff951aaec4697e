/** What objects from the wire need. A file of its own: the JupyterLab extension needs no more of the guard. */

/** Whether a value from the wire is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * A table that may be looked up by any word of an agent, a file or the kernel.
 *
 * It has its own entries alone: what all objects inherit (`constructor`, `__proto__`) is not found in it. Preact would
 * write into the object that `__proto__` is, were it drawn, and with that into all objects of the page.
 */
export function table<T extends object>(entries: T): Readonly<T> {
  return Object.freeze(Object.assign(Object.create(null), entries));
}

/** The entry of an object by any word; undefined where it is not the object's own. */
export function own<T>(entries: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(entries, name) ? entries[name] : undefined;
}
