/** One conversation: its transcript, questions, queue and message box. */
import { signal } from "@preact/signals";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { waitingRequests } from "../state/chat-inputs";
import type { AgentInfo, ChatState, Message, SessionState, SessionSummary } from "../state/types.gen";
import { AgentPill } from "./agent-pill";
import { useAnnouncements } from "./announcements";
import { useBeginning } from "./beginning";
import { ErrorCard } from "./cards";
import { PlaceContext, useView } from "./context";
import { copyText } from "./copy";
import { EmptyChat } from "./empty-chat";
import { chatMarkdown, fetchAll } from "./export";
import { Find } from "./find";
import { FollowUps } from "./follow-ups";
import { Freedom } from "./freedom";
import { showAgents } from "./host-events";
import { IconButton, Spacer } from "./icons";
import { chatChannel, isReadOnly, isRemote, provider, ROOT, sessionChannel } from "./identity";
import { isNews } from "./news";
import { AgentWarning, SessionTrouble, useGap } from "./notices";
import { Fetched } from "./on-demand";
import { useOnScreen } from "./on-screen";
import { AllChanges } from "./parts/change-set";
import { line, plain } from "./plain";
import { Prompt } from "./prompt";
import { Queue } from "./queue";
import { Refusals } from "./rejected-actions";
import { RenameForm } from "./rename";
import { Rewind } from "./rewind";
import { fileName, save } from "./save-file";
import { isIdle, isRead, needsAnswer } from "./status";
import { agentName } from "./tabs";
import { type Jump, Transcript } from "./transcript";
import { useUsage } from "./usage";
import { InputRequests, WaitingQuestions } from "./waiting-questions";

export type ConversationTask = "changes" | "find" | "rename" | "copy" | "save" | "clear" | undefined;

interface Props {
  /** Undefined before the conversation exists. */
  resource: string | undefined;
  /** The conversation that is about to reopen and owns this box, if any. */
  opening: string | undefined;
  summary: SessionSummary | undefined;
  agents: readonly AgentInfo[];
  dead: boolean;
  doing: ConversationTask;
  setDoing: (doing: ConversationTask) => void;
  /** The turn that the user wants to see, in any conversation. */
  jump: Jump | undefined;
  onGo: (resource: string) => void;
  /** A conversation is about to begin in the box of `before`, or of none: that one stays in sight. */
  onBeginning: (before: string | undefined) => void;
  /** A conversation has begun in the box of `before`, and takes its place if `replaces`; calls `done` once it has. */
  onBegun: (channel: string, before: string | undefined, replaces: boolean, done: () => void) => void;
}

const NONE = signal(undefined);

