/**
 * The page that a phone opens with a code: the questions that wait, and their answers. It is one self-contained file
 * (agentnb/server/websocket/access.py); agents' texts are shown only as text.
 */
import { button, element, renew } from "../element";
import { isObject } from "../state/object";
import { line, reason } from "../view/plain";
import { card, type Question, type Turn, whose } from "./card";
import { type Access, Connection, type State } from "./connection";

interface Questions {
  readonly place: string;
  readonly questions: readonly Question[];
  readonly turns: readonly Turn[];
  readonly forms: number;
}

const KEY = "agentnb-phone";
const TOKEN = /^[A-Za-z0-9_-]{43}$/;
/** How long presses do nothing after cards were added, removed or moved, in milliseconds. */
const INERT_FOR = 500;
const EMPTY: Questions = { place: "", questions: [], turns: [], forms: 0 };
const SENTENCES: Record<State, string> = {
  connecting: "Connecting…",
  live: "Connected.",
  cut: "Not connected. Trying again… If the kernel was restarted, scan a new code.",
  ended: "Not paired.",
};

const status = element("p", { class: "status", role: "status" });
const unsafe = element("p", "unsafe", "Not encrypted: others in this network can read along.");
const list = element("div", "list");
const rest = element("div", "list");
const cards = new Map<string, { json: string; element: HTMLElement }>();
let last = EMPTY;
let armedAt = 0;
let connection: Connection | undefined;

function show(state: State, why: string): void {
  document.body.dataset.state = state;
  status.textContent = [why, SENTENCES[state], state === "ended" ? "Scan a new code to go on." : ""]
    .filter(Boolean)
    .join(" ");
  if (state !== "ended") return;
  sessionStorage.removeItem(KEY);
  draw(EMPTY);
}

/** Draws the questions; unchanged cards keep their elements. */
function draw(now: Questions): void {
  last = now;
  const before = [...cards.keys()].join();
  const wanted = now.questions.map(
    (question) => [`${question.channel} ${question.call.toolCallId}`, question] as const,
  );
  for (const id of [...cards.keys()]) if (!wanted.some(([one]) => one === id)) cards.delete(id);
  for (const [id, question] of wanted) {
    const json = JSON.stringify(question);
    if (cards.get(id)?.json !== json) cards.set(id, { json, element: cardOf(question) });
  }
  const elements = wanted.map(([id]) => cards.get(id)?.element as HTMLElement);
  const isSame = elements.length === list.children.length && elements.every((each, n) => each === list.children[n]);
  if (!isSame) list.replaceChildren(...elements);
  const asking = new Set(now.questions.map(({ turnId }) => turnId));
  renew(
    rest,
    ...(now.forms > 0
      ? [element("p", "note", "Another question waits: it can be answered in the notebook only.")]
      : []),
    ...(document.body.dataset.state !== "ended" && wanted.length === 0
      ? [element("p", "empty", "Nothing waits for you.")]
      : []),
    ...now.turns.filter(({ turnId }) => !asking.has(turnId)).map(running),
  );
  if ([...cards.keys()].join() !== before) settle();
  document.title = wanted.length > 0 ? `(${wanted.length}) agentnb` : "agentnb";
}

/** Ignores presses for a moment: they may be meant for the card that was here before. */
function settle(): void {
  armedAt = performance.now() + INERT_FOR;
  document.body.dataset.armed = "false";
  setTimeout(() => {
    if (performance.now() >= armedAt) document.body.dataset.armed = "true";
  }, INERT_FOR + 20);
}

function cardOf(question: Question): HTMLElement {
  const { channel, turnId, call } = question;
  const { toolCallId } = call;
  const made = card(question, last.place, {
    answer: (approved) => ask("x-agentnb/answerQuestion", { channel, turnId, toolCallId, approved }),
    preview: () => ask("x-agentnb/previewQuestion", { channel, toolCallId }),
    stop: () => ask("x-agentnb/stopTurn", { channel, turnId }),
  });
  const ask = (method: string, params: Record<string, unknown>) => {
    if (performance.now() < armedAt) return;
    const trouble = made.querySelector<HTMLElement>(".trouble");
    connection?.ask(method, params).catch((error: unknown) => {
      if (trouble) trouble.textContent = line(reason(error), 300);
    });
  };
  return made;
}

function running(turn: Turn): HTMLElement {
  const { channel, turnId, agent } = turn;
  const stop = () =>
    performance.now() < armedAt ||
    void connection?.ask("x-agentnb/stopTurn", { channel, turnId }).catch(() => undefined);
  const made = element(
    "div",
    "running",
    element("p", "", `${whose(turn, last.place)} is working.`),
    button("Stop", stop, { class: "button", label: `Stop ${line(agent, 60)}` }),
  );
  made.dataset.turn = `${channel} ${turnId}`;
  return made;
}

function isQuestions(value: unknown): value is Questions {
  return isObject(value) && Array.isArray(value.questions) && Array.isArray(value.turns);
}

const isLocal = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(location.hostname);
unsafe.hidden = location.protocol === "https:" || isLocal;
document.body.append(element("main", "", element("h1", "", "Questions of your agents"), unsafe, status, list, rest));
const access = takeAccess();
if (access) {
  show("connecting", "");
  connection = new Connection(access, show, (message) => isQuestions(message) && draw(message));
} else {
  show("ended", "The address has no code in it.");
}

/** Takes the access from the address, or from this tab's storage; undefined if neither has one. */
function takeAccess(): Access | undefined {
  const token = location.hash.slice(1);
  history.replaceState(null, "", location.pathname + location.search);
  if (TOKEN.test(token)) {
    const access = { token, clientId: newId() };
    sessionStorage.setItem(KEY, JSON.stringify(access));
    return access;
  }
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "") as Partial<Access>;
    if (typeof kept.token === "string" && typeof kept.clientId === "string") return kept as Access;
  } catch {
    // Nothing valid is stored.
  }
  return undefined;
}

/** Not `crypto.randomUUID`: it exists only in secure contexts. */
function newId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
