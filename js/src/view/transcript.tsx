/** The turns of one chat in a box that follows the newest, until the user scrolls away. */
import { useLayoutEffect } from "preact/hooks";
import type { ChatState, ResponsePart } from "../state/types.gen";
import { useMemory, usePlace, useView } from "./context";
import { Button } from "./controls";
import { allTurns, fetchAll } from "./export";
import { IconButton } from "./icons";
import { usePinned } from "./pinned";
import { count } from "./plain";
import type { AnyTurn } from "./store";
import { TurnItem } from "./turn";

const FIRST = 20;
const MORE = 50;
const NEAR_JUMP = 3;

/** A turn to go to; a new nonce goes there again. */
export interface Jump {
  turnId: string;
  nonce: number;
}

interface Props {
  chat: ChatState;
  jump?: Jump | undefined;
  /** Number of turns that the user started here: after a prompt the user wants to see the answer. */
  started: number;
}

export function Transcript({ chat, jump, started }: Props) {
  const place = usePlace();
  const { store } = useView();
  const older = store.older(place.chat).value;
  const [limit, show] = useMemory(`shown ${place.chat}`, FIRST);
  const { box, content, pinned, toEnd, goTo, ...listeners } = usePinned(`scroll ${place.chat}`);
  const all = allTurns(chat, older.turns);
  const retried = new Set(all.filter((turn, at) => isRetried(turn, all[at + 1])));
  const turns = all.filter((turn) => !retried.has(turn) || turn.responseParts.some(isAnswer));
  const here = Math.max(0, turns.length - limit);
  const hidden = here + older.left;
  const wanted = jump === undefined ? -1 : turns.findIndex((turn) => turn.id === jump.turnId);
  useLayoutEffect(() => {
    if (wanted < 0) return void (jump && fetchAll(store, place.chat).catch(() => undefined));
    if (wanted < here) show(turns.length - wanted + NEAR_JUMP);
    else goTo((jump as Jump).turnId);
  }, [jump, wanted < 0, wanted < here]);
  useLayoutEffect(() => {
    if (started > 0) toEnd();
  }, [started]);
  const showMore = () => {
    show(limit + MORE);
    if (here < MORE) store.fetchOlder(place.chat, MORE).catch(() => undefined); // the user can click the button again
  };
  return (
    <div class="transcript-container">
      <div
        class="transcript"
        ref={box}
        role="log"
        aria-label="Conversation"
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling box must be reachable by keyboard
        tabIndex={0}
        {...listeners}
      >
        <div class="turns" ref={content}>
          {hidden > 0 && (
            <Button class="earlier" onClick={showMore}>
              Show {count(Math.min(hidden, MORE))} earlier {hidden === 1 ? "turn" : "turns"}
              {hidden > MORE && ` of ${count(hidden)}`}
            </Button>
          )}
          {turns.slice(here).map((turn) => (
            <TurnItem key={turn.id} turn={turn} isRetried={retried.has(turn)} />
          ))}
        </div>
      </div>
      {!pinned && <IconButton className="round to-end" icon="down" name="Go to the latest message" onClick={toEnd} />}
    </div>
  );
}

/** True if a turn failed and its message was sent again right after: then only the later turn counts. */
function isRetried(turn: AnyTurn, next: AnyTurn | undefined): boolean {
  return "state" in turn && turn.state === "error" && next?.message.text === turn.message.text;
}

/** True for a part that the user would miss. */
const isAnswer = ({ kind }: ResponsePart): boolean => kind !== "error" && kind !== "systemNotification";
