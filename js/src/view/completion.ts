/** What is offered while a `/` command or an `@` mention is typed. */
import { useEffect, useState } from "preact/hooks";
import type { Suggestion } from "../state/requests.gen";
import type { AgentCommand } from "../state/types.gen";
import { usePlace, useView } from "./context";
import { line } from "./plain";

export interface Offer {
  /** What is shown, and written in place of what was typed. */
  name: string;
  insert: string;
  kind: string;
  detail: string;
}

export interface Completing {
  offers: readonly Offer[];
  /** Where what was typed begins, mark included. */
  from: number;
}

const COMMAND = /^\/([\w:.-]*)$/;
const MENTION = /(?:^|[\s([{"'])@([\w./~:-]*)$/;
const ASK_AFTER = 40;
const MOST_COMMANDS = 50;
const NOTHING: Completing = { offers: [], from: 0 };

/** The offers for the text before the caret. */
export function useCompletion(before: string | undefined, commands: readonly AgentCommand[]): Completing {
  const { store } = useView();
  const place = usePlace();
  const [mentions, setMentions] = useState<Completing>(NOTHING);
  const typed = before === undefined ? undefined : MENTION.exec(before)?.[1];
  const from = before === undefined || typed === undefined ? 0 : before.length - typed.length - 1;
  useEffect(() => {
    if (typed === undefined) return setMentions(NOTHING);
    let late = false;
    const ask = () =>
      store.request("complete", { channel: place.chat, start: typed }).then(
        ({ items }) => !late && setMentions({ offers: items.map(offer), from }),
        () => !late && setMentions(NOTHING),
      );
    const timer = setTimeout(ask, ASK_AFTER);
    return () => {
      late = true;
      clearTimeout(timer);
    };
  }, [typed, from, place.chat, store]);
  if (before === undefined) return NOTHING;
  const command = COMMAND.exec(before)?.[1];
  if (command !== undefined) return { offers: commandOffers(commands, command), from: 0 };
  return typed === undefined ? NOTHING : { ...mentions, from };
}

function offer({ text, kind, detail }: Suggestion): Offer {
  const name = String(text);
  const open = kind === "folder";
  const quoted = /\s/.test(name) ? `@"${name}"` : `@${name}`;
  return { name: `@${line(name, 120)}`, insert: open ? quoted : `${quoted} `, kind, detail: line(detail ?? "", 120) };
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
