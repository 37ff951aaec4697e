/** Which completions are offered while someone writes, and what chooses among them. */
import { useState } from "preact/hooks";
import type { AgentCommand } from "../state/types.gen";
import { type Offer, useCompletion } from "./completion";

/** The completions for what stands before the caret, and the keys that choose among them. */
export function useOffers(
  box: { current: HTMLTextAreaElement | null },
  write: (text: string) => void,
  commands: readonly AgentCommand[],
) {
  const [before, setBefore] = useState<string>();
  const [at, setAt] = useState(0);
  const { offers, from } = useCompletion(before, commands);
  const number = Math.min(at, Math.max(0, offers.length - 1));
  const look = (open = true) => {
    const area = box.current;
    setAt(0);
    setBefore(open && area ? area.value.slice(0, area.selectionStart) : undefined);
  };
  const choose = (index: number) => {
    const area = box.current;
    const { insert } = offers[index] as Offer;
    if (!area || before === undefined) return;
    const start = area.value.slice(0, from) + insert;
    const rest = area.value.slice(before.length);
    write(start + rest);
    area.value = start + rest;
    area.setSelectionRange(start.length, start.length);
    if (insert.endsWith("/")) look();
    else look(false);
  };
  const onKey = (event: KeyboardEvent): boolean => {
    if (offers.length === 0) return false;
    if (event.key === "ArrowDown") setAt((number + 1) % offers.length);
    else if (event.key === "ArrowUp") setAt((number - 1 + offers.length) % offers.length);
    else if (event.key === "Enter" && isWhole(offers[number] as Offer, before?.slice(from))) return false;
    else if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey)) choose(number);
    else if (event.key === "Escape") look(false);
    else return false;
    event.preventDefault();
    return true;
  };
  return { offers, at: number, look, onKey, choose };
}

/** What is typed in full need not be chosen: Enter sends. */
function isWhole(offer: Offer, typed: string | undefined): boolean {
  return offer.insert.trim() === typed;
}
