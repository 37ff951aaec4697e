/** The policy in the settings: its rules, what would happen with a command or a file, and trusted folders. */

import type { ReadonlySignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import { Button, Choice, Form, TextField } from "../controls";
import { Grants } from "../freedom/grants";
import { line, plain, reason } from "../plain";
import { Group, Removable } from "./fields";
import { FolderChooser } from "./folder";
import type { Listed } from "./list";
import { useTyped } from "./program-form";

interface Props {
  listed: Listed;
  readonly request: Request;
  change: (at: string, params: object, done: string) => void;
  readonly settingsChanged?: ReadonlySignal<unknown> | undefined;
  announce(sentence: string): void;
  /** What is asked and said at a place. */
  below: (at: string) => ComponentChildren;
}

const asNamed = (value: string) => [value, value] as const;
const ACTIONS = ["ask", "deny", "allow"].map(asNamed);
const TOOLS = [
  ["", "everything"] as const,
  ...["read", "edit", "delete", "move", "search", "execute", "fetch", "kernel", "cell"].map(asNamed),
];
const WANTS = [["command", "run"] as const, ...["read", "edit", "delete"].map(asNamed)];

export function Policy(props: Props) {
  return (
    <>
      <Grants request={props.request} settingsChanged={props.settingsChanged} announce={props.announce} />
      <Rules {...props} />
      <WhatIf {...props} />
      <Trusted {...props} />
    </>
  );
}

function Rules({ listed, change, below }: Props) {
  const { rules, projectRules, policyFile } = listed;
  return (
    <Group title="Policy rules">
      <p class="dim small">
        The last rule that matches wins. Written to <span title={line(policyFile, 400)}>policy.toml</span>.
      </p>
      {rules.length === 0 && <p class="dim small">No rules of yours.</p>}
      <ol class="settings-rules">
        {rules.map(({ number, text }) => (
          <Removable
            key={`${number} ${text}`}
            text={line(text, 400)}
            label={`Remove rule ${number}`}
            onRemove={() => change("rules", { action: "remove", number, text }, "Rule removed.")}
          />
        ))}
      </ol>
      {projectRules.length > 0 && (
        <p class="dim small">
          The project's, which can only ask or deny: {projectRules.map((one) => line(one, 200)).join("; ")}
        </p>
      )}
      <NewRule onAdd={(rule) => change("rules", { action: "add", rule }, "Rule added.")} />
      {below("rules")}
    </Group>
  );
}

function NewRule({ onAdd }: { onAdd: (rule: object) => void }) {
  const [action, setAction] = useState("ask");
  const [tool, setTool] = useState("");
  const [pattern, setPattern] = useTyped("policy", "rule", "");
  const isCommand = tool === "execute";
  const add = () => {
    const said = pattern.trim();
    onAdd({ action, ...(tool && { tool: [tool] }), ...(said && { [isCommand ? "command" : "path"]: [said] }) });
    setPattern("");
  };
  return (
    <Form class="row wraps settings-form" label="Add a rule" onSubmit={add}>
      <Choice label="What the rule does" options={ACTIONS} value={action} onChoose={setAction} />
      <Choice label="Kind of tool" options={TOOLS} value={tool} onChoose={setTool} />
      <TextField
        label={isCommand ? "Command, with *" : "Path, with * and **"}
        placeholder={isCommand ? "git push *" : "**/*.csv"}
        value={pattern}
        onText={setPattern}
      />
      <Button type="submit">Add rule</Button>
    </Form>
  );
}

function WhatIf({ request }: Props) {
  const [kind, setKind] = useState("command");
  const [text, setText] = useState("");
  const [said, say] = useState("");
  const test = async () => {
    const params = kind === "command" ? { command: text } : { path: text, tool: kind };
    say(await request("testPolicy", params).then(({ message }) => plain(message), reason));
  };
  return (
    <Group title="What would happen with …" label="What would happen">
      <p class="dim small">In a new conversation, as the settings are now. Nothing is run.</p>
      <Form class="row wraps settings-form" label="Try the policy" onSubmit={() => void test()}>
        <Choice label="What the agent wants" options={WANTS} value={kind} onChoose={setKind} />
        <TextField
          label={kind === "command" ? "Command line" : "File"}
          placeholder={kind === "command" ? "git push origin main" : "data/results.csv"}
          value={text}
          onText={setText}
        />
        <Button type="submit">Try</Button>
      </Form>
      <p role="status">{said}</p>
    </Group>
  );
}

function Trusted({ listed, request, change, below }: Props) {
  const { trusted, folder } = listed;
  const [text, setText] = useTyped("policy", "folder to trust", folder);
  const trust = () => change("trust", { action: "trust", folder: text.trim() }, "Folder trusted.");
  return (
    <Group title="Trusted folders">
      <p class="dim small">Your allow rules apply in these folders and below them.</p>
      <ul class="settings-rules">
        {trusted.map((one) => (
          <Removable
            key={one}
            text={line(one, 400)}
            label={`Stop trusting ${line(one, 200)}`}
            onRemove={() => change("trust", { action: "untrust", folder: one }, "Trust removed.")}
          />
        ))}
      </ul>
      <Form class="row wraps settings-form" label="Trust a folder" onSubmit={trust}>
        <TextField label="Folder" value={text} onText={setText} />
        <FolderChooser label="a folder to trust" from={text} request={request} onChoose={setText} />
        <Button type="submit">Trust</Button>
      </Form>
      {below("trust")}
    </Group>
  );
}
