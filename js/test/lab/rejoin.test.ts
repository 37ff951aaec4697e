import type { Manager } from "@jupyter-widgets/jupyterlab-manager";
import type { Kernel } from "@jupyterlab/services";
import { describe, expect, it } from "vitest";
import { adopt, modelOf, readRejoin } from "../../src/lab/rejoin";
import { onSubshell } from "../../src/lab/subshell";

const state = { _model_name: "AnyModel", _model_module: "anywidget", _model_module_version: "~0.11" };

describe("rejoining a kernel's chat", () => {
  it("reads valid models and ignores everything else", () => {
    const models = [{ id: "layout", state: {} }, { id: 7, state: {} }, null];
    expect(readRejoin({ modelId: "host", models })).toEqual({ modelId: "host", models: [models[0]] });
    for (const other of [undefined, {}, { modelId: "host" }, { models: [] }]) expect(readRejoin(other)).toBeUndefined();
  });

  it("creates missing models on the kernel's existing comms", async () => {
    const made: unknown[] = [];
    const manager = {
      has_model: (id: string) => id === "layout",
      _create_comm: async (target: string, id: string, ...data: unknown[]) => ({ target, id, data }),
      new_model: async (options: unknown, modelState: unknown) => made.push([options, modelState]),
    } as unknown as Manager;
    await adopt(manager, [
      { id: "layout", state: {} },
      { id: "host", state },
    ]);
    const comm = { target: "jupyter.widget", id: "host", data: [] };
    const named = { model_name: "AnyModel", model_module: "anywidget", model_module_version: "~0.11" };
    expect(made).toEqual([[{ ...named, model_id: "host", comm }, state]]);
  });

  it("waits for a model that the manager is already creating", async () => {
    const made = new Set<string>();
    const taken = async (): Promise<never> => {
      throw new Error("Comm is already created");
    };
    const manager = {
      has_model: (id: string) => made.has(id),
      get_model: async (id: string) => `the model ${id}`,
      _create_comm: taken,
      restoreWidgets: async () => {
        setTimeout(() => made.add("host"), 50);
        return taken();
      },
    } as unknown as Manager;
    await adopt(manager, [{ id: "host", state }]);
    expect(await modelOf(manager, undefined, "host")).toBe("the model host");
  });

  it("uses the subshell only during the call, else the main shell", () => {
    const kernel = { subshellId: null } as unknown as Kernel;
    expect(onSubshell(kernel, "s1", () => kernel.subshellId)).toBe("s1");
    expect(kernel.subshellId).toBeNull();
    expect(onSubshell(kernel, undefined, () => kernel.subshellId)).toBeNull();
    expect(() =>
      onSubshell(kernel, "s1", () => {
        throw new Error("closed");
      }),
    ).toThrow("closed");
    expect(kernel.subshellId).toBeNull();
  });
});
