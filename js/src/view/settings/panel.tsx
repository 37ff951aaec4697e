/** The settings: the first screen, and all others under *Advanced*; a search finds any of them by its words. */

import type { ReadonlySignal } from "@preact/signals";
import { type ComponentChildren, Fragment, h } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import type { RootState } from "../../state/types.gen";
import { type View, ViewContext } from "../context";
import { Button, Choice, longInput, TextField, Trouble, tooLong, useFocused } from "../controls";
import { mountPanel, useSettingsChanges, useValue } from "../fetched-panel";
import { Grants } from "../freedom/grants";
import GRANTS from "../freedom/grants.css";
import { Waiting } from "../icons";
import { kernelText } from "../kernel-text";
import { line, plain, reason } from "../plain";
import { FoldRow } from "./fields";
import { type Listed, type Setting, typed } from "./list";
import { OwnAgents, ownOnes } from "./own-agents";
import { Rules, Trusted, WhatIf } from "./policy";
import { BLOCKED, Row } from "./row";
import CSS from "./settings.css";
import { useChanges } from "./use-changes";

export interface SettingsContext {
  readonly root: ReadonlySignal<RootState | undefined>;
  readonly request: Request;
  /** A new value each time settings have changed, in any window or file. */
  readonly settingsChanged?: ReadonlySignal<unknown> | undefined;
  announce(sentence: string): void;
  /** Shows why the last typed value was not set, if the settings were closed meanwhile. */
  refused?(why: string): void;
  /** Text that was typed and not saved. */
  readonly kept?: Map<string, unknown>;
}

export function mountSettings(into: HTMLElement, context: SettingsContext): () => void {
  const settings = h(Settings, { context }); // they use only the view's memory
  const panel = h(ViewContext.Provider, { value: { memory: context.kept ?? new Map() } as View, children: settings });
  return mountPanel(into, CSS + GRANTS, "column settings", panel);
}

/** A row of the settings. */
interface Entry {
  readonly name: string;
  readonly group: string;
  /** The words by which the search finds it. */
  readonly words: string;
  readonly node: ComponentChildren;
}

const TARGETS = [
  ["file", "All kernels (your file)"],
  ["here", "This kernel only"],
] as const;

