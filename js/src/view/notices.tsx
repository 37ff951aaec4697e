/** Banners and cards for the connection, for gaps and for a session that cannot be used. */

import { turnError } from "../state/chat-turns";
import { isObject, table } from "../state/object";
import type { ChatState, SessionState } from "../state/types.gen";
import { Banner, ErrorCard } from "./cards";
import { usePlace, useView } from "./context";
import { Button } from "./controls";
import { Icon, Spinner } from "./icons";
import { chatChannel, isReadOnly, ROOT } from "./identity";
import { line, plain } from "./plain";
import { type Connection, isOver } from "./store";
import { useWork } from "./use-work";

const LAST = "This is the last state received; the agent ended with the kernel. Run the cell again to continue.";
const STANDING: { [C in Connection]?: string } = table({
  behind: "Catching up…",
  busy: "The kernel is running a cell. Your actions here are sent when it ends.",
  restarting: "Restarting the kernel…",
  silent: "The kernel isn't responding: it is busy or unreachable. Your actions here are sent when it responds.",
  cut: "Disconnected. Anything you miss will appear when you reconnect.",
  restarted: `The kernel restarted. ${LAST}`,
  gone: `The kernel ended. ${LAST}`,
});

/** Returns the channel of missing content of a conversation (or of everything), and its description. */
export function useGap(session: string | undefined): [channel: string, text: string] | undefined {
  const gaps = useView().store.gaps.value;
  const about = ["", ROOT, ...(session === undefined ? [] : [session, chatChannel(session)])];
  const channel = about.find((one) => one in gaps);
  return channel === undefined ? undefined : [channel, gaps[channel] as string];
}

/** Shows problems of the connection; a gap only if it concerns `session`. */
export function ConnectionBanner({ session }: { session?: string | undefined }) {
  const { store } = useView();
  const gap = useGap(session);
  const connection = store.connection.value;
  const refusal = store.refusal.value;
  const text = STANDING[connection];
  const show = isOver(connection) ? store.successor.value : undefined;
  if (refusal) return <ErrorCard title="Page and kernel versions don't match" message={refusal} />;
  if (connection === "gap" && gap)
    return (
      <Banner icon={<Icon name="alert" />} action={<Button onClick={() => store.acceptGap(gap[0])}>OK</Button>}>
        <b>Something is missing.</b> {line(gap[1], 600)}
      </Banner>
    );
  if (!text) return null;
  return (
    <Banner
      class={`is-${connection}`}
      icon={isOver(connection) || connection === "cut" ? <Icon name="alert" /> : <Spinner />}
      action={show && <Button onClick={show}>Show the new chat</Button>}
    >
      {text}
      {isOver(connection) && store.isUnsaid && " Your last action may not have reached it."}
    </Banner>
  );
}

interface TroubleProps {
  agent: string;
  session: SessionState;
  /** Absent if a single turn is shown. */
  chat?: ChatState;
}

/** Shows why a session cannot be used and what to do; nothing if it can. */
export function SessionTrouble({ agent, session, chat }: TroubleProps) {
  const process = session.agentProcess;
  const reason = "The agent gave no reason.";
  const last = chat?.turns.at(-1);
  // The turn that failed for the same reason already says so, and can be sent again.
  if ((session.lifecycle === "failed" || process?.state === "failed") && last && turnError(last)) return null;
  if (session.lifecycle === "failed") {
    const message = session.creationError?.message ?? reason;
    return <ErrorCard title={`${agent} couldn't start`} message={message} action={<Restart again />} />;
  }
  if (process?.state === "failed")
    return (
      <ErrorCard title={`${agent} stopped unexpectedly`} message={process.message ?? reason} action={<Restart />} />
    );
  if (process?.state === "stopped") {
    return (
      <div class="row wraps note stopped">
        <span>{plain(process.message) || `${agent} stopped. It restarts with your next message.`}</span>
        {!isReadOnly(session.provider) && <Restart />}
      </div>
    );
  }
  return null;
}

/** Shows the agent's warning on the chosen model or mode before use: `_meta.agentnb.warning` of a config option. */
export function AgentWarning({ session }: { session: SessionState }) {
  const warnings = (session.configOptions ?? []).flatMap((option) => {
    const meta = isObject(option) && isObject(option._meta) && option._meta.agentnb;
    return isObject(meta) && typeof meta.warning === "string" ? [line(meta.warning, 300)] : [];
  });
  if (warnings.length === 0) return null;
  return <Banner icon={<Icon name="alert" />}>{warnings.join(" ")}</Banner>;
}

function Restart({ again = false }: { again?: boolean }) {
  const { store } = useView();
  const { session } = usePlace();
  const { isBusy, trouble, run } = useWork();
  const restart = () => void run(() => store.request("restartAgent", { channel: session }));
  return (
    <div class="row wraps restart">
      <Button disabled={isBusy} onClick={restart}>
        {isBusy ? <Spinner /> : <Icon name="restart" />}
        {again ? "Try again" : "Restart agent"}
      </Button>
      {trouble && (
        <span class="error-text" role="alert">
          {plain(trouble)}
        </span>
      )}
    </div>
  );
}
