/** The states that the development page can show, by name. */
import type {
  ActiveTurn,
  ChangesetFile,
  ChatState,
  ResponsePart,
  SessionState,
  ToolCallState,
  Turn,
} from "../src/state/types.gen";
import type { Connection, What } from "../src/view/store";
import { ScriptedStore } from "./store";
import { ANSWER, DIFF_NEW, DIFF_OLD, PICTURE } from "./texts";

const SESSION = "claude:/analysis";
const CHAT = `${SESSION}/chat`;
const user = { kind: "user" } as const;
type Loose = Record<string, unknown>;

function tool(call: Loose): ResponsePart {
  return {
    kind: "toolCall",
    toolCall: { toolName: "tool", invocationMessage: call.displayName, ...call } as unknown as ToolCallState,
  } as ResponsePart;
}

const markdown = (id: string, content: string) => ({ kind: "markdown", id, content }) as ResponsePart;
const done = { status: "completed", success: true, pastTenseMessage: "", confirmed: "not-needed" };

const THOUGHT = {
  kind: "reasoning",
  id: "p1",
  content:
    "**Looking at the fit**\n\nThe residuals grow with `x`, so the noise is not constant. I should look at how the weights are made before I blame the optimiser.",
} as ResponsePart;

const READ = tool({
  toolCallId: "t1",
  displayName: "Read fit.py",
  ...done,
  toolInput: '{"path":"src/fit.py","limit":120}',
  details: {
    kind: "read",
    locations: [{ path: "src/fit.py", line: 42 }],
    content: [{ type: "text", text: "def fit(x, y):\n    # weights are missing\n    return curve_fit(model, x, y)\n" }],
  },
});
const SEARCH = tool({
  toolCallId: "t2",
  displayName: "Search for “weights”",
  ...done,
  details: {
    kind: "search",
    locations: [{ path: "src/fit.py" }, { path: "tests/test_fit.py" }],
    rawOutput: { matches: 7 },
  },
});
const EDIT = tool({
  toolCallId: "t3",
  displayName: "Edit src/model.py",
  ...done,
  confirmed: "user-action",
  selectedOption: { id: "a", label: "Yes, allow once", kind: "approve" },
  details: {
    kind: "edit",
    locations: [{ path: "src/model.py", line: 3 }],
    content: [{ type: "diff", path: "/home/ada/project/src/model.py", oldText: DIFF_OLD, newText: DIFF_NEW }],
  },
});
const RUN = tool({
  toolCallId: "t4",
  displayName: "Run the tests",
  status: "running",
  confirmed: "not-needed",
  toolInput: "pytest -q tests/test_fit.py",
  details: { kind: "execute", content: [{ type: "terminal", terminalId: "term-1" }] },
});
const RAN = tool({
  toolCallId: "t4",
  displayName: "Run the tests",
  ...done,
  toolInput: "pytest -q tests/test_fit.py",
  details: { kind: "execute", content: [{ type: "terminal", terminalId: "term-1" }] },
});
const FAILED = tool({
  toolCallId: "t5",
  displayName: "Fetch https://example.org/data.csv",
  ...done,
  success: false,
  error: { message: "404 Not Found" },
  toolInput: '{"url":"https://example.org/data.csv"}',
  details: { kind: "fetch" },
});
const DENIED = tool({
  toolCallId: "t6",
  displayName: "Delete old results",
  status: "cancelled",
  reason: "denied",
  selectedOption: { id: "d", label: "No, keep them", kind: "deny" },
  details: { kind: "delete", locations: [{ path: "results/2023" }] },
});
const ASK = tool({
  toolCallId: "t7",
  displayName: "pip install lmfit",
  status: "pending-confirmation",
  toolInput: "pip install lmfit==1.3.2 --quiet",
  options: [
    { id: "1", label: "Yes", kind: "approve", optionKind: "allow_once" },
    { id: "2", label: "Yes, and don't ask again for pip", kind: "approve", optionKind: "allow_always" },
    { id: "3", label: "No", kind: "deny", optionKind: "reject_once" },
    { id: "4", label: "No, never", kind: "deny", optionKind: "reject_always" },
  ],
  details: { kind: "execute", locations: [{ path: "/home/ada/project" }] },
});
const ASK_EDIT = tool({
  toolCallId: "t8",
  displayName: "Write src/model.py",
  status: "pending-confirmation",
  confirmationTitle: "Allow this edit?",
  options: [
    { id: "1", label: "Allow once", kind: "approve" },
    { id: "3", label: "Reject", kind: "deny" },
  ],
  details: { kind: "edit", content: [{ type: "diff", path: "src/model.py", oldText: DIFF_OLD, newText: DIFF_NEW }] },
});
const CRITICAL_COMMAND = 'find . -name "*.parquet" -mtime +30 -print0 | xargs -0 rm -rf --';
const ASK_CRITICAL = tool({
  toolCallId: "t9",
  displayName: CRITICAL_COMMAND,
  confirmationTitle: "Run a command",
  status: "pending-confirmation",
  toolInput: CRITICAL_COMMAND,
  editable: true,
  risk: { severity: "critical", reason: "Deletes folders and everything in them." },
  options: [
    { id: "1", label: "Allow", kind: "approve", optionKind: "allow_once" },
    { id: "3", label: "Reject", kind: "deny", optionKind: "reject_once" },
  ],
  details: { kind: "execute", locations: [{ path: "/home/ada/project" }] },
});
const ASK_WIDER = tool({
  toolCallId: "t10",
  displayName: "Replace In [3]: `fit = curve_fit(model, df.x, df.y)`",
  status: "pending-confirmation",
  risk: { severity: "medium", reason: "Edits a cell of your notebook.", like: "cell edits" },
  options: [
    { id: "1", label: "Allow", kind: "approve", optionKind: "allow_once" },
    { id: "2", label: "Always Allow", kind: "approve", optionKind: "allow_always" },
    { id: "3", label: "Reject", kind: "deny", optionKind: "reject_once" },
    { id: "agentnb:turn", label: "Any cell edit, this turn", kind: "approve", group: 1, optionKind: "allow_turn" },
    {
      id: "agentnb:session",
      label: "Any cell edit, this conversation",
      kind: "approve",
      group: 1,
      optionKind: "allow_session",
    },
    {
      id: "agentnb:always",
      label: "Any cell edit in folders I trust, until I revoke it",
      kind: "approve",
      group: 1,
      optionKind: "allow_always",
    },
  ],
  details: {
    kind: "edit",
    locations: [{ path: "analysis.ipynb" }],
    content: [
      {
        type: "diff",
        path: "analysis.ipynb",
        oldText: "fit = curve_fit(model, df.x, df.y)\n",
        newText: "fit = curve_fit(model, df.x, df.y, sigma=df.sigma)\n",
      },
    ],
  },
});
const PLAN = {
  kind: "x-agentnb/plan",
  id: "p9",
  entries: [
    { content: "Read how the weights are made", status: "completed", priority: "medium" },
    { content: "Fit again with weights, compare the residuals", status: "in_progress", priority: "high" },
    { content: "Plot both and save the figure to report/residuals.png", status: "pending", priority: "low" },
  ],
} as unknown as ResponsePart;
const IMAGE = {
  kind: "x-agentnb/content",
  id: "p10",
  block: { type: "image", mimeType: "image/png", data: PICTURE },
} as unknown as ResponsePart;
const LINK = {
  kind: "x-agentnb/content",
  id: "p11",
  block: { type: "resource_link", name: "residuals.png", uri: "report/residuals.png", size: 48213 },
} as unknown as ResponsePart;
const RAW = {
  kind: "x-agentnb/raw",
  id: "p12",
  name: "future_update",
  payload: { sessionUpdate: "future_update", value: 3 },
} as unknown as ResponsePart;
const NOTICE = { kind: "systemNotification", content: "The conversation was compacted to make room." } as ResponsePart;

