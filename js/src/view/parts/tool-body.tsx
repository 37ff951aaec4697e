/** The body of a tool call: its input, output, changes and terminals. */
import { useComputed } from "@preact/signals";
import type {
  ToolCallCitation,
  ToolCallResearch,
  ToolCallState,
  ToolContent,
  ToolDiffContent,
  ToolResultContent,
} from "../../state/types.gen";
import { useOpenFile, usePlace, useView, useWorkspace } from "../context";
import { Button } from "../controls";
import { Fold } from "../fold";
import { type IconName, isIcon } from "../icons";
import { Coloured } from "../markdown/code";
import { Markdown } from "../markdown/markdown";
import { inFolder, line, plain, pretty, withoutFences } from "../plain";
import { kindOf } from "../tool-runs";
import { Content, Raw } from "./content";
import { Diff } from "./diff";
import { LongText } from "./long-text";
import { OutputBox, Terminal } from "./terminal";
import { textOf } from "./text";
import { Walkthrough, walkthroughOf } from "./walkthrough";
import { asField, refOf, Whole } from "./whole";

export function toolTitle(call: ToolCallState): string {
  return line(call.displayName) || line(textOf(call.invocationMessage)) || line(call.toolName) || "Tool";
}

export function kindIcon(call: ToolCallState): IconName {
  const kind = kindOf(call);
  if (kind === "kernel") return "execute";
  return isIcon(kind) ? kind : "other";
}

export function results(call: ToolCallState): readonly ToolResultContent[] {
  return ("content" in call ? call.content : undefined) ?? [];
}

export function inputOf(call: ToolCallState): string {
  if (call.status === "streaming") return call.partialInput ?? "";
  return call.toolInput ?? "";
}

export function ToolBody({ id, call }: { id: string; call: ToolCallState }) {
  // The kernel's own output: the agent's words about it say the same, or less.
  const run = call.details?.run;
  const content = run?.content ?? call.details?.content ?? [];
  const pieces = run ? [] : results(call);
  const hasTerminal = content.some((piece) => piece.type === "terminal");
  const output = run || content.length > 0 || pieces.length > 0 ? undefined : call.details?.rawOutput;
  const isRunning = run && run.endedAt === undefined;
  const research = call.details?.research;
  const walkthrough = walkthroughOf(call);
  if (walkthrough) return <Walkthrough of={walkthrough} />;
  if (research) return <Citations id={id} research={research} />;
  return (
    <>
      {(!hasTerminal || call.status === "pending-confirmation") && <ToolInput call={call} />}
      {content.map((piece, index) =>
        isRunning && piece.type === "text" ? (
          <OutputBox key={index} text={piece.text} follow fromEnd />
        ) : run && piece.type === "text" ? (
          <Whole key={index} of={piece} field="text">
            {(text = "") => <OutputBox text={withoutFences(text)} />}
          </Whole>
        ) : (
          <Piece key={index} id={`${id} ${index}`} piece={piece} call={call} />
        ),
      )}
      {content.length === 0 &&
        pieces.map((piece, index) => <Result key={index} id={`${id} r${index}`} piece={piece} />)}
      {output !== undefined && output !== null && (
        <Whole of={asField(output)} field="text">
          {(text = "") => <OutputBox text={text} />}
        </Whole>
      )}
      {!run && "error" in call && call.error && !isShown(call.error.message, content, pieces) && (
        <p class="error-text">{line(call.error.message, 2000)}</p>
      )}
    </>
  );
}

/** True if the text of an error is among the texts above it. */
function isShown(message: string, ...lists: (readonly (ToolContent | ToolResultContent)[])[]): boolean {
  return lists
    .flat()
    .some((piece) => piece.type === "text" && "text" in piece && piece.text?.trim() === message.trim());
}

/** The tool's input: a command as typed, code for the kernel as code, anything else as JSON. */
function ToolInput({ call }: { call: ToolCallState }) {
  const input = inputOf(call);
  if (input.trim() === "" || input.trim() === "{}") return null;
  const json = indented(input);
  const isObject = input.trimStart().startsWith("{") && json !== undefined;
  if (kindOf(call) === "execute" && !isObject) {
    return (
      <pre class="command-box">
        <span class="sign" aria-hidden="true">
          ${" "}
        </span>
        <OutputText text={input} />
      </pre>
    );
  }
  const isCode = kindOf(call) === "kernel";
  const coloured = isCode ? plain(input) : json;
  return (
    <pre class="input">
      {coloured ? <Coloured text={coloured} language={isCode ? "python" : "json"} /> : <OutputText text={input} />}
    </pre>
  );
}

