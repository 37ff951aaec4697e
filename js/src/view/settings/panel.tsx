/** The settings: each with where its value comes from and where a change is written; the policy's rules, trusted folders. */

import type { ReadonlySignal } from "@preact/signals";
import { h } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import type { RootState } from "../../state/types.gen";
import { type View, ViewContext } from "../context";
import { Button, Choice, TextField, Trouble, useFocused } from "../controls";
import { mountPanel, useRoot } from "../fetched-panel";
import GRANTS from "../freedom/grants.css";
import { Waiting } from "../icons";
import { line, plain, reason } from "../plain";
import { type Listed, type Setting, typed } from "./list";
import { OwnAgents } from "./own-agents";
import { Policy } from "./policy";
import { BLOCKED, Row } from "./row";
import CSS from "./settings.css";

/** What the settings need of the chat. */
export interface SettingsContext {
  readonly root: ReadonlySignal<RootState | undefined>;
  readonly request: Request;
  /** Another value each time that settings have changed, in whatever window or file. */
  readonly settingsChanged?: ReadonlySignal<unknown> | undefined;
  /** Says a sentence to screen readers, politely. */
  announce(sentence: string): void;
  /** Says why what was typed last is not set, where the settings were closed meanwhile. */
  refused?(why: string): void;
  /** What is typed and not saved. */
  readonly kept?: Map<string, unknown>;
}

/** Shows the settings in `into`; the result takes them away again. */
export function mountSettings(into: HTMLElement, context: SettingsContext): () => void {
  const settings = h(Settings, { context }); // of a view it has only the memory
  const panel = h(ViewContext.Provider, { value: { memory: context.kept ?? new Map() } as View, children: settings });
  return mountPanel(into, CSS + GRANTS, "column settings", panel);
}

function focusedIn(at: HTMLElement | null): Element | null | undefined {
  return (at?.getRootNode() as ShadowRoot | undefined)?.activeElement;
}

/** Asks the kernel for a change; what must be confirmed comes back as a sentence. */
export type Change = (method: Changing, params: object, done: string) => Promise<void>;

/** The requests that change something, once the user has confirmed what must be. */
type Changing = "changeSetting" | "changeMcpServer" | "changeOwnAgent" | "changePolicy";

interface Asked {
  readonly method: Changing;
  readonly params: object;
  readonly sentence: string;
  readonly done: string;
  /** Where it is asked: the setting's name, or a part of the policy. */
  readonly at: string;
}

interface Said {
  readonly at: string;
  readonly text: string;
  readonly isTrouble: boolean;
}

const TARGETS = [
  ["file", "your file, for every kernel"],
  ["here", "this kernel alone"],
] as const;

