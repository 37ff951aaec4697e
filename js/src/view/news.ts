/** Tells which of the things given to an agent are worth a line. */
import { isObject } from "../state/object";

/** Our own package and tools come with every access to the kernel. */
const OWN = new Set<unknown>(["package:jupyter-agentnb", "mcp:kernel"]);

export const isNews = (one: unknown): boolean => isObject(one) && !OWN.has(one.id);
