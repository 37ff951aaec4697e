/** One conversation: its transcript, what is asked of the reader, what waits, and the box to write in. */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { waitingRequests } from "../state/chat-inputs";
import type { AgentInfo, ChatState, SessionState, SessionSummary } from "../state/types.gen";
import { useAnnouncements } from "./announcements";
import { PlaceContext, useView } from "./context";
import { copyText } from "./copy";
import { EmptyChat } from "./empty-chat";
import { chatMarkdown, fetchAll } from "./export";
import { Find } from "./find";
import { FollowUps } from "./follow-ups";
import { IconButton, Waiting } from "./icons";
import { chatChannel, isInTerminal, provider, sessionChannel } from "./identity";
import { InputRequests } from "./input-request";
import { AgentWarning, SessionTrouble, useGap } from "./notices";
import { useOnScreen } from "./on-screen";
import { AllChanges } from "./parts/change-set";
import { line } from "./plain";
import { Prompt } from "./prompt";
import { Queue } from "./queue";
import { Refusals } from "./rejected-actions";
import { RenameForm } from "./rename";
import { Rewind } from "./rewind";
import { fileName, save } from "./save-file";
import { isIdle, isRead } from "./status";
import { Meter } from "./status-bar";
import { agentName } from "./tabs";
import { type Jump, Transcript } from "./transcript";
import { Uses } from "./uses";
import { WaitingQuestions } from "./waiting-questions";

/** What the conversation's menu can ask for. */
export type ConversationTask = "changes" | "find" | "rename" | "copy" | "save" | "clear" | undefined;

interface Props {
  resource: string;
  summary: SessionSummary | undefined;
  agents: readonly AgentInfo[];
  dead: boolean;
  doing: ConversationTask;
  setDoing: (doing: ConversationTask) => void;
  /** Goes to another conversation. */
  onGo: (resource: string) => void;
}

export function Conversation({ resource, summary, agents, dead, doing, setDoing, onGo }: Props) {
  const { store, cadence } = useView();
  const session = cadence.paced(store.session(resource)).value;
  const channel = session?.defaultChat ?? chatChannel(resource);
  const chat = cadence.paced(store.chat(channel)).value;
  const place = useMemo(() => ({ session: resource, chat: channel }), [resource, channel]);
  const [jump, setJump] = useState<Jump>();
  const [started, setStarted] = useState(0);
  const onStart = useCallback(() => setStarted((times) => times + 1), []);
  const title = line(summary?.title ?? session?.title ?? "", 200);
  const agent = agentName(agents, session?.provider ?? provider(resource), title);
  useAnnouncements(chat, agent);
  useOnScreen(resource);
  useMarkRead(resource, session, chat);
  useTaking(doing, setDoing, channel, chat, title || agent);
  const stop = () => setDoing(undefined);
  const gap = useGap(resource);
  const woken = useRef(false);
  // What the agent of a tab offers is wanted while one writes. Where a kernel cannot start it so, the first prompt does.
  const wake = () => {
    if (!woken.current) store.request("openSession", { channel: resource }).catch(() => undefined);
    woken.current = true;
  };
  if (!session || !chat) return gap ? null : <Waiting text={`Opening ${agent}…`} />;
  const isEmpty = chat.turns.length === 0 && !chat.activeTurn;
  const process = session.agentProcess;
  const failed = session.lifecycle === "failed";
  const inTerminal = isInTerminal(session.provider);
  const asleep = isEmpty && session.lifecycle === "creating" && process === undefined;
  return (
    <PlaceContext.Provider value={place}>
      {doing === "rename" && (
        <RenameForm
          class="row bar-form"
          title={title}
          onRename={(title) => store.dispatch(resource, { type: "session/titleChanged", title })}
          onDone={stop}
          onKeyDown={(event) => {
            event.stopPropagation();
            if (event.key === "Escape") stop();
          }}
          cancel={<IconButton name="Cancel" icon="cross" onClick={stop} />}
        />
      )}
      {doing === "find" && <Find chat={chat} onJump={setJump} onDone={stop} />}
      {doing === "clear" && <Rewind kind="clear" onDone={stop} />}
      {doing === "changes" && <AllChanges title={title || agent} onDone={stop} />}
      {isEmpty && !failed && !inTerminal && <EmptyChat agent={agent} />}
      {!isEmpty && <Transcript chat={chat} jump={jump} started={started} />}
      <SessionTrouble agent={agent} session={session} />
      <AgentWarning session={session} />
      <div class="column foot">
        <InputRequests requests={waitingRequests(chat)} agent={agent} />
        <Refusals here={(one) => sessionChannel(one) === resource} />
        <WaitingQuestions chat={chat} agent={agent} onGo={onGo} />
        <FollowUps chat={chat} disabled={dead || failed} />
        <Queue messages={chat.queuedMessages ?? []} running={chat.activeTurn?.id} />
        {inTerminal ? (
          <p class="note">
            {agent.replace(/ \(terminal\)$/, "")} works in a terminal: write to it there. What it does with this kernel
            is shown here.
          </p>
        ) : (
          <Prompt
            running={chat.activeTurn?.id}
            queued={chat.queuedMessages}
            agent={agent}
            commands={session.commands}
            disabled={dead}
            held={failed}
            onIntent={asleep && !dead ? wake : undefined}
            onStart={onStart}
          />
        )}
        <Uses session={session} />
        <Meter agent={agent} session={session} chat={chat} disabled={dead || failed} />
      </div>
    </PlaceContext.Provider>
  );
}

/** Who has a conversation on screen has read it. */
function useMarkRead(resource: string, session: SessionState | undefined, chat: ChatState | undefined): void {
  const { store, visible } = useView();
  const told = useRef<number | undefined>(undefined);
  const seen = visible.value;
  const turns = chat?.turns.length ?? 0;
  const status = session?.status;
  useEffect(() => {
    if (status === undefined || isRead(status) || !isIdle(status) || chat?.activeTurn) return;
    if (told.current === turns || !seen) return;
    told.current = turns;
    store.dispatch(resource, { type: "session/isReadChanged", isRead: true });
  }, [status, chat?.activeTurn, turns, seen, resource, store]);
}

/** Copies or saves the conversation when its menu asks for it. */
function useTaking(
  doing: ConversationTask,
  done: (doing: ConversationTask) => void,
  channel: string,
  chat: ChatState | undefined,
  title: string,
): void {
  const { announce, store } = useView();
  useEffect(() => {
    if (!chat || (doing !== "copy" && doing !== "save")) return;
    done(undefined);
    const take = async () => {
      await fetchAll(store, channel).catch(() => undefined); // then with what there is
      const text = chatMarkdown(chat, title, store.older(channel).peek().turns);
      if (doing === "save") save(fileName(title), new Blob([text], { type: "text/markdown" }));
      else announce((await copyText(text)) ? "Conversation copied." : "Could not copy.");
    };
    take();
  }, [doing]);
}