export function Conversation(props: Props) {
  const { resource, opening, summary, agents, dead, doing, setDoing, onGo, onBeginning, onBegun } = props;
  const { store, cadence, root, drafts } = useView();
  const session = cadence.paced(resource === undefined ? NONE : store.session(resource)).value;
  const its = resource ?? opening;
  const channel = its === undefined ? ROOT : (session?.defaultChat ?? chatChannel(its));
  const chat = cadence.paced(resource === undefined ? NONE : store.chat(channel)).value;
  const place = useMemo(() => ({ session: resource ?? ROOT, chat: channel }), [resource, channel]);
  const [jump, setJump] = useState<Jump>();
  useEffect(() => setJump(props.jump), [props.jump]);
  const [started, setStarted] = useState(0);
  const onStart = useCallback(() => setStarted((times) => times + 1), []);
  const [folder, setFolder] = useState("");
  const isEmpty = !chat || (chat.turns.length === 0 && !chat.activeTurn);
  const beginning = useBeginning(
    () => onBeginning(resource),
    (begun, done) => onBegun(begun, resource, isEmpty, done),
  );
  const byDefault = useDefaultAgent(agents);
  const provided = its === undefined ? (byDefault ?? "") : provider(its);
  const wanted = beginning.starts || session?.provider || provided;
  const title = line(summary?.title ?? session?.title ?? "", 200);
  const agent = wanted && agentName(agents, wanted, title);
  useAnnouncements(chat, agent);
  useOnScreen(resource);
  useMarkRead(resource, session, chat);
  useTaking(doing, setDoing, channel, chat, title || agent);
  const stop = () => setDoing(undefined);
  const gap = useGap(resource);
  const woken = useRef(false);
  const process = session?.agentProcess;
  const failed = session?.lifecycle === "failed";
  const asleep = session !== undefined && isEmpty && session.lifecycle === "creating" && process === undefined;
  // The agent starts while the user writes, since its commands are useful then. If the kernel cannot do so, the first
  // prompt starts it.
  const wake = useCallback(() => {
    if (!woken.current && resource) store.request("openSession", { channel: resource }).catch(() => undefined);
    woken.current = true;
  }, [resource, store]);
  const latest = useRef(beginning);
  latest.current = beginning;
  const onBegin = useCallback(
    (message: Message) => {
      if (latest.current.starts) return latest.current.later(message);
      if (wanted) return void latest.current.begin(wanted, { message, folder, from: ROOT });
      latest.current.later(message);
      if (drafts.of(ROOT).peek().trim() === "") drafts.set(ROOT, message.text);
      showAgents(root, "agents");
    },
    [wanted, folder, root, drafts],
  );
  const usage = useUsage(session, channel, chat);
  const onAgent = (chosen: string, where = folder) => {
    setFolder(where);
    if (chosen === session?.provider && isEmpty && where === folder && !failed) return;
    void beginning.begin(chosen, { folder: where, ...(isEmpty && { from: channel }) });
  };
  const asks = summary !== undefined && needsAnswer(summary.status); // a question waits: nobody wants another agent now
  const isStarting = beginning.starts !== "" || process?.state === "starting";
  const foot = useMemo(
    () => (
      <>
        {!asks && (
          <AgentPill
            name={agent}
            agent={wanted}
            session={session}
            hasBegun={!isEmpty}
            isStarting={isStarting}
            disabled={dead}
            usage={usage.words}
            folder={folder}
            waits={beginning.waits}
            onStart={onAgent}
            onClosed={() => latest.current.starts || latest.current.forget()}
          />
        )}
        <Freedom session={session} disabled={dead || failed} />
        {usage.short && (
          <span class="context-full" title={usage.words}>
            {usage.short}
          </span>
        )}
      </>
    ),
    [agent, wanted, session, asks, isEmpty, isStarting, dead, failed, usage.words, folder, channel, beginning.waits],
  );
  if (resource !== undefined && gap && (!session || !chat)) return null;
  const readOnly = session !== undefined && isReadOnly(session.provider);
  return (
    <PlaceContext.Provider value={place}>
      {doing === "rename" && resource && (
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
      {doing === "find" && chat && <Find chat={chat} onJump={setJump} onDone={stop} />}
      {doing === "clear" && <Rewind kind="clear" onDone={stop} />}
      {doing === "changes" && <AllChanges title={title || agent} onDone={stop} />}
      {opening && <Spacer />}
      {isEmpty && !opening && !failed && !readOnly && <EmptyChat agent={agent} agents={agents} onAgent={onAgent} />}
      {!isEmpty && chat && <Transcript chat={chat} jump={jump} started={started} />}
      {session && chat && <SessionTrouble agent={agent} session={session} chat={chat} />}
      {session && <AgentWarning session={session} />}
      <div class="column foot">
        {beginning.failed && (
          <ErrorCard
            title={`${agentName(agents, beginning.failed.agent)} couldn't start`}
            message={beginning.failed.why}
            action={<div>Your message is still in the box: send it again, or choose another agent.</div>}
          />
        )}
        {chat && <InputRequests requests={waitingRequests(chat)} agent={agent} />}
        {resource && <Refusals here={(one) => sessionChannel(one) === resource} />}
        {chat && <WaitingQuestions chat={chat} agent={agent} onGo={onGo} />}
        {chat && <FollowUps chat={chat} disabled={dead || failed} />}
        {chat && <Queue messages={chat.queuedMessages ?? []} running={chat.activeTurn?.id} />}
        {session?.customizations?.some(isNews) && (
          <Fetched name="uses" what="what the agent is given" isQuiet>
            {({ Uses }) => <Uses session={session} />}
          </Fetched>
        )}
        {readOnly ? (
          process?.state === "running" && <p class="note">{plain(process.message)}</p>
        ) : (
          <Prompt
            running={chat?.activeTurn?.id}
            queued={chat?.queuedMessages}
            agent={agent}
            commands={session?.commands}
            disabled={dead}
            held={its === undefined ? byDefault === undefined : !chat}
            onIntent={asleep && !dead ? wake : undefined}
            onStart={onStart}
            onBegin={resource === undefined || beginning.starts ? onBegin : undefined}
          >
            {foot}
          </Prompt>
        )}
      </div>
    </PlaceContext.Provider>
  );
}

/** Returns the default agent, from the kernel's configuration; for another host's kernel, the first available one. */
function useDefaultAgent(agents: readonly AgentInfo[]): string | undefined {
  const root = useView().store.root.value;
  const name = root?.config?.values.agent;
  if (isRemote(root)) return agents.find(({ missing, hidden }) => !missing && !hidden)?.provider ?? "";
  return typeof name === "string" ? name : undefined;
}

/** Marks a conversation as read while it is on screen. */
function useMarkRead(
  resource: string | undefined,
  session: SessionState | undefined,
  chat: ChatState | undefined,
): void {
  const { store, visible } = useView();
  const readTurns = useRef<number | undefined>(undefined);
  const seen = visible.value;
  const turns = chat?.turns.length ?? 0;
  const status = session?.status;
  useEffect(() => {
    if (resource === undefined || status === undefined || isRead(status) || !isIdle(status) || chat?.activeTurn) return;
    if (readTurns.current === turns || !seen) return;
    readTurns.current = turns;
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
      await fetchAll(store, channel).catch(() => undefined); // then only the fetched turns
      const text = chatMarkdown(chat, title, store.older(channel).peek().turns);
      if (doing === "save") save(fileName(title), new Blob([text], { type: "text/markdown" }));
      else announce((await copyText(text)) ? "Conversation copied." : "Couldn't copy.");
    };
    take();
  }, [doing]);
}
