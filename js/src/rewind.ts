/** Asks before turns are removed: to return to before a message, edit it or clear a conversation. Fetched on demand. */
import type { ReadonlySignal } from "@preact/signals";
import { button, element } from "./element";
import type { Answer } from "./state/answers";
import { line, plain } from "./view/plain";

const NAMED = 12;

/** The changes of the turns that will be removed, as far as they can be undone. */
export interface Later {
  readonly turns: number;
  readonly canUndo: boolean;
  /** The numbers of changes, in words. */
  readonly words: string;
  readonly names: readonly string[];
}

export interface RewindContext {
  readonly kind: "back" | "edit" | "clear";
  /** Resolves to the whole message, to edit. */
  text(): Promise<string>;
  /** It may arrive while the card is open. */
  readonly later: ReadonlySignal<Later>;
  /** True if Enter needs Ctrl to send. */
  readonly needsCtrl: boolean;
  go(changes: boolean, choices?: Readonly<Record<string, "mine">>): Promise<Answer<"rewindSession">>;
  /** Called once it is done; an edit passes the new text. */
  done(text: string): void;
  leave(): void;
}

const WORDS = {
  back: ["Go back to before this message?", "Go back"],
  edit: ["Edit and send again", "Send"],
  clear: ["Clear this conversation?", "Clear"],
} as const;

/** Shows the card in `into`; the result removes it. */
export default function mount(into: HTMLElement, context: RewindContext): () => void {
  const { kind } = context;
  const [title, word] = WORDS[kind];
  const box = element("textarea", { class: "field", label: "Your message" });
  const changes = Object.assign(element("input"), { type: "checkbox", checked: kind !== "clear" });
  const names = element("ul", "change-notes");
  const what = element("p", "dim");
  const number = element("span", "dim");
  const status = element("p", { class: "note", role: "status" });
  const go = button(word, () => void send(), "button small primary");
  const cancel = button("Cancel", () => context.leave(), "button small");
  let choices: Record<string, "mine"> | undefined;
  let isBusy = false;

  const say = (text: string) => {
    status.textContent = text;
    status.hidden = text === "";
  };
  const send = async () => {
    if (isBusy || (kind === "edit" && box.value.trim() === "")) return;
    isBusy = true;
    try {
      const { conflicts = [] } = await context.go(changes.checked && context.later.peek().canUndo, choices);
      if (conflicts.length === 0) return context.done(box.value);
      choices = Object.fromEntries(conflicts.map(({ path }) => [path, "mine"]));
      say(`Nothing was undone. These changed since and stay as they are: ${listed(conflicts)}.`);
      go.textContent = `${word} all the same`;
    } catch (error) {
      say(line(error instanceof Error ? error.message : String(error), 600));
    } finally {
      isBusy = false;
    }
  };
  const draw = (later: Later) => {
    what.textContent = sentence(kind, later.turns);
    number.textContent = later.words && ` (${later.words})`;
    names.replaceChildren(...namesOf(later.names));
    withChanges.hidden = !later.canUndo;
    names.hidden = !later.canUndo || !changes.checked;
  };
  changes.addEventListener("change", () => {
    choices = undefined;
    go.textContent = word;
    say("");
    draw(context.later.peek());
  });
  const withChanges = element(
    "label",
    "check",
    changes,
    element("span", "", "and files, cells and variables go back to how they were", number),
  );
  const card = element(
    "div",
    { class: "confirm card", role: "alertdialog", label: title },
    element("strong", "", title),
    ...(kind === "edit" ? [box] : []),
    what,
    withChanges,
    names,
    status,
    element("div", "row wraps restart", go, cancel),
  );
  card.addEventListener("keydown", (event) => {
    const isEnter = event.key === "Enter" && event.target === box && !event.shiftKey && !event.isComposing;
    if (event.key === "Escape") context.leave();
    else if (isEnter && (!context.needsCtrl || event.ctrlKey || event.metaKey)) void send();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  say("");
  const unsubscribe = context.later.subscribe(draw);
  into.append(card);
  if (kind === "edit") {
    void context.text().then(
      (text) => {
        box.value = text;
        box.rows = Math.min(12, Math.max(2, text.split("\n").length));
        box.focus();
      },
      (error: unknown) => say(line(String(error), 600)),
    );
  } else go.focus();
  return () => {
    unsubscribe();
    card.remove();
  };
}

function sentence(kind: RewindContext["kind"], turns: number): string {
  const what = turns === 1 ? "One turn will be removed" : `${turns} turns will be removed`;
  const how = kind === "clear" ? "" : ", with the rest of the conversation";
  return `${what}; History keeps a copy. The agent continues in a new session${how}.`;
}

function namesOf(names: readonly string[]): Node[] {
  const items = names.slice(0, NAMED).map((name) => element("li", "path", line(name, 200)));
  return names.length > NAMED ? [...items, element("li", "", `and ${names.length - NAMED} more`)] : items;
}

function listed(conflicts: NonNullable<Answer<"rewindSession">["conflicts"]>): string {
  const names = conflicts.slice(0, NAMED).map(({ path }) => plain(path));
  return names.join(", ") + (conflicts.length > NAMED ? ` and ${conflicts.length - NAMED} more` : "");
}
