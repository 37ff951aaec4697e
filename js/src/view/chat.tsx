/** The whole chat: tabs, one conversation, the queue and the box to write in. */

import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { SessionSummary } from "../state/types.gen";
import { useAfterRestart, useOpening } from "./after-restart";
import { ConfirmCard, ErrorCard, PlainBanner } from "./cards";
import { useMemory, useView } from "./context";
import { Button, useFocused } from "./controls";
import { Conversation, type ConversationTask } from "./conversation";
import { Panel } from "./history";
import { type PanelName, useHostEvent } from "./host-events";
import { IconButton, Spacer, Waiting } from "./icons";
import { chatChannel, isRemote, isTab, ROOT, sessionChannel } from "./identity";
import { isFindKey, isHistoryKey } from "./keyboard";
import { ConnectionBanner } from "./notices";
import { OnDemand } from "./on-demand";
import { line, reason } from "./plain";
import { Refusals } from "./rejected-actions";
import { isArchived, needsAnswer } from "./status";
import { isOver, type Store } from "./store";
import { TabMenu } from "./tab-menu";
import { agentName, Tabs, tabId } from "./tabs";
import type { Jump } from "./transcript";
import { useAfter, useArmed } from "./use-work";

/** How long a closed tab can be brought back from here; the kernel waits a little longer. */
const UNDO_FOR = 10_000;
/** Stands for the conversation that is yet to begin. */
const NEW = "new";

