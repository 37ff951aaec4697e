/** Turns a turn or a conversation into Markdown, to copy or save. */
import { turnError } from "../state/chat-turns";
import type {
  ChatState,
  Message,
  ResponsePart,
  ToolCallState,
  ToolContent,
  ToolDiffContent,
  Turn,
} from "../state/types.gen";
import { ansiText } from "./ansi";
import { whyNot } from "./answered-by";
import { compare } from "./parts/line-diff";
import { textOf } from "./parts/text";
import { toolTitle } from "./parts/tool-body";
import { duration, line, plain, pretty, withoutFences } from "./plain";
import type { AnyTurn, Store } from "./store";

const AT_ONCE = 100;

/** Fetches all older turns of a chat. */
export async function fetchAll(store: Store, channel: string): Promise<void> {
  for (let left = store.older(channel).peek().left; left > 0; ) {
    await store.fetchOlder(channel, AT_ONCE);
    const next = store.older(channel).peek().left;
    if (next >= left) return;
    left = next;
  }
}

export function allTurns(chat: ChatState, older: readonly Turn[]): AnyTurn[] {
  return [...older, ...chat.turns, ...(chat.activeTurn ? [chat.activeTurn] : [])];
}

export function chatMarkdown(chat: ChatState, title: string, older: readonly Turn[] = []): string {
  const turns = allTurns(chat, older);
  return `${[`# ${line(title)}`, ...turns.map((turn) => turnMarkdown(turn, chat))].join("\n\n")}\n`;
}

export function turnMarkdown(turn: AnyTurn, chat?: ChatState): string {
  const parts = turn.responseParts.map((part) => partMarkdown(part, chat)).filter(Boolean);
  if ("state" in turn) {
    const error = turnError(turn);
    if (error) parts.push(quoted(`**Error:** ${plain(error.message)}`));
    else if (turn.state === "cancelled") parts.push("*Stopped.*");
  }
  return [quoted(messageText(turn.message)), ...parts].join("\n\n");
}

function messageText({ text, attachments }: Message): string {
  const names = (attachments ?? []).map((one) => line((one as { label?: unknown }).label ?? "attachment", 80));
  return names.length > 0 ? `${text}\n\nWith: ${names.join(", ")}` : text;
}

function quoted(text: string): string {
  return text
    .split("\n")
    .map((row) => `> ${row}`.trimEnd())
    .join("\n");
}

function partMarkdown(part: ResponsePart, chat: ChatState | undefined): string {
  switch (part.kind) {
    case "markdown":
      return part.content;
    case "reasoning":
      return folded("Thought", part.content);
    case "toolCall":
      return toolMarkdown(part.toolCall, chat);
    case "systemNotification":
      return quoted(textOf(part.content));
    case "x-agentnb/plan":
      return part.entries
        .map((entry) => `- [${entry.status === "completed" ? "x" : " "}] ${line(entry.content, 500)}`)
        .join("\n");
    case "x-agentnb/userMessage":
      return quoted(part.content);
    case "contentRef":
      return `*${line(part.uri, 300)}*`;
    case "x-agentnb/content":
      return `*${line(part.block.uri ?? part.block.type ?? "content", 300)}*`;
    default:
      return "";
  }
}

function toolMarkdown(call: ToolCallState, chat: ChatState | undefined): string {
  const input = call.status === "streaming" ? call.partialInput : call.toolInput;
  const run = call.details?.run;
  const content = run?.content ?? call.details?.content ?? [];
  const pieces = content.map((piece) =>
    run && piece.type === "text" ? fenced(ansiText(withoutFences(piece.text))) : pieceMarkdown(piece, chat),
  );
  const output = call.details?.rawOutput;
  const took = run?.endedAt === undefined ? "" : `, ${duration(run.endedAt - run.startedAt)}`;
  const error = "error" in call && !run && call.error;
  const why = call.status === "cancelled" ? whyNot(textOf(call.reasonMessage)) : "";
  const body = [
    why && quoted(why),
    input ? fenced(plain(input)) : "",
    ...pieces,
    content.length === 0 && output !== undefined && output !== null ? fenced(ansiText(pretty(output))) : "",
    error ? quoted(`**Failed:** ${plain(error.message)}`) : "",
  ];
  return folded(`${toolTitle(call)} (${outcome(call)}${took})`, body.filter(Boolean).join("\n\n"));
}

/** Returns the call's result, and the chosen answer if it asked for permission. */
function outcome(call: ToolCallState): string {
  const option = "selectedOption" in call ? call.selectedOption : undefined;
  const choice = option ? line(option.label, 80) : "";
  if (call.status === "completed") return (call.success ? "done" : "failed") + (choice && `, allowed: ${choice}`);
  if (call.status === "cancelled") return (call.reason === "denied" ? "denied" : "stopped") + (choice && `: ${choice}`);
  return call.status;
}

function pieceMarkdown(piece: ToolContent, chat: ChatState | undefined): string {
  if (piece.type === "text") return fenced(ansiText(piece.text));
  if (piece.type === "diff") return fenced(diffMarkdown(piece), "diff");
  if (piece.type !== "terminal") return "";
  const terminal = chat?.terminals?.find((one) => one.id === piece.terminalId);
  if (!terminal) return "";
  const end = terminal.signal ? `[ended by ${line(terminal.signal, 20)}]` : `[exit code ${terminal.exitCode ?? 0}]`;
  const output = ansiText(terminal.output ?? "").replace(/\n$/, "");
  return fenced([`$ ${terminal.command}`, output, terminal.exited ? end : ""].filter(Boolean).join("\n"), "console");
}

/** Returns a change as a unified diff; only its new text if it is too long to compare. */
function diffMarkdown({ path, oldText, newText }: ToolDiffContent): string {
  const name = line(path, 300);
  const head = `--- ${typeof oldText === "string" ? name : "/dev/null"}\n+++ ${name}\n`;
  const change = compare(oldText ?? "", newText);
  if (!change) return head + newText;
  const hunks = change.hunks.map(({ oldStart, newStart, lines }) => {
    const [before, after] = ["+", "-"].map((other) => lines.filter(([mark]) => mark !== other && mark !== "\\").length);
    return [`@@ -${oldStart},${before} +${newStart},${after} @@`, ...lines].join("\n");
  });
  return head + hunks.join("\n");
}

/** Returns a part that opens on a click; text from an agent cannot close it early. */
function folded(title: string, body: string): string {
  const name = title.replace(/[&<>]/g, (mark) => `&#${mark.charCodeAt(0)};`);
  if (body.trim() === "") return `*${name}*`;
  return `<details><summary>${name}</summary>\n\n${body.replace(/<(?=\/?(?:details|summary))/gi, "&lt;")}\n\n</details>`;
}

/** Puts text into a code fence that is longer than any fence in the text. */
function fenced(text: string, language = ""): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}
