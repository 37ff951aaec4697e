/** The settings: their presentation, the requests, and the changes that need confirmation. */
import { signal } from "@preact/signals";
import axe from "axe-core";
import { afterEach, expect, test, vi } from "vitest";
import { mountSettings } from "../../src/view/settings/panel";
import { eventually } from "../eventually";
import { AGENT } from "./memory-store";

const FILE = "/home/ada/.jupyter/agentnb/settings.toml";
const setting = (more: object) => ({
  title: "Title",
  about: "What it does.",
  kind: "text",
  value: "",
  source: "default",
  where: "",
  below: [],
  file: FILE,
  isTrait: true,
  counts: "at once",
  choices: [],
  ...more,
});
const LISTED = {
  groups: [
    {
      title: "Permissions",
      settings: [
        setting({
          name: "permissions",
          title: "Permissions",
          kind: "choice",
          value: "ask",
          source: "%config",
          below: [
            { source: "user", value: "deny" },
            { source: "default", value: "ask" },
          ],
          inFile: "deny",
          choices: [
            ["ask", "Ask"],
            ["allow", "Allow"],
            ["deny", "Deny"],
          ],
        }),
        setting({
          name: "log_days",
          title: "Keep",
          kind: "number",
          value: 0,
          empty: "forever",
          file: "",
          isTrait: false,
        }),
        setting({ name: "warm", title: "Preload agents", kind: "names", value: ["a", "b"] }),
        setting({ name: "agents_order", title: "Agent order", kind: "names", value: [] }),
        setting({ name: "agents_hidden", title: "Shown agents", kind: "names", value: ["goose"] }),
        setting({ name: "cwd", title: "Working folder", kind: "folder", value: "/gone" }),
        setting({ name: "notifications", title: "Notifications", kind: "switch", value: false }),
        setting({ name: "agent", title: "Default agent", kind: "agent", value: "claude" }),
        setting({ name: "models_hidden", title: "Shown models", kind: "names", value: ["m2", "claude/m3", "gone"] }),
        setting({ name: "mcp_servers", title: "MCP servers", kind: "servers", value: ["db"] }),
      ],
    },
  ],
  first: ["agent", "permissions", "grants", "notifications"],
  problems: ["settings.toml, line 2: <img src=x onerror=alert(1)>"],
  rules: [{ number: 1, text: "deny execute git push *" }],
  projectRules: [],
  trusted: ["/home/ada/fit"],
  folder: "/home/ada",
  policyFile: "/home/ada/policy.toml",
  agents: [
    {
      name: "mine",
      title: "Mine",
      line: "my-agent --acp",
      variables: ["KEY", "OLD"],
      file: "/h/mine.toml",
      state: "s1",
    },
    { name: "bad", title: "bad", line: "", variables: [], file: "/h/bad.toml", state: "s2", problem: "It is broken." },
    { name: "claude", title: "Claude", line: "claude-acp" },
  ],
  models: [
    { agent: "claude", id: "m1", name: "One" },
    { agent: "claude", id: "m2", name: "Two" },
    { agent: AGENT.provider, id: "m2", name: "Two" },
    { agent: "claude", id: "m3", name: "Three" },
  ],
};

const GRANT = { id: "g1", scope: "conversation", text: "ELIZA may edit files without asking", rule: "" };
const GRANTS = { grants: [{ ...GRANT, session: "eliza:/s1", title: "Fit" }] };

afterEach(() => document.body.replaceChildren());

