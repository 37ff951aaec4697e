/**
 * The preview of a permission request: a button that starts it, and its result. The host keeps it with the tool call,
 * so every view shows the same, even when the conversation is opened again.
 */
import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import type { ToolCallRehearsal, ToolCallState } from "../../state/types.gen";
import { usePlace, useView } from "../context";
import { Button } from "../controls";
import { Fold } from "../fold";
import { Icon, Spinner } from "../icons";
import { isRemote, lookOf } from "../identity";
import { OnDemand } from "../on-demand";
import { line } from "../plain";
import { kindOf } from "../tool-runs";
import { useWork } from "../use-work";
import { Content } from "./content";
import { inputOf } from "./tool-body";

/** The part to show in one place: all of it, or the part before or after the pictures. */
export type PreviewPart = "all" | "begin" | "end";

interface Props {
  turnId: string;
  call: ToolCallState;
}

/** Returns a request's preview button, unless the settings switch previews off, and the preview below it. */
export function usePreview({ turnId, call, edited }: Props & { edited?: string | undefined }) {
  const { store } = useView();
  const { session } = usePlace();
  const { trouble, run } = useWork();
  const rehearsal = call.details?.rehearsal;
  const isOff = lookOf(store.root.value).rehearse === "off" || isRemote(store.root.value);
  if (!rehearsal && (isOff || !canRun(call))) return [null, null] as const;
  const isRunning = rehearsal?.status === "running";
  const ask = () => {
    if (isRunning) return;
    const input = edited === undefined ? {} : { input: edited };
    void run(() => store.request("rehearseToolCall", { channel: session, toolCallId: call.toolCallId, ...input }));
  };
  const isEnded = rehearsal?.status === "ended";
  const isOld = isEnded && edited !== undefined && edited !== rehearsal.input;
  const button = isOff ? null : (
    <Button
      aria-disabled={isRunning}
      aria-label={isEnded ? "Preview again" : undefined}
      title="Show what it would do, by running it in an isolated copy"
      onClick={ask}
    >
      Preview
    </Button>
  );
  const result = (
    <div class="preview">
      <div role="status">
        {isRunning && (
          <span class="dim">
            <Spinner /> Running it in an isolated copy…
          </span>
        )}
        {trouble && <p class="error-text">{trouble}</p>}
        {isEnded && <span class="sr-only">{line(rehearsal.summary, 300)}</span>}
      </div>
      {isOld && <p class="note">This is the preview of the command before you changed it.</p>}
      {isEnded && <Shown id={`${turnId} ${call.toolCallId}`} rehearsal={rehearsal} />}
    </div>
  );
  return [button, result] as const;
}

/** After the call: the preview, folded, and how the result differs from it. */
export function PreviewAfter({ turnId, call }: Props) {
  const { rehearsal, differences } = call.details ?? {};
  if (rehearsal?.status !== "ended") return null;
  const id = `${turnId} ${call.toolCallId} preview`;
  return (
    <>
      <Fold
        id={id}
        className="preview-after"
        head={<span class="label cut">Preview: {line(rehearsal.summary, 200)}</span>}
      >
        <Shown id={id} rehearsal={rehearsal} />
      </Fold>
      {differences && differences.length === 0 && (
        <div class="decision allowed">
          <Icon name="check" />
          <span class="label">As the preview showed</span>
        </div>
      )}
    </>
  );
}

export function Differs({ differences }: { differences: readonly string[] }) {
  return (
    <div class="decision denied differs">
      <Icon name="alert" />
      <span class="label">Different from the preview</span>
      <span class="dim">{differences.map((each) => line(each, 300)).join(" ")}</span>
    </div>
  );
}

function Shown({ id, rehearsal }: { id: string; rehearsal: ToolCallRehearsal }) {
  const current = useSignal<ToolCallRehearsal | undefined>(rehearsal);
  useLayoutEffect(() => {
    current.value = rehearsal;
  }, [rehearsal]);
  const pictures = rehearsal.pictures ?? [];
  const body = (part: PreviewPart) => (
    <OnDemand
      key={part}
      name="preview"
      what="the preview"
      context={{ rehearsal: current, part }}
      className="preview-body"
    />
  );
  if (pictures.length === 0) return body("all");
  return (
    <>
      {body("begin")}
      <div role="group" aria-label="Pictures that it would draw">
        {pictures.map(({ block }, at) => (
          <Content key={at} id={`${id} picture ${at}`} block={block} />
        ))}
      </div>
      {body("end")}
    </>
  );
}

/** True if it runs code or a command, as far as the card shows. */
function canRun(call: ToolCallState): boolean {
  const { cell } = call.details ?? {};
  if (cell) return cell.kind !== "markdown" && cell.kind !== "raw" && ["insert", "replace"].includes(cell.action);
  return ["execute", "kernel"].includes(kindOf(call)) && inputOf(call).trim() !== "";
}
