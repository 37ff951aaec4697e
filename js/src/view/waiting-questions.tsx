/** Lists waiting questions that are out of sight, above the message box: a click goes to each. */
import { useEffect, useState } from "preact/hooks";
import type { ChatInputRequest, ChatState } from "../state/types.gen";
import { questions } from "./announcements";
import { placesOf } from "./cell-proposals";
import { usePlace, useView } from "./context";
import { coded } from "./controls";
import { Icon } from "./icons";
import { Fetched } from "./on-demand";
import { line } from "./plain";
import { isArchived, tabState } from "./status";
import { agentName } from "./tabs";

/** The answers of each request, or the line that leads to them: a user who sees it can answer. */
const ANSWERS = ".transcript :is(.permission-options, .waiting-link)";

interface Props {
  chat: ChatState;
  agent: string;
  onGo: (resource: string) => void;
}

export function WaitingQuestions({ chat, agent, onGo }: Props) {
  const { store, root } = useView();
  const { session } = usePlace();
  const { agents = [], sessions = [] } = store.root.value ?? {};
  const openQuestions = questions(chat.activeTurn);
  const places = placesOf(store).value;
  // If the notebook shows a question in its cell, the transcript has a line for it instead of a card.
  const isSeen = useSeen(openQuestions.map(([id]) => `${id} ${places[`${chat.resource} ${id}`]?.where ?? ""}`).join());
  const others = sessions.filter(
    (one) => one.resource !== session && !isArchived(one) && tabState(one.status, false) === "needs you",
  );
  const first = openQuestions[0];
  // Focusing the card also scrolls the transcript to it.
  const show = () => root.querySelector(ANSWERS)?.closest<HTMLElement>(".permission, .waiting-link")?.focus();
  return (
    <>
      {first && !isSeen && <Bar words={`${agent} asks for permission: ${first[1]}`} onClick={show} />}
      {others.map(({ resource, provider, title }) => (
        <Bar
          key={resource}
          words={[...new Set([agentName(agents, provider, title), line(title, 60)])].filter(Boolean).join(": ")}
          note="needs your answer"
          onClick={() => onGo(resource)}
        />
      ))}
    </>
  );
}

function Bar({ words, note = "", onClick }: { words: string; note?: string; onClick: () => void }) {
  return (
    <button type="button" class="row waiting-question" onClick={onClick}>
      <Icon name="shield" />
      <span class="cut">{coded(words)}</span>
      {note && <span>{note}</span>}
      <span class="go">Show</span>
    </button>
  );
}

/** True if the answers of any request are on screen, or if the browser can't tell. */
function useSeen(ids: string): boolean {
  const { root } = useView();
  const [isSeen, set] = useState(true);
  useEffect(() => {
    set(true);
    if (!ids || typeof IntersectionObserver !== "function") return;
    const seen = new Set<Element>();
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) seen[isIntersecting ? "add" : "delete"](target);
        set(seen.size > 0);
      },
      { threshold: 0.5 },
    );
    for (const row of root.querySelectorAll(ANSWERS)) observer.observe(row);
    return () => observer.disconnect();
  }, [ids, root]);
  return isSeen;
}

/** Shows the agent's forms above the message box. */
export function InputRequests({ requests, agent }: { requests: readonly ChatInputRequest[]; agent: string }) {
  if (requests.length === 0) return null;
  return (
    <Fetched name="questions" what={`what ${agent} asks`} isQuiet>
      {({ InputForm }) => requests.map((request) => <InputForm key={request.id} request={request} agent={agent} />)}
    </Fetched>
  );
}