function openSettings(answers: Record<string, unknown> = {}) {
  const into = document.body.appendChild(document.createElement("main"));
  const requests: { method: string; params: Record<string, unknown> }[] = [];
  const request = async <T>(method: string, params: object): Promise<T> => {
    requests.push({ method, params: params as Record<string, unknown> });
    const answer = answers[method] ?? (method === "listSettings" ? LISTED : method === "listGrants" ? GRANTS : {});
    return (typeof answer === "function" ? answer(params) : answer) as T;
  };
  const announcements: string[] = [];
  const other = { ...AGENT, provider: "claude", displayName: "Claude" };
  const root = signal({ agents: [AGENT, other], sessions: [] });
  const refused: string[] = [];
  const announce = (sentence: string) => void announcements.push(sentence);
  const kept = new Map<string, unknown>();
  const mount = () => mountSettings(into, { root, request, announce, kept, refused: (why) => void refused.push(why) });
  const page = { close: mount(), mount };
  const named = <E extends HTMLElement>(label: string) => into.querySelector<E>(`[aria-label="${label}"]`) as E;
  const button = (name: string) =>
    [...into.querySelectorAll("button")].find((one) => one.textContent?.trim() === name) as HTMLButtonElement;
  const changes = () => requests.filter(({ method }) => method.startsWith("change")).map(({ params }) => params);
  return { into, requests, announcements, refused, page, named, button, changes };
}

/** Waits as long as a busy machine needs. */
const until = <T>(check: () => T) => eventually(check);

const ready = async (into: HTMLElement) => until(() => expect(into.querySelector(".settings-list")).not.toBeNull());

const row = (into: HTMLElement, name: string) => into.querySelector<HTMLElement>(`[data-at="${name}"]`) as HTMLElement;

test("shows the kernel's first settings in order, the others under Advanced", async () => {
  const { into } = openSettings();
  await ready(into);
  const advanced = into.querySelector("details.settings-advanced") as HTMLDetailsElement;
  const first = [...into.querySelectorAll<HTMLElement>("[data-at]")].filter((one) => !advanced.contains(one));
  expect(first.map(({ dataset }) => dataset.at)).toEqual(["agent", "permissions", "grants", "notifications"]);
  const others = [...advanced.querySelectorAll<HTMLElement>("[data-at]")].map(({ dataset }) => dataset.at);
  expect(others.slice(0, 6)).toEqual(["trust", "what if", "log_days", "warm", "agents_order", "own agents"]);
  expect([advanced.open, advanced.querySelector("h4")?.textContent]).toEqual([false, "Permissions"]);
});

test("shows all settings when an older kernel names no first ones", async () => {
  const { into } = openSettings({ listSettings: { ...LISTED, first: undefined } });
  await ready(into);
  expect(into.querySelector<HTMLDetailsElement>("details.settings-advanced")?.open).toBe(true);
});

test("marks changed settings with a dot, and describes their source in a tip", async () => {
  const { into, named } = openSettings();
  await ready(into);
  const permissions = row(into, "permissions");
  expect(permissions.querySelector(".setting-dot")?.ariaLabel).toBe("Reset Permissions");
  expect(row(into, "agent").querySelector(".setting-dot")).toBeNull();
  const tip = document.getElementById(permissions.getAttribute("aria-describedby") ?? "");
  expect(tip?.textContent).toContain(
    "From %config in this kernel · your file says Deny · applies at once · permissions",
  );
  expect(named<HTMLInputElement>("Keep").disabled).toBe(true);
  expect(into.querySelector("img")).toBeNull();
  expect(into.querySelector("[role=alert]")?.textContent).toContain("<img");
});

test.each([
  ["default", "Default · applies at once", false],
  ["user", `From your file, ${FILE} · applies at once`, true],
  ["project", "From the project's file, /w/agentnb/settings.toml · applies at once", true],
  ["environment", "From the environment variable, AGENTNB_WARM · applies at once", true],
  ["startup", "From ipython_config.py, /home/ada/ipython_config.py · applies at once", true],
  ["%config", "From %config in this kernel · applies at once", true],
])("shows the source of a value from %s, and a dot unless it is default", async (...row) => {
  const [source, words, isMarked] = row;
  const where = { user: FILE, project: "/w/agentnb/settings.toml", environment: "AGENTNB_WARM" }[source];
  const from = where ?? (source === "startup" ? "/home/ada/ipython_config.py" : "");
  const below = source === "default" ? [] : [{ source: "default", value: [] }];
  const one = setting({
    name: "warm",
    title: "Preload agents",
    kind: "names",
    value: ["a"],
    source,
    where: from,
    below,
  });
  const { into } = openSettings({ listSettings: { ...LISTED, groups: [{ title: "Agents", settings: [one] }] } });
  await ready(into);
  expect(into.querySelector(".setting-tip")?.textContent).toContain(words);
  expect(into.querySelector(".setting-dot") !== null).toBe(isMarked);
});

