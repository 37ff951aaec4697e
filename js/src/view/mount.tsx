/** Mounts a view in an element: its shadow root, styles and app, and its clean-up. */
import { effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { render } from "preact";
import { Cadence } from "./cadence";
import { Chat } from "./chat";
import { type View, ViewContext } from "./context";
import { draftsOf } from "./drafts";
import { SideBySide } from "./history";
import { lookOf, uuid } from "./identity";
import { keepShortcutsAway } from "./keyboard";
import { Memory, takePlace } from "./memory";
import { addChat } from "./on-screen";
import { refocus } from "./refocus";
import { isOver, type Store, type What } from "./store";
import { addStyles } from "./styles/sheet";
import { TextGrowth } from "./text-growth";
import { TurnView } from "./turn-view";
import { nearScreen, watchVisibility } from "./visibility";

/** In milliseconds: a screen reader drops a sentence that it has not begun when another one replaces it. */
const SAID_TOGETHER = 1_000;
const AT_MOST = 3;

/** Announces by setting `announcement`; joins sentences that come close together. */
function announcements(announcement: Signal<string>): (sentence: string) => void {
  let recent: { sentence: string; at: number }[] = [];
  return (sentence) => {
    const at = performance.now();
    recent = [...recent.filter((one) => at - one.at < SAID_TOGETHER), { sentence, at }].slice(-AT_MOST);
    announcement.value = recent.map((one) => one.sentence).join(" ");
  };
}

/** The root of a view: its content, and the live region for screen readers. */
function App({ view, what, announcement }: { view: View; what: What; announcement: ReadonlySignal<string> }) {
  return (
    <ViewContext.Provider value={view}>
      {what.kind === "chat" ? (
        <Chat tab={what.tab} />
      ) : what.kind === "turn" ? (
        <TurnView channel={what.channel} turnId={what.turnId} />
      ) : (
        <SideBySide id={what.id} />
      )}
      <div class="sr-only" role="status" aria-live="polite">
        {announcement}
      </div>
    </ViewContext.Provider>
  );
}

/** Mounts into a new child of `el` (anywidget reuses `el`); returns a function that removes it. */
export function mount(el: HTMLElement, store: Store, what: What): () => void {
  const host = el.appendChild(document.createElement("div"));
  host.className = `agentnb-view agentnb-${what.kind}`;
  const root = host.attachShadow({ mode: "open" });
  addStyles(root);
  const body = root.appendChild(document.createElement("div"));
  body.className = `root ${what.kind}`;

  const announcement = signal("");
  const visible = signal(false);
  const near = nearScreen();
  const focus = refocus(root);
  const drafts = draftsOf(store);
  const memory = new Memory();
  const place = takePlace(store, what);
  const view: View = {
    store,
    cadence: new Cadence(),
    root,
    memory,
    drafts,
    visible,
    near: near?.watch,
    growth: new TextGrowth(body),
    toBox: focus.toBox,
    announce: announcements(announcement),
  };
  const save = () => {
    drafts.flush();
    memory.flush();
  };
  const link = store.view(uuid(), host);
  const ends = [
    effect(() => {
      const hostId = store.hostId.value;
      if (hostId === undefined) return;
      host.dataset.agentnbHost = hostId;
      memory.keptUnder(`agentnb view ${hostId} ${place.name}`);
    }),
    effect(() => void body.classList.toggle("is-over", isOver(store.connection.value))),
    effect(() => {
      const { density, text_width, font_size } = lookOf(store.root.value);
      Object.assign(body.dataset, { density, width: text_width, font: font_size });
    }),
    watchVisibility(host, (seen) => {
      visible.value = seen;
      view.cadence.setVisible(seen);
      link.setVisible(seen);
      if (!seen) save();
    }),
    keepShortcutsAway(host),
    () => render(null, body),
    () => view.cadence.dispose(),
    () => view.growth.end(),
    () => near?.dispose(),
    () => focus.dispose(),
    () => place.leave(),
    () => link.close(),
    ...(what.kind === "chat" ? [addChat(store, host)] : []),
  ];
  window.addEventListener("pagehide", save);
  render(<App view={view} what={what} announcement={announcement} />, body);

  return () => {
    save();
    window.removeEventListener("pagehide", save);
    for (const end of ends) end();
    host.remove();
  };
}