const TERMINAL = {
  id: "term-1",
  command: "pytest -q tests/test_fit.py",
  cwd: "/home/ada/project",
  exited: true,
  exitCode: 0,
  truncated: false,
  output:
    "\u001b[32m.\u001b[0m\u001b[32m.\u001b[0m\u001b[33ms\u001b[0m\u001b[32m.\u001b[0m\n\u001b[32m\u001b[1m3 passed\u001b[0m, \u001b[33m1 skipped\u001b[0m in 0.42s\n",
};

function chat(parts: { turns?: Turn[]; activeTurn?: ActiveTurn; queued?: string[]; terminals?: unknown[] }): ChatState {
  return {
    resource: CHAT,
    title: "Residuals",
    status: parts.activeTurn ? 8 : 1,
    modifiedAt: "2026-01-01T00:00:00.000Z",
    turns: parts.turns ?? [],
    activeTurn: parts.activeTurn,
    queuedMessages: parts.queued?.map((text, index) => ({ id: `q${index}`, message: { text, origin: user } })),
    terminals: parts.terminals ?? [TERMINAL],
  } as unknown as ChatState;
}

const turn = (id: string, text: string, responseParts: ResponsePart[], more: Loose = {}) =>
  ({
    id,
    message: { text, origin: user },
    responseParts,
    state: "complete",
    stopReason: "end_turn",
    ...more,
  }) as unknown as Turn;