test.each([
  [0, "", "90", 90],
  [90, "90", "", 0],
])("shows number %s as “%s” when empty has a meaning; typing “%s” sends %s", async (value, shows, types, sent) => {
  const settings = [setting({ name: "timeout", title: "Time limit", kind: "number", value, empty: "no limit" })];
  const { into, named, changes } = openSettings({
    listSettings: { ...LISTED, groups: [{ title: "Turns", settings }] },
  });
  await ready(into);
  const box = named<HTMLInputElement>("Time limit");
  expect([box.value, box.placeholder]).toEqual([shows, "no limit"]);
  box.value = types;
  box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  await until(() => expect(changes()).toMatchObject([{ name: "timeout", value: sent }]));
});

test("reports an open confirmation when the settings close", async () => {
  const { into, named, page, refused, button } = openSettings({
    changeSetting: { confirm: "This lets agents do more." },
  });
  await ready(into);
  const box = named<HTMLInputElement>("Working folder");
  box.value = "/data";
  box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  await until(() => expect(button("Change it")).toBeDefined());
  page.close();
  expect(refused).toEqual(["Working folder (/data): not confirmed. This lets agents do more."]);
});

test("keeps the error beside a refused value until the value is set back", async () => {
  const { into, named, changes } = openSettings({
    changeSetting: ({ name }: { name: string }) => {
      if (name === "cwd") throw new Error("There is no such folder.");
      return {};
    },
  });
  await ready(into);
  const box = named<HTMLInputElement>("Working folder");
  box.value = "/nowhere";
  box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  const why = () => row(into, "cwd").querySelector("[role=alert]")?.textContent;
  await until(() => expect(why()).toBe("There is no such folder."));
  named<HTMLInputElement>("Preload agents").value = "c";
  named("Preload agents").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  await until(() => expect(changes()).toHaveLength(2));
  expect([box.value, why()]).toEqual(["/nowhere", "There is no such folder."]);
  box.value = "/gone";
  box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  await until(() => expect(why()).toBeUndefined());
  expect(changes()).toHaveLength(2);
});

test("restores the current value when a confirmation is cancelled", async () => {
  const { into, named, button } = openSettings({ changeSetting: { confirm: "This lets agents do more." } });
  await ready(into);
  named<HTMLInputElement>("Working folder").value = "/data";
  named("Working folder").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  await until(() => expect(button("Change it")).toBeDefined());
  button("Cancel").click();
  await until(() => expect(named<HTMLInputElement>("Working folder").value).toBe("/gone"));
});

test("refuses a pasted or typed megabyte with a reason, and never sends it", async () => {
  const { into, named, changes } = openSettings();
  await ready(into);
  const box = named<HTMLInputElement>("Working folder");
  const text = "x".repeat(1_000_000);
  const paste = new InputEvent("beforeinput", { data: text, bubbles: true, cancelable: true });
  box.dispatchEvent(paste);
  expect(paste.defaultPrevented).toBe(true);
  const why = "This text is too long: 1,000,000 characters, where 4,000 fit.";
  await until(() => expect(row(into, "cwd").querySelector("[role=alert]")?.textContent).toBe(why));
  box.value = text;
  box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  named("Find a setting").dispatchEvent(new InputEvent("beforeinput", { data: text, bubbles: true, cancelable: true }));
  await until(() => expect(into.querySelector(".settings-head [role=alert]")?.textContent).toBe(why));
  expect(changes()).toEqual([]);
});

