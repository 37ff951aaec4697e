/** Lists conversations of this notebook's earlier kernels from the log, to reopen them. */
import { useState } from "preact/hooks";
import type { Answer } from "../state/answers";
import type { SessionRecord } from "../state/requests.gen";
import { useView } from "./context";
import { Button } from "./controls";
import { Icon, Spacer } from "./icons";
import { count, line, reason } from "./plain";
import { agentName } from "./tabs";
import { useAnswer } from "./use-work";

/** Limit of offered conversations that were closed when their kernel ended; open ones are all offered. */
const AT_MOST = 6;
const LOOKED_AT = 100;

export function Earlier() {
  const { store, memory, announce } = useView();
  const root = store.root.value;
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<string>();
  // An older kernel offers nothing.
  const { answer } = useAnswer(
    () => store.request("listSessions", { here: true, limit: LOOKED_AT }),
    [store, store.hostId.value],
  );
  const trouble = failed ?? answer?.note;
  const kept = answer ? keptHere(answer) : [];
  const opened = new Set((root?.sessions ?? []).map((session) => session.resource));
  const left = kept.filter((one) => !opened.has(one.uri));
  const wereOpen = left.filter((one) => one.open);
  const offered = left.filter((one, at) => one.open || at < AT_MOST);
  if (offered.length === 0) return null;
  const open = async (wanted: readonly SessionRecord[]) => {
    setBusy(true);
    setFailed("");
    const failed: string[] = [];
    for (const { uri, title } of [...wanted].reverse()) {
      try {
        await store.request("resumeSession", { channel: uri });
        memory.set("active tab", uri);
      } catch (error) {
        failed.push(`${line(title, 60)}: ${reason(error)}`);
      }
    }
    if (failed.length < wanted.length) announce(reopened(wanted.length - failed.length));
    setFailed(failed.join(" "));
    setBusy(false);
  };
  return (
    <section class="column earlier-list" aria-label="Earlier conversations">
      <h3 class="row wraps">
        Earlier in this notebook
        {wereOpen.length > 1 && (
          <Button disabled={busy} onClick={() => open(wereOpen)}>
            Reopen {count(wereOpen.length)} conversations
          </Button>
        )}
      </h3>
      {offered.map((one) => (
        <button key={one.uri} type="button" class="row wraps earlier-one" disabled={busy} onClick={() => open([one])}>
          <Icon name="chat" />
          <span class="label cut">{line(one.title, 120)}</span>
          <Spacer />
          <span class="dim small">
            {line(agentName(root?.agents ?? [], one.agent), 40)} · {count(one.turns ?? 0)}{" "}
            {one.turns === 1 ? "turn" : "turns"} ·{" "}
            {new Date(one.modifiedAt).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}
          </span>
        </button>
      ))}
      {trouble && <p class="note">{line(trouble, 2000)}</p>}
    </section>
  );
}

const reopened = (number: number) => `Reopened ${count(number)} conversation${number === 1 ? "" : "s"}.`;

/** Returns the sessions of an answer that are not open in another kernel. */
export function keptHere({ sessions, elsewhere = [] }: Answer<"listSessions">): readonly SessionRecord[] {
  return sessions.filter(({ uri }) => !elsewhere.includes(uri));
}
