/** What of the things that an agent is given is worth a line. */
import { isObject } from "../state/object";

/** Our own package and our own tools come with every access to the kernel. */
const OWN = new Set<unknown>(["package:jupyter-agentnb", "mcp:kernel"]);

export const isNews = (one: unknown): boolean => isObject(one) && !OWN.has(one.id);
