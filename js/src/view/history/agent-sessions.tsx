/** The sessions that only the agent keeps, not the log; fetched on a click, since that may start the agent. */

import { useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import type { AgentKeptSession } from "../../state/requests.gen";
import { Button, TextButton, Trouble } from "../controls";
import { Spinner } from "../icons";
import { line, plain } from "../plain";
import { useWork } from "../use-work";

interface Props {
  /** The agent's name in the catalogue. */
  agent: string;
  title: string;
  everywhere: boolean;
  request: Request;
  open: (uri: string) => void;
}

export function AgentSessions({ agent, title, everywhere, request, open }: Props) {
  const [sessions, setSessions] = useState<readonly AgentKeptSession[]>();
  const [cursor, setCursor] = useState<string>();
  const { isBusy, trouble, run } = useWork();
  const fetch = async () => {
    const params = { agent, ...(everywhere && { everywhere }), ...(cursor !== undefined && { cursor }) };
    const answer = await request("listAgentSessions", params);
    setSessions([...(sessions ?? []), ...answer.sessions]);
    setCursor(answer.cursor);
  };
  const take = async (one: AgentKeptSession) => {
    const params = { agent, id: one.id, ...(one.cwd && { cwd: one.cwd }), ...(one.title && { title: one.title }) };
    open((await request("openAgentSession", params)).channel);
  };
  return (
    <section aria-label={`Kept by ${title}`}>
      {sessions && <h4>Kept by {title} itself</h4>}
      {sessions?.length === 0 && <p class="dim small">Nothing that isn't listed above.</p>}
      <ul class="list">
        {(sessions ?? []).map((one) => (
          <li key={one.id} class="history-row row history-line history-own">
            <span class="column history-about">
              <span class="cut history-title">{line(one.title, 120) || line(one.id, 60)}</span>
              <span class="dim small" title={plain(one.cwd)}>
                {one.modifiedAt !== undefined && `${new Date(one.modifiedAt).toLocaleString()} · `}
                {line(one.cwd, 80)}
              </span>
            </span>
            <span class="chip">{title}'s own</span>
            <Button
              disabled={isBusy}
              aria-label={`Open ${line(one.title, 60) || line(one.id, 60)}`}
              onClick={() => void run(() => take(one))}
            >
              Open
            </Button>
          </li>
        ))}
      </ul>
      <Trouble text={line(trouble, 600)} class="history-trouble small" />
      {isBusy && <Spinner />}
      {!isBusy && (!sessions || cursor !== undefined) && (
        <TextButton class="history-own-more" onClick={() => void run(fetch)}>
          {sessions ? "Show more" : `Show what ${title} keeps itself`}
        </TextButton>
      )}
    </section>
  );
}
