import { describe, expect, it } from "vitest";
import { readBoot } from "../../src/lab/boot";

const answer = (agentnb: unknown, python = "'/usr/bin/python3'") => ({
  status: "ok",
  user_expressions: { agentnb, python: { status: "ok", data: { "text/plain": python } } },
});
const error = (ename: string, evalue: string) => ({ status: "error", ename, evalue });

describe("the kernel's answer to the sidebar", () => {
  it("names the model to show", () => {
    const json = { modelId: "m1", version: "1.2.3" };
    const read = readBoot(answer({ status: "ok", data: { "application/json": json, "text/plain": "agentnb" } }));
    expect(read).toEqual({ state: "loaded", modelId: "m1", version: "1.2.3" });
  });

  it("reports that agentnb is missing, with the path of Python", () => {
    const read = readBoot(
      answer(error("ModuleNotFoundError", "No module named 'agentnb'"), `'C:\\\\Py\\\\python.exe'`),
    );
    expect(read).toEqual({ state: "missing", python: "C:\\Py\\python.exe" });
  });

  it("distinguishes an old or foreign agentnb from a missing one", () => {
    const read = readBoot(answer(error("ModuleNotFoundError", "No module named 'agentnb.ipython.lab'")));
    expect(read).toMatchObject({ state: "failed", reason: expect.stringContaining("%pip uninstall --yes agentnb") });
  });

  it.each([
    ["another module", answer(error("ModuleNotFoundError", "No module named 'anywidget'")), "'anywidget'"],
    ["any other error", answer(error("AgentnbError", "The front end is missing")), "The front end is missing"],
    ["an aborted request", { status: "aborted" }, "aborted"],
    ["no expressions", { status: "ok" }, "didn't report"],
    ["an answer of another kind", answer({ status: "ok", data: { "text/plain": "1" } }), "different versions"],
  ])("fails with the reason: %s", (_, content, reason) => {
    expect(readBoot(content)).toMatchObject({ state: "failed", reason: expect.stringContaining(reason) });
  });
});
