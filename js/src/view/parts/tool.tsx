/** A tool call: one line saying what it does and how it stands; inside, its input, output and changes. */
import { useComputed } from "@preact/signals";
import type {
  ConfirmationOption,
  ToolCallState,
  ToolContent,
  ToolDiffContent,
  ToolResultContent,
} from "../../state/types.gen";
import { usePlace, useView } from "../context";
import { Fold } from "../fold";
import { Icon, type IconName, isIcon, Spacer, Spinner } from "../icons";
import { Coloured } from "../markdown/code";
import { Markdown } from "../markdown/markdown";
import { memo } from "../memo";
import { line, plain, pretty, splitPath } from "../plain";
import { isChosen, verdict } from "../who";
import { Content, Raw } from "./content";
import { Diff } from "./diff";
import { LongText } from "./long-text";
import { Permission } from "./permission";
import { OutputBox, Terminal } from "./terminal";
import { textOf } from "./text";
import { asField, refOf, Whole } from "./whole";

interface Props {
  turnId: string;
  call: ToolCallState;
}

export const Tool = memo(({ turnId, call }: Props) => {
  const id = `${turnId} ${call.toolCallId}`;
  const waiting = call.status === "pending-confirmation";
  const body = toolBody(call);
  const head = (
    <>
      <Icon name={kindIcon(call)} />
      <span class="label cut">{coded(toolTitle(call))}</span>
      <Places call={call} />
      <Spacer />
      <ToolMark call={call} />
    </>
  );
  return (
    <div
      class={`card tool is-${call.status}${failed(call) ? " is-failed" : ""}`}
      data-call={call.toolCallId}
      tabIndex={-1}
    >
      {waiting && <Permission turnId={turnId} call={call} />}
      {!waiting && body.some && (
        <Fold id={id} open={body.open} head={head}>
          <ToolBody id={id} call={call} />
        </Fold>
      )}
      {!waiting && !body.some && <div class="fold-head bare">{head}</div>}
      {!waiting && <Decision call={call} />}
    </div>
  );
});

