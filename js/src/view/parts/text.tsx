/** A text that its sender marked as plain or as markdown (AHP `StringOrMarkdown`). */
import type { StringOrMarkdown } from "../../state/types.gen";
import { Markdown } from "../markdown/markdown";
import { plain } from "../plain";
import { LongText } from "./long-text";

export function textOf(text: StringOrMarkdown | undefined | null): string {
  if (text === undefined || text === null) return "";
  return typeof text === "string" ? text : String(text.markdown ?? "");
}

export function Text({ text }: { text: StringOrMarkdown }) {
  return typeof text === "string" ? (
    <span class="plain">
      <LongText text={text} draw={plain} />
    </span>
  ) : (
    <Markdown text={textOf(text)} />
  );
}