export function Chat({ tab }: { tab?: string | undefined }) {
  const { store, cadence, root: shadow, toBox, announce, drafts } = useView();
  const id = useId();
  const connection = store.connection.value;
  const refusal = store.refusal.value;
  const root = cadence.paced(store.root).value;
  const sessions = useMemo(() => (root?.sessions ?? []).filter((one) => !isArchived(one)), [root?.sessions]);
  const { opening, setOpening } = useOpening(sessions);
  const { active, select: choose } = useActive(sessions, tab, opening);
  const history = usePanel();
  const leave = () => history.leave();
  const boxes = useBoxes();
  const select = (resource: string | undefined) => {
    leave();
    choose(resource);
  };
  const [trouble, setTrouble] = useState<Trouble>();
  const goTo = (resource: string) => {
    select(resource);
    toBox();
  };
  const place = useRef({ before: undefined as string | undefined, replaces: false, done: () => {} });
  // What was typed before this went to the box before.
  const keepTyped = (before: string | undefined, resource: string | undefined) => {
    const [from, to] = [before, resource].map((one) => chatOf(store, one)) as [string, string];
    const late = drafts.of(from).peek();
    if (late === "" || from === to) return;
    drafts.set(to, drafts.of(to).peek() + late);
    drafts.set(from, "");
  };
  const begun = useExpected(sessions, (resource) => {
    const { before, replaces, done } = place.current;
    if (replaces && before !== resource) {
      boxes.hand(before, resource);
      keepTyped(before, resource);
      if (before) store.dispatch(before, { type: "session/isArchivedChanged", isArchived: true });
    }
    done();
    select(resource);
  });
  const startNew = () => {
    select(undefined);
    toBox();
  };
  const giveUp = (resource: string) => {
    setOpening(undefined);
    keepTyped(resource, undefined);
  };
  useAfterRestart(root, sessions, active, setOpening, giveUp, (why) => setTrouble({ what: "reopened", why }));
  const copy = useMaking(
    sessions,
    (resource) => {
      select(resource);
      announce("Conversation duplicated.");
    },
    setTrouble,
  );
  const duplicate = (resource: string) => copy("duplicated", store.request("forkSession", { channel: resource }));
  const { closed, close, reopen } = useClosing(sessions, select);
  const reopened = useExpected(sessions, goTo);
  const [jump, setJump] = useState<Jump>();
  useHostEvent<string>("agentnb-open", (event) => {
    const [resource = "", turnId] = event.detail.split("#");
    const known = root?.sessions?.find((one) => one.resource === resource);
    if (!known) return;
    event.preventDefault();
    if (turnId) setJump({ turnId, nonce: Date.now() });
    if (isArchived(known)) store.dispatch(resource, { type: "session/isArchivedChanged", isArchived: false });
    reopened(resource);
  });
  const [doing, setDoing] = useState<ConversationTask>();
  const begin = (task: ConversationTask) => {
    leave();
    setDoing(task);
  };
  const restart = (channel: string) => {
    setTrouble(undefined);
    store.request("restartAgent", { channel }).catch((error) => setTrouble({ what: "restarted", why: reason(error) }));
  };
  const agents = root?.agents ?? [];
  const pairing = root?.config?.values.pairing;
  const remote = root?.config?.values.remoteClients;
  const isElsewhere = isRemote(root);
  const hasRemote = isElsewhere || (Array.isArray(remote) && remote.length > 0);
  const [asksToPair, askToPair] = useState(false);
  const [hasPhone, showPhone] = useState(false);
  const pair = (pairing: boolean) => {
    askToPair(false);
    store.dispatch(ROOT, { type: "root/configChanged", config: { pairing } });
  };
  const dead = connection === "connecting" || isOver(connection);
  const summary = sessions.find((session) => session.resource === active);
  const find = () => {
    begin("find");
    const box = shadow.querySelector<HTMLInputElement>(".find input");
    box?.focus();
    box?.select();
  };
  const rename = (resource: string) => {
    select(resource);
    begin("rename");
  };
  return (
    <section
      class="column chat"
      aria-label="Agent chat"
      onKeyDown={(event) => {
        if (isFindKey(event)) find();
        else if (!isHistoryKey(event)) return;
        else if (!isElsewhere) history.toggle("history");
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <div class="row tabs">
        {sessions.length > 0 ? (
          <Tabs
            id={id}
            sessions={sessions}
            agents={agents}
            active={active}
            onSelect={select}
            onRename={rename}
            onClose={close}
          />
        ) : (
          <Spacer />
        )}
        {root && summary && (
          <IconButton
            name="New conversation"
            icon="plus"
            // While a question waits there is one thing to do; the menu has this, too.
            className={`icon-button${needsAnswer(summary.status) ? " unseen" : ""}`}
            disabled={dead}
            onClick={startNew}
          />
        )}
        {root && (
          <TabMenu
            session={active}
            onDo={begin}
            onNew={startNew}
            onDuplicate={duplicate}
            onRestart={restart}
            onRefused={() => setTrouble({ what: "notifications", why: REFUSED })}
            onClose={close}
            onPair={pairing === false ? () => askToPair(true) : undefined}
            onPhone={() => showPhone(true)}
          />
        )}
      </div>
      <ConnectionBanner session={active} />
      {asksToPair && pairing === false && <PairQuestion onYes={() => pair(true)} onNo={() => askToPair(false)} />}
      {(pairing === true || hasRemote) && (
        <OnDemand
          name="pairing"
          what="who is connected"
          context={{ root: store.root, pair }}
          className="banner plain-banner"
        />
      )}
      {hasPhone && (
        <OnDemand
          name="phone"
          what="the phone's code"
          context={{ root: store.root, request: store.request.bind(store), close: () => showPhone(false) }}
        />
      )}
      <Refusals here={(channel) => active === undefined || sessionChannel(channel) !== active} />
      {closed && (
        <PlainBanner
          text={`Closed ${agentName(agents, closed.provider, closed.title)}${closed.title && `: ${line(closed.title, 60)}`}`}
        >
          <Button onClick={reopen}>Undo</Button>
        </PlainBanner>
      )}
      {trouble && <ErrorCard title={titleOf(trouble)} message={trouble.why} />}
      {!root && !refusal && !isOver(connection) && <Waiting text="Connecting to the kernel…" />}
      {root && history.isShown && (
        <Panel
          id={`${id}-panel`}
          name={history.isShown}
          session={active}
          onClose={history.close}
          onRefused={(why) => setTrouble({ what: "setting", why })}
          onOpen={(resource) => {
            leave();
            reopened(resource);
          }}
        />
      )}
      {root && !history.isShown && (
        <div
          class="column panel"
          id={`${id}-panel`}
          {...(active ? { role: "tabpanel", "aria-labelledby": tabId(id, active) } : {})}
        >
          <Conversation
            key={boxes.keyOf(active ?? opening)}
            resource={active}
            opening={active ? undefined : opening}
            summary={summary}
            agents={agents}
            dead={dead}
            doing={doing}
            setDoing={setDoing}
            jump={jump}
            onGo={select}
            onBeginning={choose}
            onBegun={(channel, before, replaces, done) => {
              place.current = { before, replaces, done };
              begun(channel);
            }}
          />
        </div>
      )}
    </section>
  );
}

/** The channel of a conversation's messages; of none, that of the box for the next one. */
function chatOf(store: Store, resource: string | undefined): string {
  return resource === undefined ? ROOT : (store.session(resource).peek()?.defaultChat ?? chatChannel(resource));
}

/** The panel that stands in the place of the conversation, and where the keyboard's focus goes after it. */
function usePanel() {
  const { root } = useView();
  const [isShown, show] = useState<PanelName>();
  const before = useRef<Element | null>(null);
  const close = () => {
    show(undefined);
    const opener = before.current as HTMLElement | null;
    if (opener?.isConnected) opener.focus();
  };
  const open = (name: PanelName) => {
    if (!isShown) before.current = root.activeElement;
    show(name);
  };
  useHostEvent<PanelName>("agentnb-panel", (event) => {
    event.preventDefault();
    open(event.detail);
  });
  const toggle = (name: PanelName) => (isShown === name ? close() : open(name));
  return { isShown, show: open, close, leave: () => show(undefined), toggle };
}

/** The active tab: what was chosen here, else what was asked for, else the newest; undefined for one that is yet to begin. */
function useActive(sessions: readonly SessionSummary[], tab: string | undefined, opening: string | undefined) {
  const { drafts } = useView();
  const [chosen, choose] = useMemory<string | undefined>("active tab", undefined);
  const known = sessions.find((session) => session.resource === chosen);
  const wanted = tab === undefined ? undefined : sessions.find((session) => isTab(session.resource, tab));
  const select = (resource: string | undefined) => {
    drafts.flush();
    choose(resource ?? NEW);
  };
  return { active: chosen === NEW || opening ? undefined : (known ?? wanted ?? sessions.at(-1))?.resource, select };
}

/** Keys of the boxes: a conversation that begins in a box keeps it, with its focus. */
function useBoxes() {
  const keys = useRef(new Map<string, string>());
  const next = useRef(0);
  const keyOf = (resource: string | undefined): string =>
    resource === undefined ? `${NEW} ${next.current}` : (keys.current.get(resource) ?? resource);
  const hand = (before: string | undefined, resource: string) => {
    keys.current.set(resource, keyOf(before));
    if (before === undefined) next.current += 1;
    else keys.current.delete(before);
  };
  return { keyOf, hand };
}

/** A tab that did not come about, notifications that the browser refuses, or a setting that is not set. */
interface Trouble {
  what: "duplicated" | "restarted" | "reopened" | "notifications" | "setting";
  why: string;
}

const REFUSED =
  "Notifications are off. Allow them for this site in the browser's settings, then turn them on again in the ⋯ menu.";

function titleOf({ what }: Trouble): string {
  if (what === "notifications") return "The browser blocks notifications from this page";
  if (what === "setting") return "A setting was not changed";
  return `The conversation couldn't be ${what}`;
}

type Say = (trouble: Trouble | undefined) => void;

/** Has the kernel make a conversation, and goes to its tab: the one that it names, for other windows start some, too. */
function useMaking(sessions: readonly SessionSummary[], then: (resource: string) => void, say: Say) {
  const expect = useExpected(sessions, then);
  return (what: Trouble["what"], made: Promise<{ readonly channel: string }>) => {
    say(undefined);
    made.then(
      ({ channel }) => expect(channel),
      (error: unknown) => say({ what, why: reason(error) }),
    );
  };
}

/** Calls `then` once the tab of the expected channel is there, which may be before or after the kernel's answer. */
function useExpected(sessions: readonly SessionSummary[], then: (resource: string) => void) {
  const [expected, expect] = useState<string>();
  useEffect(() => {
    if (expected === undefined || !sessions.some((session) => session.resource === expected)) return;
    expect(undefined);
    then(expected);
  }, [sessions, expected]);
  return expect;
}

/** Closes a tab, and for a while offers to bring it back. The kernel keeps it as long. */
function useClosing(sessions: readonly SessionSummary[], select: (resource: string) => void) {
  const { store, announce } = useView();
  const [closed, setClosed] = useState<SessionSummary>();
  useAfter(closed && UNDO_FOR, () => setClosed(undefined), [closed]);
  const close = (resource: string) => {
    const at = sessions.findIndex((session) => session.resource === resource);
    const next = sessions[at + 1] ?? sessions[at - 1];
    if (next) select(next.resource);
    setClosed(sessions[at]);
    announce("Conversation closed.");
    store.dispatch(resource, { type: "session/isArchivedChanged", isArchived: true });
  };
  const reopen = () => {
    if (!closed) return;
    store.dispatch(closed.resource, { type: "session/isArchivedChanged", isArchived: false });
    select(closed.resource);
    setClosed(undefined);
  };
  const isBack = sessions.some(({ resource }) => resource === closed?.resource);
  return { closed: isBack ? undefined : closed, close, reopen };
}

const PAIRING = (
  <p>
    Any program you run on this machine can then see the variables and cells of this notebook. It can run code and
    change cells as your permissions allow (by default it asks each time), until you unpair or the kernel ends.
  </p>
);

/** Asks before the kernel is opened to programs of the user's own: it widens who can reach it. */
function PairQuestion({ onYes, onNo }: { onYes: () => void; onNo: () => void }) {
  const no = useFocused<HTMLButtonElement>();
  const armed = useArmed("pair");
  return (
    <ConfirmCard title="Pair a terminal agent?" what={PAIRING} onNo={onNo}>
      <div class="row wraps restart">
        <Button class="primary" aria-disabled={!armed} onClick={() => armed && onYes()}>
          Pair
        </Button>
        <Button ref={no} onClick={onNo}>
          Cancel
        </Button>
      </div>
    </ConfirmCard>
  );
}
