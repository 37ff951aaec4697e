/** Helpers to change frozen objects in reducers: a change without effect returns the same object. */

type Fields = Record<string, unknown>;

/** True if two values are the same on the wire; an undefined field is absent. */
export function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => same(item, b[i]));
  return !Array.isArray(b) && sameFields(a as Fields, b as Fields);
}

function sameFields(a: Fields, b: Fields): boolean {
  const names = Object.keys(a).filter((name) => a[name] !== undefined);
  if (names.length !== Object.values(b).filter((value) => value !== undefined).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && same(a[name], b[name]));
}

/** Returns the object with these fields; the same object if it already has them. Undefined removes a field. */
export function changed<T extends object>(object: T, fields: Partial<T>): T {
  let next: T | undefined;
  for (const name of Object.keys(fields) as (keyof T)[]) {
    if (same(object[name], fields[name])) continue;
    next ??= { ...object };
    if (fields[name] === undefined) delete next[name];
    else next[name] = fields[name] as T[keyof T];
  }
  return next ?? object;
}

/** Removes the undefined fields of a new object. */
export function defined<T extends object>(fields: T): T {
  for (const name of Object.keys(fields) as (keyof T)[]) if (fields[name] === undefined) delete fields[name];
  return fields;
}

/** Returns the items with one replaced; if `index` is their number, the item is added. */
export function put<T>(items: readonly T[], index: number, item: T): readonly T[] {
  const next = items.slice();
  next[index] = item;
  return next;
}

/** Returns the items with this one in place of the one with the same key, else at the end. */
export function upsert<K extends string, T extends { readonly [P in K]: string }>(
  items: readonly T[] | undefined,
  item: T,
  key: K,
): readonly T[] {
  if (items === undefined) return [item];
  const at = items.findIndex((other) => other[key] === item[key]);
  if (at < 0) return [...items, item];
  return same(items[at], item) ? items : put(items, at, item);
}

/** Returns the items without those whose key has this value; the same array if there are none. */
export function without<K extends string, T extends { readonly [P in K]: string }>(
  items: readonly T[],
  key: K,
  value: string,
): readonly T[] {
  const rest = items.filter((item) => item[key] !== value);
  return rest.length === items.length ? items : rest;
}

/** Returns the array, or undefined if it is empty. */
export function filled<T>(items: readonly T[]): readonly T[] | undefined {
  return items.length > 0 ? items : undefined;
}
