/** Checks the kernel's answers against the forms of its structs. */
import { isEnvelope } from "./guard.ts";
import { isObject, own, table } from "./object.ts";
import { ANSWERS, FORMS, type Requests } from "./requests.gen.ts";

export type RequestName = keyof Requests;
export type Params<M extends RequestName> = Requests[M]["params"];
export type Answer<M extends RequestName> = Requests[M]["result"];

export type KernelAccess = NonNullable<Params<"createSession">["kernel"]>;

/** Sends a request to the kernel; an answer of another form is an error. */
export type Request = <M extends RequestName>(method: M, params: Params<M>) => Promise<Answer<M>>;

const KINDS: Readonly<Record<string, (value: unknown) => boolean>> = table({
  unknown: () => true,
  array: Array.isArray,
  object: isObject,
  integer: Number.isSafeInteger,
  count: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  Envelope: isEnvelope,
});

/** True if a value is of a kind: a form, a JSON type, one of several words (`=`), a list (`[]`) or table (`{}`). */
export function fits(value: unknown, kind: string): boolean {
  if (kind.endsWith("?")) return value === undefined || value === null || fits(value, kind.slice(0, -1));
  if (kind.endsWith("[]")) return Array.isArray(value) && value.every((item) => fits(item, kind.slice(0, -2)));
  if (kind.endsWith("{}"))
    return isObject(value) && Object.values(value).every((item) => fits(item, kind.slice(0, -2)));
  if (kind.startsWith("="))
    return kind
      .slice(1)
      .split("|")
      .includes(value as string);
  const form = own(FORMS, kind);
  if (form) return isObject(value) && Object.entries(form).every(([field, of]) => fits(value[field], of));
  return KINDS[kind]?.(value) ?? (kind === typeof value || (/^[A-Z]/.test(kind) && isObject(value)));
}

export const isAnswer = <M extends RequestName>(method: M, value: unknown): value is Answer<M> =>
  fits(value, ANSWERS[method] ?? "unknown"); // for a plug-in's request

/** Returns the answer; throws if it has another form. */
export function checked<M extends RequestName>(method: M, value: unknown): Answer<M> {
  if (isAnswer(method, value)) return value;
  throw new Error(
    `The kernel's answer to ${method} doesn't follow the protocol. Update agentnb and restart the kernel.`,
  );
}