const active = (id: string, text: string, responseParts: ResponsePart[]) =>
  ({ id, message: { text, origin: user }, responseParts }) as unknown as ActiveTurn;

const summary = (resource: string, title: string, status: number) => ({
  resource,
  provider: resource.split(":")[0],
  title,
  status,
  createdAt: 1,
  modifiedAt: 1,
});

function session(more: Loose = {}): SessionState {
  return {
    provider: "claude",
    title: "Residuals",
    status: 33,
    lifecycle: "ready",
    activeClients: [],
    chats: [],
    defaultChat: CHAT,
    contextUsage: { used: 48_200, size: 200_000, cost: { amount: 0.1834, currency: "USD" } },
    configOptions: OPTIONS,
    modes: { currentModeId: "ask", availableModes: [{ id: "ask", name: "Ask before edits" }] },
    commands: [
      { name: "plan", description: "Make a plan first" },
      { name: "compact", description: "Make the conversation shorter" },
    ],
    ...more,
  } as unknown as SessionState;
}

function store(state: ChatState | undefined, more: Loose = {}): ScriptedStore {
  const made = new ScriptedStore();
  made.root.value = {
    agents: [
      { provider: "claude", displayName: "Claude Code", description: "Anthropic's coding agent", models: [] },
      { provider: "gemini", displayName: "Gemini CLI", description: "Google's coding agent", models: [] },
      { provider: "eliza", displayName: "Eliza", description: "Built in: no key, no network", models: [] },
    ],
    sessions: [
      summary("eliza:/1", "", 33),
      summary("gemini:/2", "Clean the data set", 24),
      summary("codex:/4", "Port to polars", 8),
      summary("eliza:/5", "Small talk", 1),
      summary(SESSION, "Residuals", 33),
    ],
  } as never;
  made.session(SESSION).value = session(more);
  made.chat(CHAT).value = state;
  return made;
}

const FORM = {
  id: "r1",
  message: "How shall the fit be set up?",
  questions: [
    {
      kind: "text",
      id: "name",
      title: "Name of the report",
      message: "A file of this name is written.",
      required: true,
    },
    { kind: "integer", id: "n", message: "How many bootstrap samples?", min: 10, max: 10_000, defaultValue: 500 },
    { kind: "boolean", id: "plot", message: "Draw the residuals", defaultValue: true },
    {
      kind: "single-select",
      id: "model",
      message: "Which model?",
      required: true,
      options: [
        { id: "exp", label: "Exponential", recommended: true },
        { id: "pow", label: "Power law", description: "two more parameters" },
      ],
    },
    {
      kind: "multi-select",
      id: "out",
      message: "What shall be saved?",
      options: [
        { id: "png", label: "Figure" },
        { id: "csv", label: "Table of parameters" },
      ],
    },
  ],
};
const VISIT = {
  id: "r2",
  message: "Log in to the data portal, please.",
  url: "https://data.example.org/login?code=WDJB",
};

const OPTIONS = [
  {
    id: "model",
    name: "Model",
    type: "select",
    category: "model",
    currentValue: "large",
    options: [
      { value: "small", name: "Small, fast" },
      { value: "large", name: "Large" },
    ],
  },
  {
    id: "effort",
    name: "Effort",
    type: "select",
    category: "thought_level",
    currentValue: "high",
    options: [
      { value: "low", name: "Low effort" },
      { value: "high", name: "High effort" },
    ],
  },
];

