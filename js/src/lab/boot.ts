/** Loads agentnb in a kernel, quietly: nothing in the history, nothing in an output, even while a cell runs. */
import type { Kernel, Message } from "@jupyterlab/services";
import { isObject } from "../state/object";
import { onSubshell, rememberSubshell, subshellOf } from "./subshell";

const BOOT = "__import__('agentnb.ipython.lab', fromlist=['boot']).boot()";
const EVENTS = "__import__('IPython').get_ipython().events";
/**
 * IPython ends every request, a silent one too, with its `post_execute` event, and matplotlib's inline back end then
 * shows and closes all figures: also the one that a cell is still drawing on another shell. On this thread none is told.
 */
const HUSH =
  "(lambda events, ident: setattr(events, 'trigger', (lambda here: lambda *event, **more: " +
  "None if ident() == here else type(events).trigger(events, *event, **more))(ident())))" +
  `(${EVENTS}, __import__('threading').get_ident)`;
const UNHUSH = `vars(${EVENTS}).pop('trigger', None) and None`;
const EXPRESSIONS = { unhush: UNHUSH, agentnb: BOOT, python: "__import__('sys').executable" };

export type Boot =
  | { state: "loaded"; modelId: string; version: string }
  /** `python`: the kernel's interpreter, if it said. */
  | { state: "missing"; python: string }
  | { state: "failed"; reason: string };

/** Reads the kernel's answer. */
export function readBoot(content: Record<string, unknown>): Boot {
  if (content.status !== "ok") return failed(content);
  const values = isObject(content.user_expressions) ? content.user_expressions : {};
  const value = values.agentnb;
  if (!isObject(value)) return { state: "failed", reason: "The kernel didn't report whether agentnb is installed." };
  if (value.status !== "ok") return refused(value, text(values.python));
  const answer = isObject(value.data) ? value.data["application/json"] : undefined;
  if (!isObject(answer) || typeof answer.modelId !== "string")
    return { state: "failed", reason: "The page and the kernel use different versions of agentnb." };
  return { state: "loaded", modelId: answer.modelId, version: String(answer.version ?? "") };
}

function refused(value: Record<string, unknown>, python: string): Boot {
  const reason = String(value.evalue ?? "");
  if (value.ename !== "ModuleNotFoundError") return failed(value);
  if (/'agentnb'/.test(reason)) return { state: "missing", python };
  if (/'agentnb\./.test(reason))
    return {
      state: "failed",
      reason:
        "The kernel's agentnb is another project's, or older than this page's. In a cell: %pip uninstall --yes agentnb, " +
        "then %pip install --force-reinstall jupyter-agentnb, then restart the kernel.",
    };
  return failed(value);
}

function failed(value: Record<string, unknown>): Boot {
  const name = String(value.ename ?? value.status ?? "error");
  return { state: "failed", reason: value.evalue ? `${name}: ${value.evalue}` : name };
}

/** A string as Python's `repr` writes it, read back. */
function text(value: unknown): string {
  const shown = isObject(value) && isObject(value.data) ? value.data["text/plain"] : "";
  const inside = typeof shown === "string" ? /^(['"])(.*)\1$/s.exec(shown)?.[2] : undefined;
  return inside?.replace(/\\(.)/g, "$1") ?? "";
}

/**
 * Asks the kernel, on a second shell where it can have one: there no cell is in the way, now or later, because what the
 * chat then says comes in on that shell, too.
 */
export async function boot(kernel: Kernel): Promise<Boot> {
  const aside = kernel.supportsSubshells ? await bootAside(kernel).catch(() => undefined) : undefined;
  if (aside) return aside;
  return readBoot((await execute(kernel)).content);
}

/** The subshell is never deleted, what is bound to it would fall silent; a page that is loaded again finds it again. */
async function bootAside(kernel: Kernel): Promise<Boot | undefined> {
  const known = subshellOf(kernel);
  const again = known === undefined ? undefined : (await execute(kernel, known)).content;
  if (again?.status === "ok") return readBoot(again);
  const made = (await kernel.requestCreateSubshell({}).done).content.subshell_id;
  if (typeof made !== "string") return undefined;
  rememberSubshell(kernel, made);
  return readBoot((await execute(kernel, made)).content);
}

/** Loads agentnb there; without a subshell, where cells run. */
export function execute(
  kernel: Kernel,
  subshell?: string,
  expressions: Record<string, string> = EXPRESSIONS,
): Promise<Message> {
  const content = {
    code: subshell === undefined ? "" : HUSH,
    silent: true,
    store_history: false,
    allow_stdin: false,
    stop_on_error: false,
    user_expressions: expressions,
  };
  return onSubshell(kernel, subshell, () => kernel.requestExecute(content).done);
}
