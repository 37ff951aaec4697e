/** Completions of a `/` command or an `@` mention: a list above the message box, which keeps the focus. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { table } from "../state/object";
import type { Suggestion } from "../state/requests.gen";
import type { AgentCommand } from "../state/types.gen";
import { usePlace, useView } from "./context";
import { Icon, type IconName } from "./icons";
import { line } from "./plain";
import { useAnswer } from "./use-work";

interface Offer {
  name: string;
  /** The text that replaces what was typed. */
  insert: string;
  kind: string;
  detail: string;
}

const COMMAND = /^\/([\w:.-]*)$/;
const MENTION = /(?:^|[\s([{"'])@([\w./~:-]*)$/;
const ASK_AFTER = 40;
const MOST_COMMANDS = 50;
const ICONS: Record<string, IconName> = table({
  variable: "variable",
  file: "file",
  folder: "folder",
  cell: "execute",
  command: "chat",
});

/** Returns the offers for the text before the caret, and the start of the typed text, including its `/` or `@`. */
function useOffers(before: string | undefined, commands: readonly AgentCommand[]): [readonly Offer[], number] {
  const { store } = useView();
  const { chat } = usePlace();
  const command = COMMAND.exec(before ?? "")?.[1];
  const typed = MENTION.exec(before ?? "")?.[1];
  const { answer } = useAnswer(
    () => (typed === undefined ? undefined : store.request("complete", { channel: chat, start: typed })),
    [typed, chat, store],
    typed === undefined ? 0 : ASK_AFTER,
  );
  if (command !== undefined) return [commandOffers(commands, command), 0];
  if (before === undefined || typed === undefined) return [[], 0];
  return [answer?.items.map(offer) ?? [], before.length - typed.length - 1];
}

function offer({ text, kind, detail }: Suggestion): Offer {
  const name = String(text);
  const quoted = /\s/.test(name) ? `@"${name}"` : `@${name}`;
  const insert = kind === "folder" ? quoted : `${quoted} `;
  return { name: `@${line(name, 120)}`, insert, kind, detail: line(detail ?? "", 120) };
}

function commandOffers(commands: readonly AgentCommand[], typed: string): Offer[] {
  const wanted = typed.toLowerCase();
  const fits = commands.filter((command) => command.name.toLowerCase().includes(wanted));
  const first = (command: AgentCommand) => (command.name.toLowerCase().startsWith(wanted) ? 0 : 1);
  return fits
    .toSorted((a, b) => first(a) - first(b))
    .slice(0, MOST_COMMANDS)
    .map(({ name, description, hint }) => ({
      name: `/${line(name, 60)}`,
      insert: `/${name} `,
      kind: "command",
      detail: line([hint && `‹${hint}›`, description].filter(Boolean).join(" "), 160),
    }));
}

/** Offers completions for the text before the caret, and handles the keys that choose among them. */
export function useCompletion(
  id: string,
  box: { current: HTMLTextAreaElement | null },
  write: (text: string) => void,
  commands: readonly AgentCommand[],
) {
  const [before, setBefore] = useState<string>();
  const [chosen, setChosen] = useState(0);
  const [offers, from] = useOffers(before, commands);
  const at = Math.min(chosen, Math.max(0, offers.length - 1));
  const look = (open = true) => {
    const area = box.current;
    setChosen(0);
    setBefore(open && area ? area.value.slice(0, area.selectionStart) : undefined);
  };
  const choose = (index: number) => {
    const area = box.current;
    const { insert } = offers[index] as Offer;
    if (!area || before === undefined) return;
    const start = area.value.slice(0, from) + insert;
    area.value = start + area.value.slice(before.length);
    write(area.value);
    area.setSelectionRange(start.length, start.length);
    look(insert.endsWith("/"));
  };
  const onKey = (event: KeyboardEvent): boolean => {
    const offered = offers[at];
    if (!offered) return false;
    if (event.key === "ArrowDown") setChosen((at + 1) % offers.length);
    else if (event.key === "ArrowUp") setChosen((at - 1 + offers.length) % offers.length);
    // A fully typed name needs no choice: Enter sends.
    else if (event.key === "Enter" && offered.insert.trim() === before?.slice(from)) return false;
    else if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey)) choose(at);
    else if (event.key === "Escape") look(false);
    else return false;
    event.preventDefault();
    return true;
  };
  const isOpen = offers.length > 0;
  return {
    look,
    onKey,
    list: isOpen && <Offers id={id} offers={offers} at={at} onChoose={choose} />,
    /** ARIA attributes of the message box. */
    marks: { "aria-controls": isOpen ? id : undefined, "aria-activedescendant": isOpen ? `${id}-${at}` : undefined },
  };
}

interface OffersProps {
  id: string;
  offers: readonly Offer[];
  at: number;
  onChoose: (at: number) => void;
}

function Offers({ id, offers, at, onChoose }: OffersProps) {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const box = list.current;
    const item = box?.children[at] as HTMLElement | undefined;
    if (!box || !item) return;
    if (item.offsetTop < box.scrollTop) box.scrollTop = item.offsetTop;
    else box.scrollTop = Math.max(box.scrollTop, item.offsetTop + item.offsetHeight - box.clientHeight);
  }, [at, offers]);
  return (
    <div class="offers" role="listbox" id={id} aria-label="Completions" ref={list}>
      {offers.map((offer, index) => (
        <div
          key={offer.name}
          role="option"
          id={`${id}-${index}`}
          class="row offer"
          tabIndex={-1}
          aria-selected={index === at}
          // The mouse must not take the focus out of the box.
          onPointerDown={(event) => {
            event.preventDefault();
            onChoose(index);
          }}
        >
          <Icon name={ICONS[offer.kind] ?? "other"} />
          <span class="cut offer-name">{offer.name}</span>
          <span class="dim small cut">{offer.detail}</span>
        </div>
      ))}
    </div>
  );
}