export interface Scene {
  store: ScriptedStore;
  what: What;
}

const chatView: What = { kind: "chat", tab: "analysis" };
const turnView: What = { kind: "turn", channel: CHAT, turnId: "u1" };
const ASKED = "Why does this fit not converge? Look at @model and @df.";
const inChat = (state: ChatState, more?: Loose): Scene => ({ store: store(state, more), what: chatView });
const inTurn = (state: ChatState, more?: Loose): Scene => ({ store: store(state, more), what: turnView });

const CHANGED_FILES = [
  change("file:src/fit.py", { kind: "file", name: "src/fit.py", by: ["toolCall", "user"] }, [2, 1]),
  change("file:report/résumé.md", { kind: "file", name: "report/résumé.md", status: "added", by: ["during"] }, [12, 0]),
  change(
    "file:old.csv",
    {
      kind: "file",
      name: "data/old/measurements-of-the-first-long-run.csv",
      status: "deleted",
      by: ["during"],
      state: "undone",
    },
    [0, 6],
  ),
  change("file:fig.png", {
    kind: "file",
    name: "fig.png",
    status: "moved",
    was: "plots/fig.png",
    binary: true,
    by: ["toolCall"],
  }),
  change("file:.env", {
    kind: "file",
    name: ".env",
    by: ["during"],
    undoable: false,
    reason: "Its content was not stored: it may hold secrets.",
  }),
  change("cell:a", { kind: "cell", name: "In [4]: fit = curve_fit(model, df.x, df.y)", by: ["toolCall"] }, [3, 1]),
  change("cell:b", { kind: "cell", name: "## Residuals", status: "added", by: ["toolCall"] }, [1, 0]),
  change("variable:df", { kind: "variable", name: "df", detail: "DataFrame (100, 3) → (100, 4)", by: ["toolCall"] }),
  change("variable:rows", {
    kind: "variable",
    name: "rows",
    detail: "list, length 3",
    by: ["toolCall"],
    undoable: false,
    reason: "what it was before is not kept: it is too large",
  }),
];

function change(id: string, meta: Loose, lines?: [added: number, removed: number]): ChangesetFile {
  const side = (name: string) => ({ uri: id, content: { uri: `agentnb-blob:/${name}` } });
  const { status = "changed" } = meta;
  const edit = {
    ...(status === "added" ? {} : { before: side("1") }),
    ...(status === "deleted" ? {} : { after: side("2") }),
    ...(lines ? { diff: { added: lines[0], removed: lines[1] } } : {}),
  };
  return {
    id,
    edit,
    _meta: { agentnb: { status, state: "open", undoable: true, ...meta } },
  } as unknown as ChangesetFile;
}

/** A turn with changes, and the clicks in it. */
function changing(...clicks: string[]): Scene {
  const changes = { status: "ready", files: 5, added: 14, removed: 7, cells: 2, variables: 2, undone: 1, undoable: 6 };
  const notes = [
    "data/huge.h5 is larger than 20 MB and was not looked at.",
    "Programs that the agent ran may have changed other things.",
  ];
  const one = turn("u1", ASKED, [markdown("p1", "I added the weights and a short report.")], {
    changes: { ...changes, notes } as Turn["changes"],
  });
  const scene = inChat(chat({ turns: [one] }), {
    changesets: [{ label: "All", uriTemplate: "", changeKind: "session" }],
  });
  const state = { status: "ready", files: CHANGED_FILES };
  for (const channel of [`${SESSION}/changes/u1`, `${SESSION}/changes`]) scene.store.changeset(channel).value = state;
  scene.store.texts = { "file:src/fit.py before": DIFF_OLD, "file:src/fit.py after": DIFF_NEW };
  const [target, base] = [DIFF_OLD, DIFF_NEW];
  scene.store.answers = {
    invokeChangesetOperation: {
      message: "src/fit.py was changed since.",
      conflicts: [{ id: "file:src/fit.py", path: "src/fit.py", base, target, current: `# mine\n${base}` }],
    },
  };
  const click = () => {
    const name = clicks.shift();
    const all = [...(document.querySelector(".agentnb-view")?.shadowRoot?.querySelectorAll("button, input") ?? [])];
    const label = (one: Element) => one.getAttribute("aria-label") ?? one.closest("label, button")?.textContent ?? "";
    if (name) (all.find((one) => label(one).startsWith(name)) as HTMLElement).click();
    if (clicks.length > 0) setTimeout(click, 80);
  };
  setTimeout(click, 80);
  return scene;
}