function Settings({ context }: { context: SettingsContext }) {
  const { request } = context;
  const { listed, trouble, load } = useListed(context);
  const { outcomes, send, confirm, cancel, clear, refuse } = useChanges(context, load);
  const [isHere, setHere] = useState(false);
  const [find, setFind] = useState("");
  /** The number of times typed text was given up, and the last place: that box shows its current value again. */
  const [discarded, giveUp] = useState({ at: "", count: 0 });
  const root = useValue(context.root);
  const search = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLElement>(null);
  const isListed = listed !== undefined;
  useLayoutEffect(() => {
    // The panel had the focus while the settings were loaded, unless the user moved it meanwhile.
    const focused = (search.current?.getRootNode() as ShadowRoot | undefined)?.activeElement;
    if (focused?.matches(".panel")) search.current?.focus();
  }, [isListed]);
  const set = async (setting: Setting, value: unknown): Promise<void> => {
    const { name, inFile } = setting;
    const title = kernelText(line(setting.title, 60));
    if (tooLong(value)) return refuse(name, tooLong(value));
    if (name === "notifications" && value === true && !(await mayNotify())) return refuse(name, BLOCKED);
    await send({
      at: name,
      method: "changeSetting",
      params: { name, value, here: isHere, ...(!isHere && { was: inFile ?? null, checks: true }) },
      done: `${title}: ${value === null ? "reset" : "changed"}.`,
      title: `${title} (${line(typed(value), 200)})`,
    });
  };
  if (!listed) {
    return trouble ? (
      <div class="settings-empty" role="alert">
        <p>The settings couldn't be read: {trouble}</p>
        <Button onClick={load}>Try again</Button>
      </div>
    ) : (
      <Waiting text="Reading the settings…" />
    );
  }
  const back = (at: string) =>
    list.current?.querySelector<HTMLElement>(`[data-at="${at}"] :is(select, input, summary)`)?.focus();
  const below = (at: string) => {
    const outcome = outcomes.get(at);
    if (!outcome) return null;
    if (outcome.kind === "trouble") return <Trouble text={outcome.text} />;
    if (outcome.kind === "done") return <p class="dim small">{plain(outcome.text)}</p>;
    const no = () => {
      back(at);
      giveUp({ at, count: discarded.count + 1 });
      cancel(at);
    };
    const yes = () => {
      back(at);
      confirm(outcome);
    };
    return <Question sentence={outcome.text} onYes={yes} onNo={no} />;
  };
  const policy = {
    listed,
    request,
    change: (at: string, params: object, done: string) => void send({ at, method: "changePolicy", params, done }),
  };
  const entryOf = (setting: Setting, group: string): Entry => ({
    name: setting.name,
    group,
    words: [setting.name, ...[setting.title, setting.about].flatMap((one) => [one, kernelText(one)])].join(" "),
    node: (
      <Row
        key={setting.name === discarded.at ? discarded.count : ""}
        setting={setting}
        agents={root?.agents ?? []}
        models={listed.models ?? []}
        isHere={isHere}
        request={request}
        onChange={(value) => void set(setting, value)}
        onBack={() => clear(setting.name)}
        onServer={(name, server) =>
          void send({
            at: setting.name,
            method: "changeMcpServer",
            params: { name, here: isHere, ...(server && { server }) },
            done: `MCP server ${line(name, 60)} ${server ? "added" : "removed"}.`,
          })
        }
      >
        {below(setting.name)}
      </Row>
    ),
  });
  const lists = (group: string, at: string): Entry[] => {
    const row = (name: string, title: string, summary: string, words: string, node: ComponentChildren): Entry => ({
      name,
      group,
      words: `${title} ${words}`,
      node: (
        <FoldRow at={name} title={title} summary={summary} below={below(name)}>
          {node}
        </FoldRow>
      ),
    });
    if (at === "agents_order" && listed.agents) {
      const save = (name: string, state: string, agent?: object) =>
        void send({
          at: "own agents",
          method: "changeOwnAgent",
          params: { name, state, ...(agent && { agent }) },
          done: `Agent ${line(name, 60)} ${agent ? "saved" : "removed"}.`,
        });
      const node = <OwnAgents agents={listed.agents} onChange={save} />;
      return [row("own agents", "Custom launch command", ownOnes(listed.agents), "own agents ACP program", node)];
    }
    if (at !== "permissions") return [];
    const [rules, folders] = [listed.rules.length, listed.trusted.length];
    return [
      row(
        "grants",
        "Rules and approvals",
        rules === 0 ? "None" : `${rules} ${rules === 1 ? "rule" : "rules"}`,
        "policy allow deny grants",
        <>
          <Grants
            request={request}
            settingsChanged={context.settingsChanged}
            announce={(sentence) => context.announce(sentence)}
          />
          <Rules {...policy} />
        </>,
      ),
      row(
        "trust",
        "Trusted folders",
        folders === 0 ? "None" : `${folders} ${folders === 1 ? "folder" : "folders"}`,
        "policy",
        <Trusted {...policy} />,
      ),
      row("what if", "Test a command or file", "", "policy what would happen", <WhatIf request={request} />),
    ];
  };
  const entries = listed.groups.flatMap(({ title, settings }) =>
    settings.flatMap((one) => [entryOf(one, title), ...lists(title, one.name)]),
  );
  const names = listed.first ?? [];
  const first = names.flatMap((name) => entries.filter((entry) => entry.name === name));
  const others = entries.filter((entry) => !names.includes(entry.name));
  const wanted = find.trim().toLowerCase();
  const hits = [...first, ...others].filter(({ words }) => words.toLowerCase().includes(wanted));
  const onBeforeInput = longInput((why, field) => {
    const at = field.closest<HTMLElement>("[data-at]")?.dataset.at;
    refuse(at ?? "search", why);
  });
  return (
    <div class="column settings-inside" onBeforeInput={onBeforeInput}>
      <div class="settings-head">
        <TextField
          ref={search}
          type="search"
          label="Find a setting"
          placeholder="Find a setting"
          value={find}
          onText={setFind}
        />
        {below("search")}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard */}
      <section ref={list} class="settings-list" aria-label="All settings" tabIndex={0}>
        {listed.problems.map((problem) => (
          <Trouble key={problem} text={problem} />
        ))}
        {wanted ? (
          <Rows entries={hits} />
        ) : (
          <>
            <Rows entries={first} />
            <details class="settings-advanced" open={first.length === 0}>
              <summary>Advanced</summary>
              <label class="row setting-line">
                <span class="setting-title">Save changes for</span>
                <Choice
                  label="Save changes for"
                  options={TARGETS}
                  value={isHere ? "here" : "file"}
                  onChoose={(target) => setHere(target === "here")}
                />
              </label>
              <Rows entries={others} isGrouped />
            </details>
          </>
        )}
        {hits.length === 0 && <p class="dim">No setting matches “{line(find, 60)}”.</p>}
      </section>
    </div>
  );
}

/** Rows of the settings; if grouped, each group has its title. */
function Rows({ entries, isGrouped = false }: { entries: readonly Entry[]; isGrouped?: boolean }) {
  const groups = isGrouped ? [...new Set(entries.map(({ group }) => group))] : [""];
  return (
    <>
      {groups.map((group) => (
        <Fragment key={group}>
          {group && <h4>{kernelText(line(group, 60))}</h4>}
          {entries
            .filter((entry) => !isGrouped || entry.group === group)
            .map(({ name, node }) => (
              <Fragment key={name}>{node}</Fragment>
            ))}
        </Fragment>
      ))}
    </>
  );
}

/** Asks the browser, which asks the user if it has no answer yet. */
async function mayNotify(): Promise<boolean> {
  return "Notification" in globalThis && (await Notification.requestPermission()) === "granted";
}

/** Loads the settings from the kernel; `load` loads them again. */
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
  useSettingsChanges(request, settingsChanged, load);
  return { listed, trouble, load };
}

/** Asks before a change that lets agents do more. */
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