function OutputText({ text }: { text: string }) {
  return (
    <code>
      <LongText text={text} draw={plain} />
    </code>
  );
}

function indented(input: string): string | undefined {
  try {
    return pretty(JSON.parse(input));
  } catch {
    return undefined;
  }
}

const FENCED = /^ {0,3}(```|~~~)/m;

function Piece({ id, piece, call }: { id: string; piece: ToolContent; call: ToolCallState }) {
  switch (piece.type) {
    case "text":
      return <Text of={piece} />;
    case "diff":
      return <Change id={id} piece={piece} />;
    case "terminal":
      return <TerminalOf id={piece.terminalId} call={call} />;
    case "block":
      return <Content id={id} block={piece.block} />;
    default:
      return <Raw id={id} name="Content" payload={"raw" in piece ? piece.raw : piece} />;
  }
}

function Text({ of }: { of: object }) {
  return (
    <Whole of={of} field="text">
      {(text = "") => (FENCED.test(text) ? <Markdown text={text} /> : <OutputBox text={text} />)}
    </Whole>
  );
}

/** A change whose texts may be too large for the message: then both are fetched before they are compared. */
function Change({ id, piece }: { id: string; piece: ToolDiffContent }) {
  if (!refOf(piece, "oldText") && !refOf(piece, "newText"))
    return <Diff id={id} path={piece.path} oldText={piece.oldText} newText={piece.newText} />;
  return (
    <Whole of={piece} field="newText">
      {(newText = "") => (
        <Whole of={piece} field="oldText">
          {(oldText) => <Diff id={id} path={piece.path} oldText={oldText} newText={newText} />}
        </Whole>
      )}
    </Whole>
  );
}

/** A terminal; if it is not there, or not yet, its command instead, unless the card shows the command above. */
function TerminalOf({ id, call }: { id: string; call: ToolCallState }) {
  const { store, cadence } = useView();
  const { chat } = usePlace();
  const state = cadence.paced(store.chat(chat));
  const terminal = useComputed(() => state.value?.terminals?.find((one) => one.id === id));
  if (terminal.value) return <Terminal terminal={terminal.value} />;
  if (call.status === "pending-confirmation") return null;
  return (
    <>
      <ToolInput call={call} />
      {call.status !== "running" && <p class="note">The terminal's output is no longer available.</p>}
    </>
  );
}

function Result({ id, piece }: { id: string; piece: ToolResultContent }) {
  if (piece.type === "text") return <Text of={piece} />;
  return <Raw id={id} name={line(piece.type, 60)} payload={piece} />;
}

/** The findings in a package's source: each with its place, which opens at the line. */
function Citations({ id, research }: { id: string; research: ToolCallResearch }) {
  const { root } = useView();
  const { session } = research;
  const open = () => root.host.dispatchEvent(new CustomEvent("agentnb-open", { detail: session }));
  return (
    <div class="citations">
      <p class="dim small">
        Found in the source of {line(research.package, 80)} {line(research.version, 40)}
        {session && <Button onClick={open}>Open conversation</Button>}
      </p>
      <ol>
        {research.citations.map((citation, index) => (
          <li key={index}>
            <Markdown text={citation.text} />
            {citation.place && <Cited id={`${id} c${index}`} citation={citation} />}
          </li>
        ))}
      </ol>
    </div>
  );
}

function Cited({ id, citation }: { id: string; citation: ToolCallCitation }) {
  const { place, path } = citation;
  const folder = useWorkspace();
  const openFile = useOpenFile();
  return (
    <Fold id={id} className="citation" head={<code>{line(place, 200)}</code>}>
      <pre>
        <code>
          <Excerpt citation={citation} />
        </code>
      </pre>
      <span class="dim small">{plain(path)}</span>
      {path && openFile && (
        <Button onClick={() => openFile(folder ? inFolder(path, folder) : path, citation.line)}>Open</Button>
      )}
    </Fold>
  );
}

/** The lines around the place, each with its number; the line of the place is marked. */
function Excerpt({ citation: { line: number = 1, excerpt, lines, firstLine } }: { citation: ToolCallCitation }) {
  const excerptLines = lines !== undefined && firstLine !== undefined ? lines.split("\n") : [excerpt ?? ""];
  const first = excerptLines.length > 1 ? (firstLine ?? number) : number;
  const width = String(first + excerptLines.length).length;
  return excerptLines.map((text, index) => {
    const row = `${String(first + index).padStart(width)}: ${plain(text)}`;
    const end = index < excerptLines.length - 1 ? "\n" : "";
    return first + index === number ? <mark key={index}>{row + end}</mark> : row + end;
  });
}