/** A running turn with this state of the connection. */
function standing(connection: Connection): Scene {
  const scene = inChat(
    chat({
      turns: [turn("u1", ASKED, [markdown("p1", ANSWER.slice(0, 300))])],
      activeTurn: active("u2", ASKED, [RUN, ASK]),
    }),
  );
  scene.store.connection.value = connection;
  return scene;
}

export const SCENES: Record<string, () => Scene> = {
  changes: () => changing(),
  "changes-review": () => changing("Review", "2 notes", "Show change of src/fit.py"),
  "changes-conflict": () => changing("Undo", "Keep mine"),
  "changes-back": () => changing("Turn", "Back to"),
  "changes-panel": () => changing("Conversation", "Changes"),
  answer: () =>
    inChat(
      chat({
        turns: [
          turn("u1", ASKED, [THOUGHT, READ, SEARCH, markdown("p5", ANSWER)], {
            usage: { inputTokens: 12_408, outputTokens: 933 },
          }),
        ],
      }),
    ),
  tools: () =>
    inChat(
      chat({
        turns: [turn("u1", ASKED, [PLAN, THOUGHT, READ, SEARCH, EDIT, RAN, FAILED, DENIED, NOTICE, RAW, IMAGE, LINK])],
      }),
    ),
  permission: () =>
    inChat(
      chat({
        activeTurn: active("u1", ASKED, [
          THOUGHT,
          READ,
          markdown("p5", "`lmfit` makes this a one-liner, but it is not installed."),
          ASK,
        ]),
        queued: [
          "Then plot the residuals",
          "And write a short report for Charles, please, with the figure and the table of parameters",
        ],
      }),
    ),
  "permission-critical": () =>
    inChat(chat({ activeTurn: active("u1", ASKED, [markdown("p5", "I'll make room first."), ASK_CRITICAL]) })),
  "permission-wider": () => inChat(chat({ activeTurn: active("u1", ASKED, [ASK_WIDER]) })),
  held: () =>
    inChat({
      ...chat({ turns: [turn("u1", ASKED, [markdown("p1", "The residuals grow with")], { state: "cancelled" })] }),
      queuedMessages: ["Then plot the residuals", "And write a short report"].map((text, at) => ({
        id: `q${at}`,
        message: { text, origin: user },
        held: true,
      })),
    } as never),
  "many-tabs": () => {
    const scene = inChat(chat({ turns: [turn("u1", ASKED, [markdown("p1", "Done.")])] }));
    const root = scene.store.root.value as unknown as { sessions: Loose[] };
    const more = Array.from({ length: 9 }, (_, at) => ({
      ...root.sessions[0],
      resource: `claude:/more-${at}`,
      title: `Question number ${at + 1} about the data`,
      status: at === 2 ? 24 : 33,
    }));
    scene.store.root.value = { ...root, sessions: [...more, ...root.sessions] } as never;
    return scene;
  },
  thinking: () =>
    inChat(
      chat({
        activeTurn: active("u1", ASKED, [
          { ...THOUGHT, content: `${(THOUGHT as { content: string }).content}\n\n`.repeat(12) } as ResponsePart,
        ]),
      }),
    ),
  "permission-edit": () => inChat(chat({ activeTurn: active("u1", ASKED, [ASK_EDIT]) })),
  working: () => inChat(chat({ activeTurn: active("u1", ASKED, [{ ...THOUGHT } as ResponsePart]) })),
  failed: () =>
    inChat(
      chat({
        turns: [
          turn("u0", "Hello", [markdown("p1", "Hi! What shall we look at?")]),
          turn("u1", ASKED, [markdown("p1", "Let me have a look at")], {
            state: "error",
            error: {
              errorType: "AgentDied",
              message:
                "Claude Code stopped unexpectedly (exit code 137). The agent restarts with your next message.\nLast output: Killed",
            },
          }),
        ],
      }),
      { agentProcess: { state: "failed", message: "exit code 137" } },
    ),
  empty: () => inChat(chat({})),
  starting: () => inChat(chat({}), { lifecycle: "creating", agentProcess: { state: "starting" } }),
  "not-started": () =>
    inChat(chat({}), {
      lifecycle: "failed",
      creationError: {
        errorType: "CommandNotFound",
        message:
          "The command  claude-code-acp  was not found.\nInstall it with:  npm install -g @zed-industries/claude-code-acp",
      },
    }),
  gone: () => standing("gone"),
  restarted: () => {
    const scene = standing("restarted");
    scene.store.successor.value = () => {};
    return scene;
  },
  busy: () => standing("busy"),
  silent: () => standing("silent"),
  cut: () => standing("cut"),
  behind: () => standing("behind"),
  gap: () => {
    const scene = standing("gap");
    scene.store.gaps.value = {
      [CHAT]: "The disk was full for a while: what was said from 12:04 to 12:09 was not kept.",
    };
    return scene;
  },
  refused: () => {
    const scene = standing("live");
    const action = { type: "session/titleChanged", title: "Weights" } as const;
    scene.store.refusals.value = [{ id: 1, channel: SESSION, action, reason: "A title has at most 200 characters." }];
    return scene;
  },
  connecting: () => {
    const scene = inChat(chat({}));
    scene.store.connection.value = "connecting";
    scene.store.root.value = undefined;
    return scene;
  },
  start: () => {
    const scene = inChat(chat({}));
    const config = { schema: {}, values: { agent: "" } };
    scene.store.root.value = { ...scene.store.root.value, config, sessions: [] } as never;
    return scene;
  },
  form: () =>
    inChat({
      ...chat({
        activeTurn: active("u1", ASKED, [
          markdown("p5", "Before I fit again I need to know a few things."),
          { kind: "inputRequest", request: FORM as never },
        ]),
      }),
    } as never),
  visit: () =>
    inChat({
      ...chat({
        activeTurn: active("u1", ASKED, [
          markdown("p5", "I need access to the data portal."),
          { kind: "inputRequest", request: VISIT },
        ]),
      }),
    } as never),
  stopped: () =>
    inChat(chat({ turns: [turn("u1", ASKED, [markdown("p1", "Done.")])] }), {
      agentProcess: { state: "stopped", message: "Claude Code ended (exit code 0)." },
    }),
  long: () =>
    inChat(
      chat({
        turns: Array.from({ length: 60 }, (_, at) =>
          turn(`u${at}`, `Question ${at}`, [THOUGHT, READ, markdown("p5", ANSWER)]),
        ),
      }),
    ),
  "turn-working": () =>
    inTurn(
      chat({
        activeTurn: active("u1", ASKED, [THOUGHT, READ, EDIT, RUN]),
        terminals: [{ ...TERMINAL, exited: false, exitCode: undefined }],
      }),
    ),
  "turn-permission": () => inTurn(chat({ activeTurn: active("u1", ASKED, [THOUGHT, ASK]) })),
  "turn-done": () =>
    inTurn(
      chat({
        turns: [
          turn("u1", ASKED, [THOUGHT, READ, RAN, markdown("p5", ANSWER)], {
            usage: { inputTokens: 12_408, outputTokens: 933 },
          }),
        ],
      }),
    ),
  "turn-cancelled": () =>
    inTurn(
      chat({
        turns: [
          turn("u1", ASKED, [THOUGHT, markdown("p5", "The residuals grow with")], {
            state: "cancelled",
            stopReason: "cancelled",
          }),
        ],
      }),
    ),
  "turn-failed": () =>
    inTurn(
      chat({
        turns: [
          turn("u1", ASKED, [], {
            state: "error",
            error: { errorType: "AgentDied", message: "Claude Code ended unexpectedly (exit code 137)." },
          }),
        ],
      }),
    ),
  "turn-queued": () =>
    inTurn({
      ...chat({ activeTurn: active("u0", "x", []) }),
      queuedMessages: [{ id: "u1", message: { text: ASKED, origin: user } }],
    } as never),
  "turn-starting": () => inTurn(chat({}), { lifecycle: "creating" }),
};