test("sends the file's previous value with a change, unless kernel-only", async () => {
  const { into, named, changes } = openSettings();
  await ready(into);
  const box = named<HTMLInputElement>("Preload agents");
  expect(box.value).toBe("a, b");
  box.value = "b, c,";
  box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  await until(() => expect(changes()).toHaveLength(1));
  named("Reset Permissions").click();
  await until(() => expect(changes()).toHaveLength(2));
  const where = named<HTMLSelectElement>("Save changes for");
  where.value = "here";
  where.dispatchEvent(new Event("change"));
  await until(() => expect(into.textContent).toContain("Can't be set for this kernel alone."));
  const select = into.querySelector<HTMLSelectElement>("select[aria-label=Permissions]") as HTMLSelectElement;
  select.value = "deny";
  select.dispatchEvent(new Event("change"));
  await until(() => expect(changes()).toHaveLength(3));
  expect(changes()).toEqual([
    { name: "warm", value: ["b", "c"], here: false, was: null, checks: true },
    { name: "permissions", value: null, here: false, was: "deny", checks: true },
    { name: "permissions", value: "deny", here: true },
  ]);
});

test("asks for confirmation of a change that lets agents do more", async () => {
  const { into, changes, button } = openSettings({
    changeSetting: ({ confirmed }: { confirmed?: string }) => (confirmed ? {} : { confirm: "Agents may do more." }),
  });
  await ready(into);
  const select = into.querySelector<HTMLSelectElement>("select[aria-label=Permissions]") as HTMLSelectElement;
  const choose = async () => {
    select.value = "allow";
    select.dispatchEvent(new Event("change"));
    await until(() => expect(button("Change it")).toBeDefined());
  };
  await choose();
  expect(select.value).toBe("ask");
  expect(document.activeElement).toBe(button("Cancel"));
  button("Cancel").click();
  await until(() => expect(button("Change it")).toBeUndefined());
  expect(changes()).toHaveLength(1);
  await choose();
  button("Change it").click();
  await until(() => expect(changes()).toHaveLength(3));
  expect(changes()[2]?.confirmed).toBe("Agents may do more.");
});

test("shows why a change was refused, revokes grants, and tests the policy", async () => {
  const { into, button, requests, announcements } = openSettings({
    revokeGrant: { message: "Revoked. Running work continues; the next request asks." },
    changePolicy: () => {
      throw new Error("Rule 1 is not that any more.");
    },
    testPolicy: { message: "You would be asked." },
  });
  await ready(into);
  into.querySelector<HTMLElement>("[aria-label='Remove rule 1']")?.click();
  await until(() => expect(into.textContent).toContain("Rule 1 is not that any more."));
  into.querySelector<HTMLElement>("[aria-label='Revoke: ELIZA may edit files without asking']")?.click();
  await until(() => expect(announcements.at(-1)).toContain("Running work continues"));
  expect(requests.find(({ method }) => method === "revokeGrant")?.params).toEqual({ id: "g1" });
  button("Test").click();
  await until(() => expect(into.textContent).toContain("You would be asked."));
});

test("finds settings by their words, and has no axe violations", async () => {
  const { into, named } = openSettings();
  await ready(into);
  const { violations } = await axe.run(into, { rules: { "color-contrast": { enabled: false } } });
  expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
  const find = named<HTMLInputElement>("Find a setting");
  find.value = "preload";
  find.dispatchEvent(new Event("input"));
  await until(() =>
    expect([...into.querySelectorAll<HTMLElement>("[data-at]")].map(({ dataset }) => dataset.at)).toEqual(["warm"]),
  );
});

test.each([true, false])("focuses the search box only in the panel (in the panel: %s)", async (isInPanel) => {
  const { into, named } = openSettings();
  into.className = isInPanel ? "panel" : "";
  into.tabIndex = -1;
  into.focus();
  await ready(into);
  await until(() => expect(document.activeElement).toBe(isInPanel ? named("Find a setting") : into));
});

