/** The policy in the settings: its rules, what would happen with a command or a file, and trusted folders. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import { line, plain, reason } from "../plain";
import { FolderChooser } from "./folder";
import { useKept } from "./kept";
import type { Listed } from "./list";

interface Props {
  listed: Listed;
  readonly request: Request;
  change: (at: string, params: object, done: string) => void;
  /** What is asked and said at a place. */
  below: (at: string) => ComponentChildren;
}

const TOOLS = ["read", "edit", "delete", "move", "search", "execute", "fetch", "kernel", "cell"];

export function Policy({ listed, request, change, below }: Props) {
  return (
    <>
      <Rules listed={listed} change={change} below={below} />
      <WhatIf request={request} />
      <Trusted listed={listed} request={request} change={change} below={below} />
    </>
  );
}

function Rules({ listed, change, below }: Omit<Props, "request">) {
  const { rules, projectRules, grants = [], policyFile } = listed;
  return (
    <div class="setting" role="group" aria-label="Policy rules">
      <span class="setting-title">Policy rules</span>
      <p class="dim small">
        The last rule that matches wins. Written to <span title={line(policyFile, 400)}>policy.toml</span>.
      </p>
      {rules.length === 0 && <p class="dim small">No rules of yours.</p>}
      <ol class="settings-rules">
        {rules.map(({ number, text }) => (
          <li key={`${number} ${text}`}>
            <code>{line(text, 400)}</code>{" "}
            <button
              type="button"
              class="text-button small"
              aria-label={`Remove rule ${number}`}
              onClick={() => change("rules", { action: "remove", number, text }, "Rule removed.")}
            >
              Remove
            </button>
          </li>
        ))}
      </ol>
      {projectRules.length > 0 && (
        <p class="dim small">
          The project's, which can only ask or deny: {projectRules.map((one) => line(one, 200)).join("; ")}
        </p>
      )}
      {grants.length > 0 && <Grants grants={grants} change={change} />}
      <NewRule onAdd={(rule) => change("rules", { action: "add", rule }, "Rule added.")} />
      {below("rules")}
    </div>
  );
}

function Grants({ grants, change }: Required<Pick<Listed, "grants">> & Pick<Props, "change">) {
  return (
    <>
      <p class="dim small">Allowed on cards, in conversations that are open:</p>
      <ul class="settings-rules" aria-label="Allowed in conversations">
        {grants.map(({ session, title, scope, text }) => (
          <li key={`${session} ${scope} ${text}`}>
            <code>{line(text, 400)}</code>{" "}
            <span class="dim small">
              {scope === "turn" ? "this turn of" : "in"} {line(title, 80)}
            </span>{" "}
            <button
              type="button"
              class="text-button small"
              aria-label={`Revoke ${line(text, 200)} in ${line(title, 80)}`}
              onClick={() => change("rules", { action: "revoke", session, text }, "Revoked.")}
            >
              Revoke
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

function NewRule({ onAdd }: { onAdd: (rule: object) => void }) {
  const [action, setAction] = useState("ask");
  const [tool, setTool] = useState("");
  const [pattern, setPattern] = useKept("rule", "");
  const isCommand = tool === "execute";
  const add = () => {
    const said = pattern.trim();
    onAdd({ action, ...(tool && { tool: [tool] }), ...(said && { [isCommand ? "command" : "path"]: [said] }) });
    setPattern("");
  };
  return (
    <form
      class="settings-form"
      aria-label="Add a rule"
      onSubmit={(event) => {
        event.preventDefault();
        add();
      }}
    >
      <select
        class="field"
        aria-label="What the rule does"
        value={action}
        onChange={(e) => setAction(e.currentTarget.value)}
      >
        {["ask", "deny", "allow"].map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <select class="field" aria-label="Kind of tool" value={tool} onChange={(e) => setTool(e.currentTarget.value)}>
        <option value="">everything</option>
        {TOOLS.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <input
        class="field"
        aria-label={isCommand ? "Command, with *" : "Path, with * and **"}
        placeholder={isCommand ? "git push *" : "**/*.csv"}
        value={pattern}
        onInput={(event) => setPattern(event.currentTarget.value)}
      />
      <button type="submit" class="button small">
        Add rule
      </button>
    </form>
  );
}

function WhatIf({ request }: Pick<Props, "request">) {
  const [kind, setKind] = useState("command");
  const [text, setText] = useState("");
  const [said, say] = useState("");
  const test = async () => {
    const params = kind === "command" ? { command: text } : { path: text, tool: kind };
    try {
      say(plain((await request("testPolicy", params)).message));
    } catch (error) {
      say(reason(error));
    }
  };
  return (
    <div class="setting" role="group" aria-label="What would happen">
      <span class="setting-title">What would happen with …</span>
      <p class="dim small">In a new conversation, as the settings are now. Nothing is run.</p>
      <form
        class="settings-form"
        aria-label="Try the policy"
        onSubmit={(event) => {
          event.preventDefault();
          void test();
        }}
      >
        <select
          class="field"
          aria-label="What the agent wants"
          value={kind}
          onChange={(e) => setKind(e.currentTarget.value)}
        >
          <option value="command">run</option>
          <option value="read">read</option>
          <option value="edit">edit</option>
          <option value="delete">delete</option>
        </select>
        <input
          class="field"
          aria-label={kind === "command" ? "Command line" : "File"}
          placeholder={kind === "command" ? "git push origin main" : "data/results.csv"}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" class="button small">
          Try
        </button>
      </form>
      <p role="status">{said}</p>
    </div>
  );
}

function Trusted({ listed, request, change, below }: Props) {
  const { trusted, folder } = listed;
  const [text, setText] = useKept("folder to trust", folder);
  return (
    <div class="setting" role="group" aria-label="Trusted folders">
      <span class="setting-title">Trusted folders</span>
      <p class="dim small">Your allow rules apply in these folders and below them.</p>
      <ul class="settings-rules">
        {trusted.map((one) => (
          <li key={one}>
            <code>{line(one, 400)}</code>{" "}
            <button
              type="button"
              class="text-button small"
              aria-label={`Stop trusting ${line(one, 200)}`}
              onClick={() => change("trust", { action: "untrust", folder: one }, "Trust removed.")}
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
      <form
        class="settings-form"
        aria-label="Trust a folder"
        onSubmit={(event) => {
          event.preventDefault();
          change("trust", { action: "trust", folder: text.trim() }, "Folder trusted.");
        }}
      >
        <input class="field" aria-label="Folder" value={text} onInput={(event) => setText(event.currentTarget.value)} />
        <FolderChooser label="a folder to trust" from={text} request={request} onChoose={setText} />
        <button type="submit" class="button small">
          Trust
        </button>
      </form>
      {below("trust")}
    </div>
  );
}