/** A title with its `code` set as code; a lone backtick stays what it is. */
export function coded(title: string) {
  return title.split(/`([^`]+)`/).map((piece, i) => (i % 2 === 1 ? <code key={i}>{piece}</code> : piece));
}

export function toolTitle(call: ToolCallState): string {
  return line(call.displayName) || line(textOf(call.invocationMessage)) || line(call.toolName) || "Tool";
}

export function kindIcon(call: ToolCallState): IconName {
  const kind = call.details?.kind ?? call.toolName;
  if (kind === "kernel") return "execute";
  return isIcon(kind) ? kind : "other";
}

export function failed(call: ToolCallState): boolean {
  return call.status === "completed" && !call.success;
}

function Places({ call }: { call: ToolCallState }) {
  const place = call.details?.locations?.[0];
  if (!place) return null;
  const { name } = splitPath(place.path);
  const more = (call.details?.locations?.length ?? 1) - 1;
  const row = typeof place.line === "number" ? `:${place.line}` : "";
  const where = toolTitle(call).includes(name) ? row : line(name, 60) + row;
  if (where === "" && more === 0) return null;
  return (
    <span class="place" title={line(place.path, 500)}>
      {where}
      {more > 0 && ` +${more}`}
    </span>
  );
}

const CANCELLED: Record<string, string> = { denied: "Denied", skipped: "Stopped", "result-denied": "Not used" };

function ToolMark({ call }: { call: ToolCallState }) {
  switch (call.status) {
    case "completed":
      return call.success ? (
        <State icon="check" kind="good" said="Done" />
      ) : (
        <State icon="cross" kind="bad" said="Failed" shown />
      );
    case "cancelled":
      return <State icon="stop" kind="dim" said={CANCELLED[call.reason] ?? line(call.reason, 40)} shown />;
    case "streaming":
      return <Working said="Preparing" />;
    default:
      return <Working said="Running" />;
  }
}

function State({ icon, kind, said, shown = false }: { icon: IconName; kind: string; said: string; shown?: boolean }) {
  return (
    <span class={`state ${kind}`}>
      <Icon name={icon} />
      <span class={shown ? "state-text" : "sr-only"}>{said}</span>
    </span>
  );
}

function Working({ said }: { said: string }) {
  return (
    <span class="state dim">
      <Spinner />
      <span class="sr-only">{said}</span>
    </span>
  );
}

/** What was answered when permission was asked, on one line. */
function Decision({ call }: { call: ToolCallState }) {
  const { store } = useView();
  const option = "selectedOption" in call ? call.selectedOption : undefined;
  const denied = call.status === "cancelled" && call.reason === "denied";
  const why = call.status === "cancelled" ? line(textOf(call.reasonMessage), 300) : "";
  const asked = "confirmed" in call && call.confirmed === "user-action";
  const by = "answeredBy" in call ? call.answeredBy : undefined;
  const unanswered = by?.kind === "cancelled";
  if (!option && !denied && !asked && !unanswered) return null;
  const isAllowed = !denied && !unanswered;
  const chosen = option && isChosen(by) && !isPlain(option) ? line(option.label, 80) : "";
  return (
    <div class={`decision ${isAllowed ? "allowed" : "denied"}`}>
      <Icon name="shield" />
      <span class="label">{verdict(isAllowed, by, store.clientId)}</span>
      {chosen && <span class="dim"> {coded(chosen)}</span>}
      {why && <span class="dim">{why}</span>}
    </div>
  );
}

/** Whether an option says no more than yes or no, for this once. */
function isPlain({ label, optionKind }: ConfirmationOption): boolean {
  return /_once$/.test(optionKind ?? "") || /^(?:allow|reject|deny|yes|no)(?: once)?$/i.test(line(label));
}

interface Body {
  some: boolean;
  open: boolean;
}

function toolBody(call: ToolCallState): Body {
  const content = call.details?.content ?? [];
  const hasDiff = content.some((piece) => piece.type === "diff");
  const hasTerminal = content.some((piece) => piece.type === "terminal");
  const hasPicture = content.some((piece) => piece.type === "block");
  const input = inputOf(call);
  const output = call.details?.rawOutput !== undefined && call.details.rawOutput !== null;
  return {
    some: content.length > 0 || results(call).length > 0 || input !== "" || output || failed(call),
    open: (hasDiff && !isAnswered(call)) || hasPicture || failed(call) || (hasTerminal && call.status === "running"),
  };
}

/** Whether someone was shown what it does and allowed it, or nothing was done. */
function isAnswered(call: ToolCallState): boolean {
  return call.status === "cancelled" || ("confirmed" in call && call.confirmed === "user-action");
}

function results(call: ToolCallState): readonly ToolResultContent[] {
  return ("content" in call ? call.content : undefined) ?? [];
}

function inputOf(call: ToolCallState): string {
  if (call.status === "streaming") return call.partialInput ?? "";
  return call.toolInput ?? "";
}

export function ToolBody({ id, call }: { id: string; call: ToolCallState }) {
  const content = call.details?.content ?? [];
  const shown = results(call);
  const hasTerminal = content.some((piece) => piece.type === "terminal");
  const output = content.length === 0 && shown.length === 0 ? call.details?.rawOutput : undefined;
  return (
    <>
      {(!hasTerminal || call.status === "pending-confirmation") && <ToolInput call={call} />}
      {content.map((piece, index) => (
        <Piece key={index} id={`${id} ${index}`} piece={piece} call={call} />
      ))}
      {content.length === 0 && shown.map((piece, index) => <Result key={index} id={`${id} r${index}`} piece={piece} />)}
      {output !== undefined && output !== null && (
        <Whole of={asField(output)} field="text">
          {(text = "") => <OutputBox text={text} />}
        </Whole>
      )}
      {"error" in call && call.error && <p class="error-text">{line(call.error.message, 2000)}</p>}
    </>
  );
}

/** What the tool was given: a command as typed, code for the kernel as code, anything else as JSON. */
export function ToolInput({ call }: { call: ToolCallState }) {
  const input = inputOf(call);
  if (input.trim() === "" || input.trim() === "{}") return null;
  if ((call.details?.kind ?? call.toolName) === "execute") {
    return (
      <pre class="command-box">
        <span class="sign" aria-hidden="true">
          ${" "}
        </span>
        <OutputText text={input} />
      </pre>
    );
  }
  if ((call.details?.kind ?? call.toolName) === "kernel")
    return (
      <pre class="input">
        <Coloured text={plain(input)} language="python" />
      </pre>
    );
  const json = indented(input);
  return <pre class="input">{json ? <Coloured text={json} language="json" /> : <OutputText text={input} />}</pre>;
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

/** A change whose texts may be too large to have come along: then both are fetched before they are compared. */
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

/** A terminal that is not there, or not yet: then the command stands for itself, unless the card shows it above. */
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