test("orders and hides agents with buttons and check boxes", async () => {
  const { into, named, changes } = openSettings();
  await ready(into);
  const folded = ["agents_order", "agents_hidden"].map((name) => row(into, name).querySelector("summary")?.textContent);
  expect(folded).toEqual(["Agent orderUsual", "Shown agentsAll but goose"]);
  const check = (name: string) =>
    [...row(into, "agents_hidden").querySelectorAll("label")]
      .find((one) => one.textContent?.trim() === name)
      ?.querySelector("input");
  expect(["Claude", "goose"].map((name) => check(name)?.checked)).toEqual([true, false]);
  named("Move Claude up").click();
  await until(() => expect(changes()).toHaveLength(1));
  check("Claude")?.click();
  await until(() => expect(changes()).toHaveLength(2));
  check("goose")?.click();
  await until(() => expect(changes()).toHaveLength(3));
  expect(changes().map(({ name, value }) => [name, value])).toEqual([
    ["agents_order", ["claude", AGENT.provider]],
    ["agents_hidden", ["goose", "claude"]],
    ["agents_hidden", []],
  ]);
  expect(named<HTMLButtonElement>("Move Claude down").disabled).toBe(true);
});

test("chooses a working folder from a list, also when the old one is gone", async () => {
  const { into, named, button, requests, changes } = openSettings({
    listFolders: ({ path }: { path: string }) => {
      if (path === "/gone") throw new Error("It is gone.");
      const above = path.endsWith("/data");
      return { path: above ? "/home/ada/data" : "/home/ada", folders: above ? [] : ["data"], isCut: false };
    },
  });
  await ready(into);
  named("Choose Working folder").click();
  await until(() => expect(button("data")).toBeDefined());
  button("data").click();
  await until(() => expect(into.textContent).toContain("No folders here."));
  button("Use this folder").click();
  await until(() => expect(changes()).toHaveLength(1));
  expect(changes()[0]).toMatchObject({ name: "cwd", value: "/home/ada/data" });
  const paths = requests.filter(({ method }) => method === "listFolders").map(({ params }) => params.path);
  expect(paths).toEqual(["/gone", "", "/home/ada/data"]);
});

test("turns notifications on only after the browser allows them", async () => {
  const { into, named, changes } = openSettings();
  await ready(into);
  const answers = ["denied", "granted"];
  const before = Object.getOwnPropertyDescriptor(globalThis, "Notification");
  Object.defineProperty(globalThis, "Notification", {
    configurable: true,
    value: { requestPermission: async () => answers.shift() },
  });
  try {
    const box = named<HTMLInputElement>("Notifications");
    box.click();
    await until(() => expect(into.textContent).toContain("The browser blocks notifications"));
    expect([box.checked, changes()]).toEqual([false, []]);
    box.click();
    await until(() => expect(changes()).toMatchObject([{ name: "notifications", value: true }]));
  } finally {
    if (before) Object.defineProperty(globalThis, "Notification", before);
    else Reflect.deleteProperty(globalThis, "Notification");
  }
});

test("shows when the browser has not allowed notifications that are on", async () => {
  const settings = [setting({ name: "notifications", title: "Notifications", kind: "switch", value: true })];
  const requestPermission = vi.fn(async () => "denied");
  vi.stubGlobal("Notification", { permission: "default", requestPermission });
  try {
    const { into, button } = openSettings({ listSettings: { ...LISTED, groups: [{ title: "Look", settings }] } });
    await ready(into);
    expect([
      into.textContent?.includes("this browser hasn't been asked yet"),
      requestPermission.mock.calls.length,
    ]).toEqual([true, 0]);
    button("Ask the browser").click();
    await until(() => expect(into.textContent).toContain("The browser blocks notifications from this page."));
    expect(button("Ask the browser")).toBeUndefined();
  } finally {
    vi.unstubAllGlobals();
  }
});

