/** Announces the ends of turns, permission requests and forms to screen readers; never the streamed text. */

import { useEffect, useRef } from "preact/hooks";
import { waitingRequests } from "../state/chat-inputs";
import { table } from "../state/object";
import type { ChatState, Turn } from "../state/types.gen";
import { useView } from "./context";
import { toolTitle } from "./parts/tool-body";
import { pendingCalls } from "./permission-answer";
import { line } from "./plain";
import type { AnyTurn } from "./store";

const ENDED: Record<Turn["state"], string> = table({
  complete: "has finished",
  cancelled: "was stopped",
  error: "has failed",
});

export function useAnnouncements(chat: ChatState | undefined, agent: string): void {
  const { announce } = useView();
  const running = useRef<string | undefined>(undefined);
  const announced = useRef(new Set<string>());
  useEffect(() => {
    const ended = chat?.turns.at(-1);
    if (running.current && ended?.id === running.current) announce(`${agent} ${ENDED[ended.state]}.`);
    running.current = chat?.activeTurn?.id;
    const forms = waitingRequests(chat).map(({ id, message }) => [
      id,
      `asks: ${line(message, 200) || "see the form above the message box"}`,
    ]);
    const calls = questions(chat?.activeTurn).map(([id, title]) => [id, `asks for permission: ${title}`]);
    for (const [id = "", what] of [...forms, ...calls]) {
      if (announced.current.has(id)) continue;
      announced.current.add(id);
      announce(`${agent} ${what}`);
    }
  }, [chat, agent, announce]);
}

export function questions(turn: AnyTurn | undefined | null): [id: string, title: string][] {
  return pendingCalls(turn).map((call) => [`${turn?.id} ${call.toolCallId}`, toolTitle(call)]);
}
