/** The policy in the settings: rules and approvals, a test of a command or a file, trusted folders. */

import { useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import { Button, Choice, Form, TextField } from "../controls";
import { line, plain, reason } from "../plain";
import { Removable } from "./fields";
import { FolderChooser } from "./folder";
import type { Listed } from "./list";
import { useTyped } from "./program-form";

interface Props {
  listed: Listed;
  change: (at: string, params: object, done: string) => void;
}

const asNamed = (value: string) => [value, value] as const;
const ACTIONS = ["ask", "deny", "allow"].map(asNamed);
const TOOLS = [
  ["", "everything"] as const,
  ...["read", "edit", "delete", "move", "search", "execute", "fetch", "kernel", "cell"].map(asNamed),
];
const WANTS = [["command", "run"] as const, ...["read", "edit", "delete"].map(asNamed)];

export function Rules({ listed, change }: Props) {
  const { rules, projectRules, policyFile } = listed;
  return (
    <>
      <p class="dim small">
        Rules in <span title={line(policyFile, 400)}>policy.toml</span>; the last one that matches wins.
      </p>
      {rules.length > 0 && (
        <ol class="settings-rules">
          {rules.map(({ number, text }) => (
            <Removable
              key={`${number} ${text}`}
              text={line(text, 400)}
              label={`Remove rule ${number}`}
              onRemove={() => change("grants", { action: "remove", number, text }, "Rule removed.")}
            />
          ))}
        </ol>
      )}
      {projectRules.length > 0 && (
        <p class="dim small">
          The project's rules, which can only ask or deny: {projectRules.map((one) => line(one, 200)).join("; ")}
        </p>
      )}
      <NewRule onAdd={(rule) => change("grants", { action: "add", rule }, "Rule added.")} />
    </>
  );
}

function NewRule({ onAdd }: { onAdd: (rule: object) => void }) {
  const [action, setAction] = useState("ask");
  const [tool, setTool] = useState("");
  const [pattern, setPattern] = useTyped("policy", "rule", "");
  const isCommand = tool === "execute";
  const add = () => {
    const trimmedPattern = pattern.trim();
    onAdd({
      action,
      ...(tool && { tool: [tool] }),
      ...(trimmedPattern && { [isCommand ? "command" : "path"]: [trimmedPattern] }),
    });
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

export function WhatIf({ request }: { readonly request: Request }) {
  const [kind, setKind] = useState("command");
  const [text, setText] = useState("");
  const [verdict, say] = useState("");
  const test = async () => {
    const params = kind === "command" ? { command: text } : { path: text, tool: kind };
    say(await request("testPolicy", params).then(({ message }) => plain(message), reason));
  };
  return (
    <>
      <p class="dim small">See what would happen in a new conversation with the current settings. Nothing is run.</p>
      <Form class="row wraps settings-form" label="Test the policy" onSubmit={() => void test()}>
        <Choice label="What the agent wants" options={WANTS} value={kind} onChoose={setKind} />
        <TextField
          label={kind === "command" ? "Command line" : "File"}
          placeholder={kind === "command" ? "git push origin main" : "data/results.csv"}
          value={text}
          onText={setText}
        />
        <Button type="submit">Test</Button>
      </Form>
      <p role="status">{verdict}</p>
    </>
  );
}

export function Trusted({ listed, request, change }: Props & { readonly request: Request }) {
  const { trusted, folder } = listed;
  const [text, setText] = useTyped("policy", "folder to trust", folder);
  const trust = () => change("trust", { action: "trust", folder: text.trim() }, "Folder trusted.");
  return (
    <>
      <p class="dim small">Your allow rules apply in these folders and below them.</p>
      {trusted.length > 0 && (
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
      )}
      <Form class="row wraps settings-form" label="Trust a folder" onSubmit={trust}>
        <TextField label="Folder" value={text} onText={setText} />
        <FolderChooser label="a folder to trust" from={text} request={request} onChoose={setText} />
        <Button type="submit">Trust</Button>
      </Form>
    </>
  );
}