test("adds an MCP server with command and variables, removes one by name", async () => {
  const { into, named, button, requests } = openSettings();
  await ready(into);
  const type = (label: string, value: string) => {
    const box = named<HTMLInputElement>(label);
    box.value = value;
    box.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const servers = () => requests.filter(({ method }) => method === "changeMcpServer").map(({ params }) => params);
  type("Name of the server", "git");
  type("Command or address", "uvx mcp-server-git");
  type("Variables for the command", "no variable");
  await until(() => expect(named<HTMLInputElement>("Variables for the command").value).toBe("no variable"));
  button("Add server").click();
  await until(() => expect(into.textContent).toContain("Write each variable as NAME=value, one per line."));
  type("Variables for the command", "TOKEN=a=b");
  await until(() => {
    button("Add server").click();
    expect(servers()).toHaveLength(1);
  });
  named("Remove the MCP server db").click();
  await until(() => expect(servers()).toHaveLength(2));
  expect(servers()).toEqual([
    { name: "git", here: false, server: { line: "uvx mcp-server-git", env: { TOKEN: "a=b" } } },
    { name: "db", here: false },
  ]);
});

const typeInto = (box: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement, value: string, event = "input") => {
  box.value = value;
  box.dispatchEvent(new Event(event, { bubbles: true }));
};

test("edits a custom agent, and keeps or removes its hidden variables", async () => {
  const { into, named, button, requests } = openSettings({
    changeOwnAgent: ({ confirmed }: { confirmed?: string }) => (confirmed ? {} : { confirm: "Start it so?" }),
  });
  await ready(into);
  const sent = () => requests.filter(({ method }) => method === "changeOwnAgent").map(({ params }) => params);
  expect(named<HTMLButtonElement>("Edit the agent bad").disabled).toBe(true);
  named("Edit the agent mine").click();
  await until(() => expect(named<HTMLInputElement>("Command of the agent").value).toBe("my-agent --acp"));
  typeInto(named<HTMLInputElement>("Command of the agent"), "my-agent --new");
  typeInto(named<HTMLInputElement>("Variables to set"), "NEW=a=b");
  named("Remove the variable OLD").click();
  await until(() => expect(named("Remove the variable OLD")).toBeNull());
  button("Save").click();
  await until(() => expect(button("Change it")).toBeDefined());
  button("Change it").click();
  await until(() => expect(sent()).toHaveLength(2));
  named("Remove the agent mine").click();
  await until(() => expect(sent()).toHaveLength(3));
  const agent = { line: "my-agent --new", env: { KEY: null, NEW: "a=b" } };
  expect(sent()).toEqual([
    { name: "mine", state: "s1", agent },
    { name: "mine", state: "s1", agent, confirmed: "Start it so?" },
    { name: "mine", state: "s1" },
  ]);
});

test("adds a custom agent, or a custom command for a catalogue agent", async () => {
  const { into, named, button, requests } = openSettings();
  await ready(into);
  const sent = () => requests.filter(({ method }) => method === "changeOwnAgent").map(({ params }) => params);
  const choose = (value: string) => typeInto(named<HTMLSelectElement>("Agent of the command"), value, "change");
  const says = async (sentence: string) =>
    until(() => {
      button("Save").click();
      expect(into.textContent).toContain(sentence);
    });
  choose("=");
  await until(() => expect(named("Name of the agent")).not.toBeNull());
  await says("Enter a name for the agent.");
  typeInto(named<HTMLInputElement>("Name of the agent"), "claude");
  await says("An agent named claude exists already.");
  typeInto(named<HTMLInputElement>("Name of the agent"), "other");
  await says("Enter the command that starts the agent.");
  typeInto(named<HTMLInputElement>("Command of the agent"), "other --acp");
  typeInto(named<HTMLInputElement>("Variables to set"), "no variable");
  await says("Write each variable as NAME=value, one per line.");
  typeInto(named<HTMLInputElement>("Variables to set"), "");
  await until(() => {
    button("Save").click();
    expect(sent()).toHaveLength(1);
  });
  choose("=claude");
  await until(() => expect(named<HTMLInputElement>("Command of the agent").value).toBe("claude-acp"));
  button("Save").click();
  await until(() => expect(sent()).toHaveLength(2));
  expect(sent()).toEqual([
    { name: "other", state: "", agent: { line: "other --acp", env: {} } },
    { name: "claude", state: "", agent: { line: "claude-acp", env: {} } },
  ]);
});

test("hides and shows models with check boxes, separately for each agent", async () => {
  const { into, changes } = openSettings();
  await ready(into);
  const labels = [...row(into, "models_hidden").querySelectorAll("label")];
  const check = (name: string) => labels.find((one) => one.textContent?.trim() === name)?.querySelector("input");
  for (const [at, name] of ["One Claude", "Two Claude", "Three Claude", "gone"].entries()) {
    check(name)?.click();
    await until(() => expect(changes()).toHaveLength(at + 1));
  }
  expect(check(`Two ${AGENT.displayName}`)?.checked).toBe(false);
  expect(changes().map(({ value }) => value)).toEqual([
    ["m2", "claude/m3", "gone", "claude/m1"],
    ["claude/m3", "gone", `${AGENT.provider}/m2`],
    ["m2", "gone"],
    ["m2", "claude/m3"],
  ]);
});

function type(box: HTMLInputElement | HTMLTextAreaElement, text: string): void {
  box.value = text;
  box.dispatchEvent(new Event("input", { bubbles: true }));
}

test("saves typed text once when the page closes", async () => {
  const { into, named, changes, page, refused } = openSettings();
  await ready(into);
  named<HTMLInputElement>("Working folder").focus();
  type(named("Working folder"), "/home/ada/fit");
  page.close();
  expect(changes()).toEqual([expect.objectContaining({ name: "cwd", value: "/home/ada/fit" })]);
  await until(() => expect(document.activeElement).toBe(document.body));
  expect([changes().length, refused]).toEqual([1, []]);
});

test.each([
  ["is refused", () => Promise.reject(new Error("There is no such folder.")), "There is no such folder."],
  ["must be confirmed", () => ({ confirm: "Agents may do more." }), "Agents may do more. Open the settings to confirm"],
])("reports a change that %s after the settings close", async (_, changeSetting, words) => {
  const { into, named, page, refused } = openSettings({ changeSetting });
  await ready(into);
  type(named("Working folder"), "/nowhere");
  page.close();
  await until(() => expect(refused).toEqual([expect.stringContaining(words)]));
  expect(refused[0]).toMatch(/^Working folder \(\/nowhere\): /);
});

test("keeps typed text when another value is set, and sends it only once", async () => {
  let listed: object = LISTED;
  const { into, named, changes, page } = openSettings({
    listSettings: () => listed,
    changeSetting: () => Promise.reject(new Error("Someone else has set it.")),
  });
  await ready(into);
  const box = named<HTMLInputElement>("Working folder");
  type(box, "/mine");
  box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  listed = JSON.parse(JSON.stringify(LISTED).replace("/gone", "/theirs"));
  await until(() => expect(into.textContent).toContain("Someone else has set it."));
  expect(named<HTMLInputElement>("Working folder").value).toBe("/mine");
  page.close();
  expect(changes()).toHaveLength(1);
});

test("keeps form input when the settings are reopened, until Cancel", async () => {
  const { into, named, button, page } = openSettings();
  await ready(into);
  named<HTMLSelectElement>("Agent of the command").value = "=";
  named("Agent of the command").dispatchEvent(new Event("change", { bubbles: true }));
  await until(() => expect(named("Name of the agent")).not.toBeNull());
  type(named("Name of the agent"), "other");
  type(named("Name of the server"), "git");
  type(named("Path, with * and **"), "*.csv");
  page.close();
  page.close = page.mount();
  await ready(into);
  const fields = ["Name of the agent", "Name of the server", "Path, with * and **"];
  expect(fields.map((one) => named<HTMLInputElement>(one).value)).toEqual(["other", "git", "*.csv"]);
  button("Cancel").click();
  await until(() => expect(named("Name of the agent")).toBeNull());
  page.close();
  page.close = page.mount();
  await ready(into);
  expect(named("Name of the agent")).toBeNull();
});

test("sends text in a number setting as typed, not as a reset", async () => {
  const { into, named, changes, page } = openSettings();
  await ready(into);
  type(named("Keep"), "soon");
  page.close();
  expect(changes()).toEqual([expect.objectContaining({ name: "log_days", value: "soon" })]);
});
