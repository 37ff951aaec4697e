/** One question on the phone: agent, tool call, worst risk, difference, preview, and answers. */
import { button, element } from "../element";
import showPreview from "../preview";
import { isObject } from "../state/object";
import type { ToolCallPendingConfirmationState, ToolContent } from "../state/types.gen";
import { compare } from "../view/parts/line-diff";
import { line, plain, splitPath, worstOf } from "../view/plain";

export interface Turn {
  readonly channel: string;
  readonly turnId: string;
  readonly agent: string;
  readonly conversation: string;
}

export interface Question extends Turn {
  readonly call: ToolCallPendingConfirmationState;
  readonly isWhole: boolean;
}

/** The actions of the card's buttons; each shows why it fails. */
export interface Actions {
  answer(approved: boolean): void;
  preview(): void;
  stop(): void;
}

const NAMES = new Map([
  ["+", "added"],
  ["-", "removed"],
]);

/** The card, with a line for an error. */
export function card(question: Question, place: string, actions: Actions): HTMLElement {
  const { call, isWhole } = question;
  const isCritical = call.risk?.severity === "critical";
  const allow = button("Allow once", () => actions.answer(true), `button ${isCritical ? "danger" : "primary"}`);
  const reject = button("Reject", () => actions.answer(false), `button ${isCritical || !isWhole ? "primary" : ""}`);
  const trouble = element("p", { class: "trouble", role: "alert" });
  return element(
    "article",
    { class: "card", label: line(`${question.agent} asks: ${titleOf(call)}`, 200) },
    element("p", "who", whose(question, place)),
    risk(call),
    element("h2", "", titleOf(call)),
    ...says(call),
    ...input(call),
    ...differences(call),
    ...preview(call, actions),
    ...(isWhole ? [] : [element("p", "note", "It is too large to be shown here. Allow it in the notebook.")]),
    element(
      "div",
      "answers",
      ...(isWhole ? [allow] : []),
      reject,
      button("Stop", actions.stop, { class: "button", label: `Stop ${line(question.agent, 60)}` }),
    ),
    trouble,
  );
}

export function whose({ agent, conversation }: Turn, place: string): string {
  const { name } = splitPath(place);
  return [agent, conversation, place && name]
    .filter(Boolean)
    .map((each) => line(each, 80))
    .join(" · ");
}

function risk({ risk }: ToolCallPendingConfirmationState): HTMLElement {
  const { severity = "", reason = "" } = risk ?? {};
  const worst = worstOf(reason) || "Permission required";
  const strong = /^(high|critical)$/.test(severity) ? [element("b", "", `${severity}: `)] : [];
  const look = `risk is-${line(severity, 20)}`;
  const rest = line(reason, 2_000).slice(worst.length).trim();
  if (rest === "") return element("p", look, ...strong, worst);
  return element("details", "reasons", element("summary", look, ...strong, worst), element("p", "", rest));
}

function titleOf(call: ToolCallPendingConfirmationState): string {
  const title = line(call.displayName) || line(textOf(call.invocationMessage)) || line(call.toolName) || "Tool";
  return title.replaceAll("`", "");
}

/** The agent's other texts. */
function says(call: ToolCallPendingConfirmationState): Node[] {
  const candidates = [call.confirmationTitle, call.invocationMessage].map((text) => line(textOf(text), 500));
  const [title, code] = [titleOf(call), line(call.toolInput, 500)];
  const texts = [...new Set(candidates)].filter((text) => text && text !== title && text !== code);
  return texts.map((text) => element("p", "note", text));
}

function input(call: ToolCallPendingConfirmationState): Node[] {
  const text = (call.toolInput ?? "").trim();
  if (text === "" || text === "{}" || call.details?.cell) return [];
  return [box("What it runs or changes", plain(text), "code")];
}

/** A text box that scrolls, also with keys. */
function box(label: string, text: string, className: string): HTMLElement {
  const pre = element("pre", { class: className, role: "group", label }, text);
  pre.tabIndex = 0;
  return pre;
}

function differences({ details }: ToolCallPendingConfirmationState): Node[] {
  const { cell, content = [] } = details ?? {};
  if (cell && (cell.oldText !== undefined || cell.newText !== undefined))
    return [difference(`Cell: ${line(cell.action, 20)}`, cell.oldText ?? "", cell.newText ?? "")];
  return content.flatMap(piece);
}

function piece(content: ToolContent): Node[] {
  if (content.type === "diff") return [difference(content.path, content.oldText ?? "", content.newText)];
  return content.type === "text" ? [box("Text", plain(content.text), "code")] : [];
}

function difference(name: string, before: string, after: string): HTMLElement {
  const change = compare(before, after);
  const count = change ? `+${change.added} −${change.removed}` : "too long to compare";
  const lines = (change?.hunks ?? []).flatMap(({ lines }) => [...lines, ""]).slice(0, -1);
  const rows = lines.map((text) => {
    const mark = text[0] ?? "";
    return element("div", `line ${NAMES.get(mark) ?? "same"}`, text === "" ? "⋯" : plain(text));
  });
  const block = element(
    "div",
    { class: "code difference", role: "group", label: `Changes of ${line(name, 200)}` },
    ...rows,
  );
  block.tabIndex = 0;
  return element("section", "", element("p", "path", line(name, 300), " ", element("span", "count", count)), block);
}

function preview(call: ToolCallPendingConfirmationState, actions: Actions): Node[] {
  const { rehearsal, kind = "", cell } = call.details ?? {};
  const canRun = cell
    ? /^(insert|replace)$/.test(cell.action) && cell.kind === "code"
    : /^(execute|kernel)$/.test(kind);
  if (rehearsal?.status === "running")
    return [element("p", { class: "note", role: "status" }, "Running it in an isolated copy…")];
  if (rehearsal === undefined) return canRun ? [button("Preview", actions.preview, "button small")] : [];
  const body = element("div", { class: "preview-body", role: "group", label: "Preview" });
  // The rehearsal never changes on this card: a changed question gets a new card.
  const subscribe = (take: (value: typeof rehearsal) => void) => {
    take(rehearsal);
    return () => undefined;
  };
  showPreview(body, { rehearsal: { subscribe } as never, part: "all" });
  return [body];
}

function textOf(text: unknown): string {
  if (typeof text === "string") return text;
  return isObject(text) && typeof text.markdown === "string" ? text.markdown : "";
}
