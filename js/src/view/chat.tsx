/** The whole chat: tabs, one conversation with its queue, and the message box. */

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

/** In milliseconds: the time to reopen a closed tab from here; the kernel keeps it a little longer. */
const UNDO_FOR = 10_000;
/** The key of a conversation that has not begun yet. */
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
  // Moves text that was typed into the former box before the switch.
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
  const duplicated = useExpected(sessions, (resource) => {
    select(resource);
    announce("Conversation duplicated.");
  });
  const duplicate = (channel: string) => {
    setTrouble(undefined);
    store.request("forkSession", { channel }).then(
      (made) => duplicated(made.channel),
      (error: unknown) => setTrouble({ what: "duplicated", why: reason(error) }),
    );
  };
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
            // While a question waits, the chat shows only that; the menu also has this action.
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

/** Returns the channel of a conversation's messages; without a conversation, that of the next one's box. */
function chatOf(store: Store, resource: string | undefined): string {
  return resource === undefined ? ROOT : (store.session(resource).peek()?.defaultChat ?? chatChannel(resource));
}

/** The panel shown in place of the conversation; on close, the focus returns to where it was. */
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
  return { isShown, close, leave: () => show(undefined), toggle };
}

/**
 * Returns the active tab: the one chosen here, else the requested one, else the newest; undefined for one that has not
 * begun yet.
 */
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

/** Keys of the message boxes: a conversation that begins in a box keeps it, with its focus. */
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

/** A failed tab action, notifications that the browser blocks, or a setting that could not be changed. */
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

/** Calls `then` once the tab of the expected channel exists, which may be before or after the kernel's answer. */
function useExpected(sessions: readonly SessionSummary[], then: (resource: string) => void) {
  const [expected, expect] = useState<string>();
  useEffect(() => {
    if (expected === undefined || !sessions.some((session) => session.resource === expected)) return;
    expect(undefined);
    then(expected);
  }, [sessions, expected]);
  return expect;
}

/** Closes a tab and offers for a while to reopen it. The kernel keeps it at least as long. */
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

/** Asks before the kernel is opened to the user's other programs: it widens who can reach it. */
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
