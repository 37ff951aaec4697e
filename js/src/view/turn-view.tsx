/** Shows one turn below the cell that sent it: the streaming answer and its end. The prompt is in the cell. */
import { useEffect, useMemo } from "preact/hooks";
import { waitingRequests } from "../state/chat-inputs";
import { turnError } from "../state/chat-turns";
import type { ActiveTurn, ChatState, Turn } from "../state/types.gen";
import { useAnnouncements } from "./announcements";
import { PlaceContext, usePlace, useView } from "./context";
import { Button } from "./controls";
import { useElapsed } from "./elapsed";
import { Icon, Spacer, Spinner } from "./icons";
import { chatChannel, provider, sessionChannel } from "./identity";
import { ConnectionBanner, SessionTrouble, useGap } from "./notices";
import { useOnScreen } from "./on-screen";
import { TurnChanges } from "./parts/change-set";
import { pendingCalls } from "./permission-answer";
import { duration } from "./plain";
import { StopButton } from "./prompt";
import { Refusals } from "./rejected-actions";
import { agentName } from "./tabs";
import { Answer, endNote, TurnEnd, useSilence } from "./turn";
import { InputRequests } from "./waiting-questions";

const PAGE = 100;

export function TurnView({ channel, turnId }: { channel: string; turnId: string }) {
  const { store, cadence } = useView();
  const place = useMemo(() => ({ session: sessionChannel(channel), chat: chatChannel(channel) }), [channel]);
  const session = cadence.paced(store.session(place.session)).value;
  const chat = cadence.paced(store.chat(place.chat)).value;
  const agents = cadence.paced(store.root).value?.agents ?? [];
  const agent = agentName(agents, session?.provider ?? provider(channel));
  const active = chat?.activeTurn?.id === turnId ? chat.activeTurn : undefined;
  const requests = waitingRequests(chat);
  const older = store.older(place.chat).value;
  const ended = active ? undefined : [...older.turns, ...(chat?.turns ?? [])].find((turn) => turn.id === turnId);
  const isOlder = chat !== undefined && !active && !ended && older.left > 0;
  useEffect(() => {
    if (isOlder) store.fetchOlder(place.chat, PAGE).catch(() => undefined);
  }, [isOlder, older, place.chat, store]);
  const gap = useGap(place.session);
  useAnnouncements(active || ended ? chat : undefined, agent);
  useOnScreen(place.session);
  return (
    <PlaceContext.Provider value={place}>
      <section class="turn-view" aria-label={`Answer of ${agent}`}>
        <ConnectionBanner session={place.session} />
        <Refusals here={(one) => sessionChannel(one) === place.session} />
        {active && <Running turn={active} agent={agent} hasRequest={requests.length > 0} />}
        {active && <InputRequests requests={requests} agent={agent} />}
        {ended && <Ended turn={ended} agent={agent} />}
        {!active && !ended && !gap && (
          <Before chat={chat} turnId={turnId} agent={agent} starting={session?.lifecycle === "creating"} />
        )}
        {session && !ended && <SessionTrouble agent={agent} session={session} />}
      </section>
    </PlaceContext.Provider>
  );
}

function Running({ turn, agent, hasRequest }: { turn: ActiveTurn; agent: string; hasRequest: boolean }) {
  const elapsed = useElapsed(turn);
  const asks = hasRequest || pendingCalls(turn).length > 0;
  const silence = useSilence();
  return (
    <>
      <Answer turn={turn} />
      <div class={`row wraps status-line${asks ? " asks" : ""}`}>
        {asks ? <Icon name="shield" /> : <Spinner />}
        <span class="status-agent">{agent}</span>
        <span class="dim">{asks ? "needs your answer" : silence || "working…"}</span>
        {elapsed >= 2000 && <span class="dim elapsed">{duration(elapsed)}</span>}
        <Spacer />
        <StopButton turnId={turn.id} labelled />
      </div>
    </>
  );
}

function Ended({ turn, agent }: { turn: Turn; agent: string }) {
  const isBare = turn.responseParts.every(({ kind }) => kind === "inputRequest") && !turnError(turn) && !endNote(turn);
  return (
    <>
      <Answer turn={turn} />
      <TurnChanges turn={turn} />
      {isBare && <p class="note">{agent} ended the turn without an answer.</p>}
      <div class={`row wraps ended is-${turn.state}`}>
        <span class="status-agent dim">{agent}</span>
        <TurnEnd turn={turn} inCell />
      </div>
    </>
  );
}

interface BeforeProps {
  chat: ChatState | undefined;
  turnId: string;
  agent: string;
  starting: boolean;
}

function Before({ chat, turnId, agent, starting }: BeforeProps) {
  const { store } = useView();
  const place = usePlace();
  const at = chat?.queuedMessages?.findIndex((pending) => pending.id === turnId) ?? -1;
  if (at < 0) {
    return (
      <div class="row wraps status-line">
        <Spinner />
        <span class="status-agent">{agent}</span>
        <span class="dim">{starting ? "is starting…" : "is getting ready…"}</span>
      </div>
    );
  }
  const isHeld = chat?.queuedMessages?.[at]?.held === true;
  const release = () =>
    store.dispatch(place.chat, { type: "chat/queuedMessagesReordered", order: [turnId], held: false });
  const remove = () => store.dispatch(place.chat, { type: "chat/pendingMessageRemoved", kind: "queued", id: turnId });
  return (
    <div class="row wraps status-line">
      <Icon name={isHeld ? "pause" : "clock"} />
      <span class="status-agent">{agent}</span>
      <span class="dim">{isHeld ? "on hold" : at === 0 ? "queued: next" : `queued: ${at} before it`}</span>
      <Spacer />
      {isHeld && <Button onClick={release}>Continue</Button>}
      <Button onClick={remove}>Remove</Button>
    </div>
  );
}
