/** Whether a value from the wire is an object. A file of its own: the JupyterLab extension needs no more of the guard. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
