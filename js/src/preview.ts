/** The preview of a permission request's code or command, all as text; fetched with the first preview. */
import type { ReadonlySignal } from "@preact/signals";
import { coded, element } from "./element";
import { FetchedStyles } from "./fetched-styles";
import css from "./preview.css";
import { table } from "./state/object";
import type { RehearsalFile, ToolCallRehearsal } from "./state/types.gen";
import { byTable, lineOf } from "./view/data-check-lines";
import { kernelText } from "./view/kernel-text";
import type { PreviewPart } from "./view/parts/preview";
import { bytes, count, line, plain } from "./view/plain";

export interface PreviewContext {
  readonly rehearsal: ReadonlySignal<ToolCallRehearsal | undefined>;
  readonly part: PreviewPart;
}

const styles = new FetchedStyles(css);
/** How many diffs are open at first, and the most lines of an open one. */
const OPEN_DIFFS = 3;
const OPEN_LINES = 40;
const NAMES: Record<string, string> = table({ "+": "added", "-": "removed", "\\": "note" });
const SIGNS: Record<string, string> = table({ "+": "+", "-": "−", "\\": "\\" });
const WAYS: Record<string, string> = table({
  namespaces: "in a sandbox without network",
  Landlock: "in a sandbox, where its writes were refused",
});

/** Shows the preview in `into`; the result removes it. */
export default function mount(into: HTMLElement, { rehearsal, part }: PreviewContext): () => void {
  styles.addTo(into.getRootNode());
  const unsubscribe = rehearsal.subscribe((current) => into.replaceChildren(...(current ? body(current, part) : [])));
  return () => {
    unsubscribe();
    into.replaceChildren();
  };
}

function body(rehearsal: ToolCallRehearsal, part: PreviewPart): Node[] {
  if (rehearsal.status !== "ended") return [];
  if (part === "end") return [took(rehearsal)];
  const summary = element("p", "preview-summary", kernelText(line(rehearsal.summary, 1_000)));
  // A failure, or an effect that the preview could not see, is not good news.
  if (!rehearsal.summary?.startsWith("Would ")) summary.classList.add("is-doubtful");
  if (rehearsal.isAvailable === false) return [summary];
  const { reason, error, printed, result } = rehearsal;
  return [
    summary,
    ...(reason ? [element("p", "note", kernelText(line(reason, 500)))] : []),
    ...tables(rehearsal),
    ...rows(rehearsal),
    ...box("Error", error, "preview-error"),
    ...box("Printed", printed),
    ...box("Value", result),
    ...(part === "all" ? [took(rehearsal)] : []),
  ];
}

/** Possible problems in the tables that it would change. */
function tables({ dataChecks }: ToolCallRehearsal): Node[] {
  if (!dataChecks?.length) return [];
  const lines = byTable(dataChecks).map((checks) => element("li", "preview-check", ...coded(lineOf(checks))));
  return [element("ul", { class: "list", label: "Data checks" }, ...lines)];
}

function box(name: string, text: string | undefined, className = ""): Node[] {
  if (!text) return [];
  const marks = { class: `preview-text ${className}`.trim(), role: "group", label: name };
  const pre = element("pre", marks, plain(text).replace(/\n$/, ""));
  pre.tabIndex = 0;
  return [element("h4", "preview-name", name), pre];
}

function rows(rehearsal: ToolCallRehearsal): Node[] {
  const variables = (rehearsal.variables ?? []).map(({ name, status, detail, value }) => {
    const more = value && !detail.includes(value) ? plain(value) : undefined;
    return item(line(name, 100), line(status, 20), line(detail, 400), more);
  });
  const named = (texts: readonly string[] | undefined) => (texts ?? []).map((text) => item(line(text, 400)));
  return [
    ...section("Variables", variables),
    ...section("Files", files(rehearsal)),
    ...section("Programs started", named(rehearsal.processes)),
    ...section("Network: not tried", named(rehearsal.connections)),
    ...section("Refused", named(rehearsal.refused)),
  ];
}

function section(name: string, items: Node[]): Node[] {
  if (items.length === 0) return [];
  return [element("h4", "preview-name", name), element("ul", "list preview-list", ...items)];
}

function item(name: string, status?: string, detail?: string, value?: string): HTMLElement {
  const one = element("li", "preview-item");
  one.append(element("span", "preview-what", name));
  if (status) one.append(" ", element("span", "chip", status));
  if (detail) one.append(" ", element("span", "preview-detail", detail));
  if (value) {
    const box = one.appendChild(
      element("pre", { class: "preview-value", role: "group", label: `Value of ${name}` }, value),
    );
    box.tabIndex = 0;
  }
  return one;
}

function files(rehearsal: ToolCallRehearsal): HTMLElement[] {
  const all = rehearsal.files ?? [];
  const items = all.map((file, at) => fileItem(file, at < OPEN_DIFFS));
  if (rehearsal.moreFiles) items.push(element("li", "preview-item note", `and ${count(rehearsal.moreFiles)} more`));
  return items;
}

function fileItem(file: RehearsalFile, isNear: boolean): HTMLElement {
  const head = [
    element("span", "preview-what", line(file.path, 300)),
    " ",
    element("span", "chip", line(file.status, 20)),
    ...(file.added === undefined
      ? []
      : [
          " ",
          element("span", "added", `+${count(file.added)}`),
          " ",
          element("span", "removed", `−${count(file.removed ?? 0)}`),
        ]),
  ];
  if (!file.diff) return element("li", "preview-item", ...head);
  const lines = file.diff
    .split("\n")
    .slice(2)
    .filter((text) => text !== "");
  const fold = element("details", "preview-diff", element("summary", "", ...head), difference(lines));
  fold.open = isNear && lines.length <= OPEN_LINES && file.status !== "deleted";
  return element("li", "preview-item", fold);
}

function difference(lines: readonly string[]): HTMLElement {
  const box = element("div", "hunks");
  box.tabIndex = 0;
  let hunk = element("div", "hunk");
  for (const text of lines) {
    if (text.startsWith("@@")) {
      hunk = element("div", "hunk");
      box.append(hunk);
      continue;
    }
    const mark = text[0] as string;
    const sign = element("span", "sign", SIGNS[mark] ?? "\u00a0");
    const rest = element("span", "text", plain(text.slice(1)));
    hunk.append(element("div", `line ${NAMES[mark] ?? "same"}`, sign, rest));
  }
  return box;
}

function took({ seconds, memory, way, exitCode }: ToolCallRehearsal): Node {
  const facts = [`Took ${(seconds ?? 0).toFixed(2)} s`];
  if (memory) facts.push(bytes(memory));
  if (exitCode !== undefined) facts.push(`exit code ${exitCode}`);
  if (way && WAYS[way]) facts.push(WAYS[way]);
  return element("p", "note preview-took", `${facts.join(", ")}. The preview itself changed nothing.`);
}
