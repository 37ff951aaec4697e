/** One try: its agent's text, measure, pictures, checks and changes, and the buttons to keep or discard it. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { PlaceContext, useView } from "../context";
import { Button, coded, TextButton, Trouble } from "../controls";
import { Icon, Spacer, Spinner } from "../icons";
import { chatChannel } from "../identity";
import { imageSource } from "../links";
import { Menu, type MenuItem } from "../menu";
import { pendingCalls } from "../permission-answer";
import { count, duration, line, plain } from "../plain";
import { useAnswer, useWork } from "../use-work";
import { Changes, partsOf } from "./changes";
import { type Try, type TrySet, triesOf } from "./requests";

/** The most lines of an agent's text that are shown, and characters. */
const LINES = 5;
const LONGEST = 400;
const STATES = { running: "Working", done: "Done", failed: "Failed", kept: "Kept", discarded: "Discarded" };

interface Props {
  set: TrySet;
  one: Try;
  onOpen: ((resource: string) => void) | undefined;
}

export function Card({ set, one, onOpen }: Props) {
  const { store, announce } = useView();
  const { isBusy, trouble, run } = useWork();
  const [chosen, choose] = useState<ReadonlySet<string>>();
  const box = useRef<HTMLElement>(null);
  const place = useMemo(() => ({ session: one.session, chat: chatChannel(one.session) }), [one.session]);
  const tries = triesOf(store);
  const name = `Try ${one.number}`;
  const isBest = set.best === one.number;
  const parts = partsOf(one);
  useEnd(one, name);
  const does = (work: () => Promise<unknown>, announcement: string) => () =>
    void run(async () => {
      await work();
      choose(undefined);
      announce(announcement);
      box.current?.focus();
    });
  const keep = does(() => tries.keep(set.id, one.number), `${name} was kept.`);
  const keepChosen = does(() => tries.keep(set.id, one.number, [...(chosen ?? [])]), `Parts of ${name} were kept.`);
  const items: MenuItem[] = [
    ...(one.state !== "running" && parts.length > 1
      ? [{ name: "Keep parts…", onSelect: () => choose(new Set()) }]
      : []),
    ...(onOpen ? [{ name: "Open the conversation", onSelect: () => onOpen(one.session) }] : []),
    { name: "Discard", onSelect: does(() => tries.discard(set.id, [one.number]), `${name} was discarded.`) },
    { name: "Discard all", onSelect: does(() => tries.discard(set.id, []), "All tries were discarded.") },
  ];
  return (
    <article class={`card try is-${one.state}`} aria-label={name} ref={box} tabIndex={-1}>
      <div class="row try-head">
        <strong>{name}</strong>
        <span class="dim cut">{line(one.agent, 40)}</span>
        {isBest && <span class="chip good">Best</span>}
        <Spacer />
        {one.state === "running" && <Spinner />}
        <span class={`small${one.state === "failed" ? " state bad" : " dim"}`}>{STATES[one.state]}</span>
      </div>
      {one.state === "running" ? <Live one={one} /> : <Result one={one} set={set} />}
      {one.state !== "kept" && (
        <PlaceContext.Provider value={place}>
          <Changes id={`${set.id} ${one.number}`} one={one} chosen={chosen} onChoose={choose} />
        </PlaceContext.Provider>
      )}
      <Trouble text={trouble} />
      {one.kept && (
        <p class="try-kept">
          {one.state === "kept" ? "Added to your notebook." : "Parts were added to your notebook."}{" "}
          {onOpen && <TextButton onClick={() => onOpen(one.kept)}>Changes and Undo</TextButton>}
        </p>
      )}
      {one.state !== "kept" && (
        <div class="row wraps try-foot">
          {one.state === "running" && (
            <Button disabled={isBusy} onClick={does(() => tries.stop(set.id, one.number), `${name} was stopped.`)}>
              Stop
            </Button>
          )}
          {one.state !== "running" && !chosen && (
            <Button class={isBest ? "primary" : ""} disabled={isBusy} aria-label={`Keep ${name}`} onClick={keep}>
              {isBusy ? "Wait…" : "Keep"}
            </Button>
          )}
          {chosen && (
            <>
              <Button class="primary" disabled={isBusy || chosen.size === 0} onClick={keepChosen}>
                {chosen.size === 0 ? "Keep parts" : `Keep ${chosen.size} ${chosen.size === 1 ? "part" : "parts"}`}
              </Button>
              <Button onClick={() => choose(undefined)}>Cancel</Button>
            </>
          )}
          <Spacer />
          {!chosen && (
            <Menu label={`More for ${name}`} items={items} placement="in-flow" disabled={isBusy}>
              <Icon name="more" />
            </Menu>
          )}
        </div>
      )}
    </article>
  );
}

