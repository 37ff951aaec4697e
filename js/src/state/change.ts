/** How reducers change frozen things: a change that changes nothing gives back the very same object. */

type Fields = Record<string, unknown>;

/** Whether two values are the same on the wire; a field that is undefined is absent. */
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

/** The object with these fields; the same object when it has them already. Undefined takes a field away. */
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

/** A new object without the fields that are undefined. */
export function defined<T extends object>(fields: T): T {
  for (const name of Object.keys(fields) as (keyof T)[]) if (fields[name] === undefined) delete fields[name];
  return fields;
}

/** The items with one of them replaced; `index` may be their number, then it is added. */
export function put<T>(items: readonly T[], index: number, item: T): readonly T[] {
  const next = items.slice();
  next[index] = item;
  return next;
}

/** The items with this one in the place of the one with the same key, else at the end. */
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

/** The items but for those whose key is this value; the same array when there are none. */
export function without<K extends string, T extends { readonly [P in K]: string }>(
  items: readonly T[],
  key: K,
  value: string,
): readonly T[] {
  const rest = items.filter((item) => item[key] !== value);
  return rest.length === items.length ? items : rest;
}

/** The array, or undefined when there is nothing in it. */
export function filled<T>(items: readonly T[]): readonly T[] | undefined {
  return items.length > 0 ? items : undefined;
}
