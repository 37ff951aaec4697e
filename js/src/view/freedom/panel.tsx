/** *Custom…*: the settings behind a conversation's freedom, its sensitive files, full trust, and every grant. */
import type { ReadonlySignal } from "@preact/signals";
import { h } from "preact";
import { useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import type { SessionState } from "../../state/types.gen";
import { type View, ViewContext } from "../context";
import { Button, Choice, type ChoiceProps, Form, TextButton, TextField, useFocused } from "../controls";
import { mountPanel, useValue } from "../fetched-panel";
import { line } from "../plain";
import CSS from "./freedom.css";
import { Grants } from "./grants";
import GRANTS from "./grants.css";

export interface FreedomContext {
  readonly session: ReadonlySignal<SessionState | undefined>;
  readonly channel: string;
  readonly settingsChanged?: ReadonlySignal<unknown> | undefined;
  readonly request: Request;
  /** Sets one setting of the conversation. */
  set(config: Record<string, unknown>): void;
  announce(sentence: string): void;
  readonly kept?: Map<string, unknown>;
}

export function mountFreedom(into: HTMLElement, context: FreedomContext): () => void {
  const panel = h(Panel, { context }); // the panel uses only the view's memory
  const view = h(ViewContext.Provider, { value: { memory: context.kept ?? new Map() } as View, children: panel });
  return mountPanel(into, CSS + GRANTS, "column freedom-settings", view);
}

const EDITS = ["ask", "edit", "auto"];
const PERMISSIONS = [
  ["ask", "Ask before edits and commands"],
  ["edit", "Edit at once, ask before commands"],
  ["auto", "Edit at once, run what is safe"],
  ["deny", "Deny everything that no rule allows"],
] as const;
const KERNEL = [
  ["off", "Closed"],
  ["look", "Read only"],
  ["run", "Can run code (asks first)"],
] as const;
const REVIEWS = [
  ["first", "Ask before each edit"],
  ["after", "At once, reviewed afterwards"],
] as const;

function Panel({ context }: { context: FreedomContext }) {
  const session = useValue(context.session);
  const values: Record<string, unknown> = session?.config?.values ?? {};
  const permissions = String(values.permissions ?? "ask");
  const isFull = permissions === "allow";
  const kernel = typeof values.kernel === "string" ? values.kernel : "off";
  return (
    <>
      <div class="freedom-fields">
        {!isFull && (
          <Setting
            label="Permissions"
            options={PERMISSIONS}
            value={permissions as "ask"}
            onChoose={(chosen) => context.set({ permissions: chosen })}
          />
        )}
        <Setting
          label="Kernel"
          options={KERNEL.map(([value, name]) => [value, isFull && value === "run" ? "Can run code" : name] as const)}
          value={kernel as "off"}
          onChoose={(chosen) => context.set({ kernel: chosen })}
        />
        {permissions === "ask" && kernel === "run" && (
          <Setting
            label="Cell edits"
            options={REVIEWS}
            value={values.cellReview === "after" ? "after" : "first"}
            onChoose={(chosen) => context.set({ cellReview: chosen })}
          />
        )}
      </div>
      <Sensitive patterns={Array.isArray(values.sensitive) ? values.sensitive.map(String) : []} set={context.set} />
      <Trust
        agent={line(session?.agentProcess?.name ?? session?.title ?? "", 60)}
        isFull={isFull}
        isFree={EDITS.includes(permissions)}
        set={context.set}
      />
      <Grants
        channel={context.channel}
        request={context.request}
        settingsChanged={context.settingsChanged}
        announce={context.announce}
      />
    </>
  );
}

function Setting<T extends string>(props: ChoiceProps<T>) {
  return (
    <div class="row freedom-field">
      <span>{props.label}</span>
      <Choice {...props} />
    </div>
  );
}

/** Files that ask here, beside those that always ask. */
function Sensitive({ patterns, set }: { patterns: readonly string[]; set: FreedomContext["set"] }) {
  const [typed, type] = useState("");
  const add = () => {
    const pattern = typed.trim();
    if (pattern && !patterns.includes(pattern)) set({ sensitive: [...patterns, pattern] });
    type("");
  };
  return (
    <div role="group" aria-label="Sensitive files">
      <h4>Sensitive files</h4>
      <p class="dim small">Always ask here, in addition to keys, secrets and start-up files.</p>
      <ul class="list grants-list">
        {patterns.map((pattern) => (
          <li key={pattern} class="row grant">
            <code>{line(pattern, 200)}</code>
            <TextButton
              aria-label={`Remove ${line(pattern, 200)}`}
              onClick={() => set({ sensitive: patterns.filter((one) => one !== pattern) })}
            >
              Remove
            </TextButton>
          </li>
        ))}
      </ul>
      <Form class="row freedom-add" label="Add a sensitive file" onSubmit={add}>
        <TextField label="Files, with * and **" placeholder="data/patients/**" value={typed} onText={type} />
        <Button type="submit" disabled={typed.trim() === ""}>
          Add
        </Button>
      </Form>
    </div>
  );
}

interface TrustProps {
  agent: string;
  isFull: boolean;
  isFree: boolean;
  set: FreedomContext["set"];
}

/** Full trust, behind one confirmation. */
function Trust({ agent, isFull, isFree, set }: TrustProps) {
  const [asks, ask] = useState(false);
  const name = agent || "this agent";
  if (isFull)
    return (
      <div class="row freedom-trust is-full">
        <span>
          <b>Full trust.</b> It does everything without asking, except what always asks.
        </span>
        <Button onClick={() => set({ freedom: "ask" })}>End it</Button>
      </div>
    );
  if (!asks) return isFree ? <TextButton onClick={() => ask(true)}>Trust this agent fully…</TextButton> : null;
  const decide = (yes: boolean) => {
    ask(false);
    if (yes) set({ permissions: "allow" });
  };
  return <TrustQuestion name={name} onDecide={decide} />;
}

function TrustQuestion({ name, onDecide }: { name: string; onDecide: (yes: boolean) => void }) {
  const cancel = useFocused<HTMLButtonElement>();
  return (
    <div class="freedom-trust" role="group" aria-label="Confirm full trust">
      <p>
        {name} will run any code and command in this conversation without asking. Critical commands, sensitive files and
        anything outside the workspace still ask.
      </p>
      <Button ref={cancel} onClick={() => onDecide(false)}>
        Cancel
      </Button>{" "}
      <Button class="danger" onClick={() => onDecide(true)}>
        Trust fully
      </Button>
    </div>
  );
}
