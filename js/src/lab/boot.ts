/** Loads agentnb in a kernel, without a trace in the history or outputs, even while a cell runs. */
import type { Kernel, Message } from "@jupyterlab/services";
import { isObject } from "../state/object";
import { onSubshell, rememberSubshell, subshellOf } from "./subshell";

const BOOT = "__import__('agentnb.ipython.lab', fromlist=['boot']).boot()";
const EVENTS = "__import__('IPython').get_ipython().events";
/**
 * IPython ends every request, even a silent one, with its `post_execute` event, and matplotlib's inline back end then
 * shows and closes all figures, even one that a cell is drawing on another shell. So events are off on this thread.
 */
const HUSH =
  "(lambda events, ident: setattr(events, 'trigger', (lambda here: lambda *event, **more: " +
  "None if ident() == here else type(events).trigger(events, *event, **more))(ident())))" +
  `(${EVENTS}, __import__('threading').get_ident)`;
const UNHUSH = `vars(${EVENTS}).pop('trigger', None) and None`;
const EXPRESSIONS = { unhush: UNHUSH, agentnb: BOOT, python: "__import__('sys').executable" };

export type Boot =
  | { state: "loaded"; modelId: string; version: string }
  /** `python`: the kernel's interpreter, or "". */
  | { state: "missing"; python: string }
  | { state: "failed"; reason: string };

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

/** Parses a string from Python's `repr`. */
function text(value: unknown): string {
  const repr = isObject(value) && isObject(value.data) ? value.data["text/plain"] : "";
  const inside = typeof repr === "string" ? /^(['"])(.*)\1$/s.exec(repr)?.[2] : undefined;
  return inside?.replace(/\\(.)/g, "$1") ?? "";
}

/**
 * Loads agentnb on a subshell, if the kernel supports them: a running cell blocks neither this nor the chat's later
 * messages, which use the same subshell.
 */
export async function boot(kernel: Kernel): Promise<Boot> {
  const aside = kernel.supportsSubshells ? await bootAside(kernel).catch(() => undefined) : undefined;
  if (aside) return aside;
  return readBoot((await execute(kernel)).content);
}

/** Never deletes the subshell: comms bound to it would stop working. A reloaded page uses it again. */
async function bootAside(kernel: Kernel): Promise<Boot | undefined> {
  const known = subshellOf(kernel);
  const again = known === undefined ? undefined : (await execute(kernel, known)).content;
  if (again?.status === "ok") return readBoot(again);
  const made = (await kernel.requestCreateSubshell({}).done).content.subshell_id;
  if (typeof made !== "string") return undefined;
  rememberSubshell(kernel, made);
  return readBoot((await execute(kernel, made)).content);
}

/** Evaluates expressions on the subshell; without one, where cells run. */
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
