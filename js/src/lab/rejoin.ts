/**
 * Finds the chat of a kernel that already has agentnb, while a cell runs there: after a reload of the page.
 *
 * An execution request waits for the cell, and so does the kernel's information about its features. Opening a comm does
 * not: a subshell takes it (ipykernel 7), or the cell itself while it awaits (`%agent`, any ipykernel). The answer
 * includes the models, which the page would otherwise have to request (agentnb/server/comm/frontend.py).
 */
import type { Manager } from "@jupyter-widgets/jupyterlab-manager";
import type { Kernel, Message } from "@jupyterlab/services";
import { isObject } from "../state/object";
import { uuid } from "../view/identity";
import { execute } from "./boot";
import { knowsSubshells, onSubshell, rememberSubshell, subshellOf } from "./subshell";

const TARGET = "agentnb.rejoin";
const SUBSHELL_MS = 1_500;
const MODEL_MS = 20_000;
const LOOK_MS = 100;

export interface SentModel {
  id: string;
  state: Record<string, unknown>;
}

export interface Rejoined {
  modelId: string;
  models: SentModel[];
}

/** Reads the kernel's answer; undefined if it is not one of ours. */
export function readRejoin(data: unknown): Rejoined | undefined {
  if (!isObject(data) || typeof data.modelId !== "string" || !Array.isArray(data.models)) return undefined;
  const models = data.models.filter((one) => isObject(one) && typeof one.id === "string" && isObject(one.state));
  return { modelId: data.modelId, models };
}

/** Resolves when the kernel answers, which may be soon, at the running cell's end, or never. */
export async function rejoin(kernel: Kernel): Promise<Rejoined> {
  const subshell = subshellOf(kernel) ?? (await newSubshell(kernel));
  return new Promise((resolve, reject) => {
    const ask = (refused: () => void): void => {
      const comm = kernel.createComm(TARGET);
      comm.onMsg = ({ content }) => {
        const answer = readRejoin(content.data);
        if (answer) resolve(answer);
      };
      comm.onClose = refused;
      onSubshell(kernel, subshell, () => comm.open({}));
    };
    // A kernel without this target has not loaded agentnb. The usual request loads it, unless a cell blocks it.
    ask(() => {
      if (subshell !== undefined) execute(kernel, subshell).then(() => ask(() => {}), reject);
    });
  });
}

/** Adds the models to the page, as if it had been open when they were made. */
export async function adopt(manager: Manager, models: readonly SentModel[]): Promise<void> {
  for (const { id, state } of models) {
    if (manager.has_model(id)) continue;
    // An existing comm belongs to a model that the manager is just making: `modelOf` waits for it.
    const comm = await manager._create_comm("jupyter.widget", id).catch(() => undefined);
    if (!comm) continue;
    const { _model_name, _model_module, _model_module_version } = state;
    const named = { model_name: _model_name, model_module: _model_module, model_module_version: _model_module_version };
    await manager.new_model({ ...named, model_id: id, comm }, state);
  }
}

/** Returns a model that this page does not know yet, after it has requested all models from the kernel. */
export async function modelOf(manager: Manager, notebook: unknown, id: string) {
  let failure: unknown;
  await manager.restoreWidgets(notebook as never, { loadKernel: true, loadNotebook: false }).catch((error: unknown) => {
    failure = error; // such as "Comm is already created": the manager began to make it when the kernel came back
  });
  const until = Date.now() + MODEL_MS;
  while (!manager.has_model(id) && failure && Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  if (!manager.has_model(id) && failure) throw failure;
  return manager.get_model(id);
}

/**
 * Uses the control channel, which no cell blocks; JupyterLab's own request first needs to know that it is supported.
 */
async function newSubshell(kernel: Kernel): Promise<string | undefined> {
  if (!knowsSubshells(kernel)) return undefined;
  const header = {
    msg_id: uuid(),
    msg_type: "create_subshell_request",
    session: kernel.clientId,
    username: kernel.username,
    date: new Date().toISOString(),
    version: "5.4",
  };
  const request = { channel: "control", header, parent_header: {}, metadata: {}, content: {}, buffers: [] };
  const none = new Promise<undefined>((resolve) => setTimeout(resolve, SUBSHELL_MS));
  const future = kernel.sendControlMessage(request, true, true);
  const reply: Message | undefined = await Promise.race([future.done.catch(() => undefined), none]);
  const made = reply?.content.subshell_id;
  if (typeof made !== "string") return undefined;
  rememberSubshell(kernel, made);
  return made;
}
