/** The agent's plan: its steps and their progress. */
import type { ComponentChild } from "preact";
import { table } from "../../state/object";
import type { PlanResponsePart, ResponsePart } from "../../state/types.gen";
import { Fold } from "../fold";
import { Icon, Spinner } from "../icons";
import { Markdown } from "../markdown/markdown";
import { line, plain } from "../plain";
import { Content } from "./content";

const SAID: Record<string, string> = table({ completed: "done", in_progress: "in progress", pending: "pending" });

export function Plan({ id, part }: { id: string; part: PlanResponsePart }) {
  const done = part.entries.filter((entry) => entry.status === "completed").length;
  const progress = (
    <>
      <progress class="bar" value={done} max={Math.max(part.entries.length, 1)} aria-label="Plan progress" />
      <span class="dim">
        {done} of {part.entries.length}
      </span>
    </>
  );
  return (
    <PlanCard id={id} progress={progress}>
      <ol class="list steps">
        {part.entries.map((entry, index) => (
          <li key={index} class={`step${STEPS.has(entry.status) ? ` is-${entry.status}` : ""}`}>
            <StepMark status={entry.status} />
            <span class="step-text">{line(entry.content, 2000)}</span>
            {entry.priority === "high" && <span class="chip">high</span>}
            <span class="sr-only">{SAID[entry.status] ?? plain(entry.status)}</span>
          </li>
        ))}
      </ol>
    </PlanCard>
  );
}

function PlanCard({ id, progress, children }: { id: string; progress?: ComponentChild; children: ComponentChild }) {
  const head = (
    <>
      <Icon name="plan" />
      <span class="label">Plan</span>
      {progress}
    </>
  );
  return (
    <Fold id={id} className="card plan" open head={head}>
      {children}
    </Fold>
  );
}

const STEPS = new Set(["completed", "in_progress", "pending"]);

function StepMark({ status }: { status: string }) {
  if (status === "completed") return <Icon name="check" className="good" />;
  if (status === "in_progress") return <Spinner />;
  return <span class="ring" aria-hidden="true" />;
}

/** A plan that is one text or one file (ACP `plan_update` of type `markdown` or `file`). */
export interface Written {
  planId: string;
  content?: string;
  uri?: string;
}

export function writtenPlan(part: ResponsePart): Written | undefined {
  if (part.kind !== "x-agentnb/raw" || part.name !== "plan_update") return undefined;
  const { plan } = (part.payload ?? {}) as { plan?: Record<string, unknown> };
  if (plan === undefined || plan === null) return undefined;
  const planId = String(plan.planId ?? "");
  if (plan.type === "markdown" && typeof plan.content === "string") return { planId, content: plan.content };
  return plan.type === "file" && typeof plan.uri === "string" ? { planId, uri: plan.uri } : undefined;
}

export function WrittenPlan({ id, plan }: { id: string; plan: Written }) {
  if (plan.uri !== undefined)
    return <Content id={id} block={{ type: "resource_link", uri: plan.uri, title: `Plan: ${plan.uri}` }} />;
  return (
    <PlanCard id={id}>
      <Markdown text={plan.content ?? ""} />
    </PlanCard>
  );
}