/** Announces the end of a try. */
function useEnd({ state }: Try, name: string): void {
  const { announce } = useView();
  const before = useRef(state);
  useEffect(() => {
    if (before.current === "running" && state !== "running") announce(`${name}: ${STATES[state]}.`);
    before.current = state;
  }, [state]);
}

/** While it runs: the end of its agent's text, and a note if it waits for the user. */
function Live({ one }: { one: Try }) {
  const { store, cadence } = useView();
  const turn = cadence.paced(store.chat(chatChannel(one.session))).value?.activeTurn;
  const texts = (turn?.responseParts ?? []).flatMap((part) => (part.kind === "markdown" ? [part.content] : []));
  const asks = pendingCalls(turn).length > 0;
  return (
    <>
      <AgentAnswer text={texts.join("\n")} />
      {asks && (
        <p class="row try-asks">
          <Icon name="shield" /> Needs your answer: open its conversation.
        </p>
      )}
    </>
  );
}

function Result({ one, set }: { one: Try; set: TrySet }) {
  const facts = [
    one.verified === true ? "Verified" : "",
    one.verified === false ? "Not verified" : "",
    one.seconds > 0 ? duration(one.seconds * 1000) : "",
    one.tokens > 0 ? `${count(one.tokens)} tokens` : "",
    one.way === "replay" ? "Cells rerun in a fresh kernel" : "",
  ];
  return (
    <>
      {typeof one.measure === "number" && <p class="try-measure">{Number(one.measure.toPrecision(6)).toString()}</p>}
      {one.error && <p class="try-error">{line(one.error, 300)}</p>}
      {one.findings && <p class="note">{line(one.findings, 300)}</p>}
      <AgentAnswer text={one.says} />
      <Pictures one={one} set={set} />
      {one.checks.length > 0 && (
        <ul class="list try-checks" aria-label="Data checks">
          {one.checks.map((check) => (
            <li key={check}>
              <Icon name="alert" className="warn" />
              <span>{coded(line(check, 300))}</span>
            </li>
          ))}
        </ul>
      )}
      <p class="note">{facts.filter(Boolean).join(" · ")}</p>
    </>
  );
}

function AgentAnswer({ text }: { text: string }) {
  const lines = plain(text.slice(-LONGEST)).trim().split(/\n+/).slice(-LINES);
  return lines.join("") ? <p class="try-says">{lines.join("\n")}</p> : null;
}

function Pictures({ one, set }: { one: Try; set: TrySet }) {
  const { store } = useView();
  const { answer = [] } = useAnswer(
    () => (one.pictures > 0 ? triesOf(store).pictures(set.id, one.number) : undefined),
    [set.id, one.pictures],
  );
  const sources = answer.map((data) => imageSource("image/png", data)).filter((each) => each !== undefined);
  return (
    <>
      {sources.map((source, at) => (
        <img key={at} class="try-picture" src={source} alt={`Output ${at + 1} of try ${one.number}`} />
      ))}
    </>
  );
}
