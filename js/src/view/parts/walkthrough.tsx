/** The place of a walkthrough on its tool call: checks the steps, and fetches the module that draws them. */
import { isObject } from "../../state/object";
import type { ToolCallState } from "../../state/types.gen";
import type { Step, WalkthroughContext } from "../../walkthrough";
import { useOpenFile, useView } from "../context";
import { OnDemand } from "../on-demand";

const MOST_STEPS = 50;

/** Returns the walkthrough of a call; undefined if it has none or a malformed one: it came through an agent. */
export function walkthroughOf(call: ToolCallState): Pick<WalkthroughContext, "title" | "steps"> | undefined {
  const own = call._meta?.agentnb;
  const walkthrough = isObject(own) ? own.walkthrough : undefined;
  if (!isObject(walkthrough) || !Array.isArray(walkthrough.steps)) return undefined;
  const steps = walkthrough.steps.slice(0, MOST_STEPS).filter(isObject).map(stepOf);
  return steps.length > 0 ? { title: text(walkthrough.title) ?? "", steps } : undefined;
}

const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

function stepOf(step: Record<string, unknown>): Step {
  const line = typeof step.line === "number" ? step.line : undefined;
  return { text: text(step.text) ?? "", place: text(step.place), cell: text(step.cell), file: text(step.file), line };
}

export function Walkthrough({ of }: { of: Pick<WalkthroughContext, "title" | "steps"> }) {
  const { store } = useView();
  const openFile = useOpenFile();
  const { notebook } = store;
  const show = ({ cell, file, line }: Step) => {
    if (cell !== undefined) notebook?.showCell?.(cell);
    else if (file !== undefined) openFile?.(file, line);
  };
  const context: WalkthroughContext = { ...of, show: notebook?.showCell ? show : undefined };
  return <OnDemand name="walkthrough" what="the walkthrough" context={context} />;
}