function Settings({ context }: { context: SettingsContext }) {
  const { listed, trouble, load } = useListed(context);
  const [isHere, setHere] = useState(false);
  const [find, setFind] = useState("");
  const [asked, ask] = useState<Asked>();
  const [said, say] = useState<Said>();
  const root = useRoot(context.root);
  const search = useRef<HTMLInputElement>(null);
  const isListed = listed !== undefined;
  useLayoutEffect(() => {
    // The panel had the focus while the settings were read, unless the reader went elsewhere meanwhile.
    if (focusedIn(search.current)?.matches(".panel")) search.current?.focus();
  }, [isListed]);
  const isClosed = useRef(false);
  useLayoutEffect(
    () => () => {
      isClosed.current = true;
    },
    [],
  );
  const change = async (at: string, method: Changing, params: object, done: string, title = at): Promise<void> => {
    ask(undefined);
    say(undefined);
    try {
      const { confirm } = await context.request(method, params as never);
      if (typeof confirm === "string") {
        if (isClosed.current) context.refused?.(`${title}: ${confirm} Open the settings to confirm it.`);
        return ask({ at, method, params, done, sentence: confirm });
      }
      say({ at, text: done, isTrouble: false });
      context.announce(done);
    } catch (error) {
      if (isClosed.current) context.refused?.(`${title}: ${reason(error)}`);
      say({ at, text: reason(error), isTrouble: true });
    }
    if (!isClosed.current) await load();
  };
  const set = async (setting: Setting, value: unknown): Promise<void> => {
    if (setting.name === "notifications" && value === true && !(await mayNotify()))
      return say({ at: setting.name, text: BLOCKED, isTrouble: true });
    await change(
      setting.name,
      "changeSetting",
      changed(setting, value, isHere),
      `${setting.title}: ${value === null ? "reset" : "changed"}.`,
      named(setting, value),
    );
  };
  if (!listed) {
    return trouble ? (
      <div class="settings-empty" role="alert">
        <p>The settings couldn't be listed: {trouble}</p>
        <Button onClick={load}>Try again</Button>
      </div>
    ) : (
      <Waiting text="Reading the settings…" />
    );
  }
  const wanted = find.trim().toLowerCase();
  const groups = listed.groups
    .map(({ title, settings }) => ({
      title,
      settings: settings.filter((one) => `${one.name} ${one.title} ${one.about}`.toLowerCase().includes(wanted)),
    }))
    .filter(({ settings }) => settings.length > 0);
  const below = (at: string) => (
    <>
      {asked?.at === at && (
        <Question
          sentence={asked.sentence}
          onYes={() => void change(at, asked.method, { ...asked.params, confirmed: asked.sentence }, asked.done)}
          onNo={() => {
            ask(undefined);
            void load();
          }}
        />
      )}
      {said?.at === at && (
        <p class={said.isTrouble ? "error-text" : "dim small"} role={said.isTrouble ? "alert" : undefined}>
          {plain(said.text)}
        </p>
      )}
    </>
  );
  return (
    <div class="column settings-inside">
      <div class="settings-head">
        <TextField
          ref={search}
          type="search"
          label="Find a setting"
          placeholder="Find a setting"
          value={find}
          onText={setFind}
        />
        <label>
          <span class="small">Changes go to</span>{" "}
          <Choice
            label="Changes go to"
            options={TARGETS}
            value={isHere ? "here" : "file"}
            onChoose={(target) => setHere(target === "here")}
          />
        </label>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard */}
      <section class="settings-list" aria-label="All settings" tabIndex={0}>
        {listed.problems.map((problem) => (
          <Trouble key={problem} text={problem} />
        ))}
        {groups.length === 0 && <p class="dim">No setting has “{line(find, 60)}” in its name or meaning.</p>}
        {groups.map(({ title, settings }) => (
          <section key={title} aria-label={line(title, 60)}>
            <h4>{line(title, 60)}</h4>
            {settings.map((setting) => (
              <Row
                key={setting.name}
                setting={setting}
                agents={root?.agents ?? []}
                models={listed.models ?? []}
                isHere={isHere}
                request={context.request}
                onChange={(value) => void set(setting, value)}
                onServer={(name, server) =>
                  void change(
                    setting.name,
                    "changeMcpServer",
                    { name, here: isHere, ...(server && { server }) },
                    server ? `MCP server ${line(name, 60)} added.` : `MCP server ${line(name, 60)} removed.`,
                  )
                }
              >
                {below(setting.name)}
              </Row>
            ))}
            {listed.agents && settings.some(({ name }) => name === "agent") && (
              <OwnAgents
                agents={listed.agents}
                onChange={(name, state, agent) =>
                  void change(
                    "own agents",
                    "changeOwnAgent",
                    { name, state, ...(agent && { agent }) },
                    agent ? `Agent ${line(name, 60)} saved.` : `Agent ${line(name, 60)} removed.`,
                  )
                }
              >
                {below("own agents")}
              </OwnAgents>
            )}
            {settings.some(({ name }) => name === "permissions") && (
              <Policy
                listed={listed}
                request={context.request}
                settingsChanged={context.settingsChanged}
                announce={(sentence) => context.announce(sentence)}
                below={below}
                change={(at, params, done) => void change(at, "changePolicy", params, done)}
              />
            )}
          </section>
        ))}
      </section>
    </div>
  );
}

/** Asks the browser, which asks the user where that was not answered before. */
async function mayNotify(): Promise<boolean> {
  return "Notification" in globalThis && (await Notification.requestPermission()) === "granted";
}

function changed({ name, inFile }: Setting, value: unknown, here: boolean): object {
  return { name, value, here, ...(!here && { was: inFile ?? null, checks: true }) };
}

/** The setting, with what it was to be: it is no longer seen where it was typed. */
function named({ title }: Setting, value: unknown): string {
  return `${line(title, 60)} (${line(typed(value), 200)})`;
}

/** The settings as the kernel lists them, and again when that is wanted. */
function useListed({ request, settingsChanged }: SettingsContext) {
  const [listed, setListed] = useState<Listed>();
  const [trouble, setTrouble] = useState("");
  const load = async () => {
    try {
      setListed(await request("listSettings", {}));
      setTrouble("");
    } catch (error) {
      setTrouble(reason(error));
    }
  };
  useEffect(() => {
    void load();
    const before = settingsChanged?.peek();
    // Never switched off: JupyterLab's Settings editor follows on the same connection.
    request("watchSettings", { on: true }).catch(() => undefined); // of an older kernel
    return settingsChanged?.subscribe((value) => {
      if (value !== before) void load();
    });
  }, []);
  return { listed, trouble, load };
}

/** What lets agents do more is asked first. */
function Question({ sentence, onYes, onNo }: { sentence: string; onYes: () => void; onNo: () => void }) {
  const button = useFocused<HTMLButtonElement>();
  return (
    <div class="setting-question" role="group" aria-label="Confirm the change">
      <p>{plain(sentence)}</p>
      <Button ref={button} onClick={onNo}>
        Cancel
      </Button>{" "}
      <Button class="primary" onClick={onYes}>
        Change it
      </Button>
    </div>
  );
}
