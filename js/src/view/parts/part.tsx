/** One part of an answer, by its kind. */

import type { ResponsePart } from "../../state/types.gen";
import { Icon } from "../icons";
import { Markdown } from "../markdown/markdown";
import { memo } from "../memo";
import { line } from "../plain";
import { Content, Raw } from "./content";
import { UserMessage } from "./message";
import { Plan, WrittenPlan, writtenPlan } from "./plan";
import { Reasoning } from "./reasoning";
import { Text } from "./text";
import { Tool } from "./tool";

interface Props {
  turnId: string;
  part: ResponsePart;
  index: number;
  /** True if the agent is writing this part now. */
  live: boolean;
  /** True if the part belongs to a run that folds into one line. */
  inRun?: boolean;
}

export function partKey(part: ResponsePart, index: number): string {
  if (part.kind === "toolCall") return `tool ${part.toolCall.toolCallId}`;
  return "id" in part && typeof part.id === "string" ? part.id : `at ${index}`;
}

/** Returns the id under which the view remembers whether a part is open. */
export function partId(turnId: string, part: ResponsePart, index: number): string {
  return `${turnId} ${part.kind === "toolCall" ? part.toolCall.toolCallId : partKey(part, index)}`;
}

export const Part = memo(({ turnId, part, index, live, inRun }: Props) => (
  <div
    class={`part part-${KNOWN.has(part.kind) ? part.kind.replace("x-agentnb/", "") : "unknown"}${inRun ? " in-run" : ""}`}
  >
    <PartBody turnId={turnId} part={part} index={index} live={live} />
  </div>
));

const KNOWN = new Set<string>([
  "markdown",
  "reasoning",
  "toolCall",
  "systemNotification",
  "contentRef",
  "x-agentnb/plan",
  "x-agentnb/content",
  "x-agentnb/userMessage",
  "x-agentnb/raw",
]);

function PartBody({ turnId, part, index, live }: Props) {
  const id = partId(turnId, part, index);
  switch (part.kind) {
    case "markdown":
      return <Markdown text={part.content} live={live} />;
    case "reasoning":
      return <Reasoning id={id} content={part.content} live={live} />;
    case "toolCall":
      return <Tool turnId={turnId} call={part.toolCall} />;
    case "systemNotification":
      return (
        <div class="notice">
          <Icon name="info" />
          <Text text={part.content} />
        </div>
      );
    case "contentRef":
      return <Content id={id} block={{ type: "resource_link", uri: part.uri, mimeType: part.contentType }} />;
    case "x-agentnb/plan":
      return <Plan id={id} part={part} />;
    case "x-agentnb/content":
      return <Content id={id} block={part.block} />;
    case "x-agentnb/userMessage":
      return <UserMessage message={{ text: part.content, origin: { kind: "user" } }} />;
    case "x-agentnb/raw": {
      const plan = writtenPlan(part);
      return plan ? (
        <WrittenPlan id={id} plan={plan} />
      ) : (
        <Raw id={id} name={line(part.name, 80)} payload={part.payload} />
      );
    }
    default:
      return <Raw id={id} name={line((part as { kind?: unknown }).kind ?? "part", 80)} payload={part} />;
  }
}
