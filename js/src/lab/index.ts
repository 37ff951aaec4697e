/** The JupyterLab extension: the chat in the right area, for JupyterLab 4 and Notebook 7. */
import type { Manager } from "@jupyter-widgets/jupyterlab-manager";
import { type Application, ILayoutRestorer, type Restorer } from "@jupyterlab/application";
import { ICommandPalette, Notification, type Palette, ToolbarButton } from "@jupyterlab/apputils";
import {
  EditorExtensionRegistry,
  type EditorExtensions,
  IEditorExtensionRegistry,
  IEditorLanguageRegistry,
  type Languages,
} from "@jupyterlab/codemirror";
import {
  type Cell,
  type CellExecutor,
  INotebookCellExecutor,
  INotebookTracker,
  NotebookActions,
  type NotebookPanel,
  type Tracker,
} from "@jupyterlab/notebook";
import type { Comm, Kernel } from "@jupyterlab/services";
import { offer } from "../notebooks";
import type { NotebookActions as Actions, Review, SettingsAccess } from "../view/store";
import type { Place } from "./add-to-chat";
import { AgentEdits } from "./agent-edits";
import { takeCells } from "./cell-drop";
import { NotebookEdits, runCell } from "./edits";
import { addStyles } from "./element";
import { type ErrorAction, type Failed, FailedCells } from "./failed-cells";
import icon, { explainIcon, fixIcon } from "./icon";
import styles from "./lab.css";
import { savedOf } from "./link";
import { isOpenAt } from "./notebook-state";
import { part } from "./parts";
import { Proposals } from "./proposals";
import type { ReviewPanel } from "./review";
import { Session } from "./session";
import { ID, Sidebar } from "./sidebar";

const REVEAL = "agentnb.sidebar";
const OPEN_KEY = "agentnb sidebar";
const ERRORS = { fix: "agentnb:fix-error", explain: "agentnb:explain-error" } as const;
const ADD = "agentnb:add-to-chat";
const COMMANDS = {
  toggle: "agentnb:toggle",
  focus: "agentnb:focus",
  reconnect: "agentnb:reconnect",
  settings: "agentnb:settings",
  history: "agentnb:history",
};

function activate(
  app: Application,
  tracker: Tracker,
  restorer: Restorer | null,
  palette: Palette | null,
  languages: Languages | null,
  executor: CellExecutor | null = null,
): void {
  addStyles(styles);
  const classic = app.name === "Jupyter Notebook";
  const edits = new WeakMap<NotebookPanel, NotebookEdits>();
  const managers = new WeakMap<NotebookPanel, Promise<Manager>>();
  const failures = new WeakMap<NotebookPanel, FailedCells>();
  const proposals = new WeakMap<NotebookPanel, Proposals>();

  const sidebar = new Sidebar(
    tracker,
    (panel) =>
      new Session({
        panel,
        edits: edits.get(panel) as NotebookEdits,
        agentEdits: new AgentEdits(panel, executor, app.serviceManager.contents, (edit, index, before) =>
          proposals.get(panel)?.edited(edit, index, before),
        ),
        manager: () => managers.get(panel) as Promise<Manager>,
        execute: (command) => void app.commands.execute(command),
      }),
    (visible) => {
      if (classic) localStorage.setItem(OPEN_KEY, visible ? "open" : "");
      app.commands.notifyCommandChanged(COMMANDS.toggle);
    },
  );
  app.shell.add(sidebar, "right", { rank: 900, type: "Agent Chat" });
  restorer?.add(sidebar, ID);

  const warn = (sentence: string): void => {
    Notification.warning(sentence, { autoClose: 6000 });
  };
  const join = (panel: NotebookPanel): void => {
    const made = new NotebookEdits(panel, { executor, warn });
    edits.set(panel, made);
    const proposed = new Proposals(async () => {
      const { shownProposals } = await part<typeof import("./cell-review")>("cell-review");
      const run = (index: number): void => void runCell(panel, executor, index);
      return panel.isDisposed ? undefined : shownProposals(panel, { app, tracker, languages }, run);
    });
    proposals.set(panel, proposed);
    const attend = (count: number): void => {
      sidebar.attend(panel, count);
      void attention().then(({ markNotebook }) => markNotebook(sidebar, panel));
    };
    Object.assign(made, {
      settings: (access: SettingsAccess): void =>
        void part<typeof import("./settings-editor")>("settings-editor")
          .then(({ joinSettings }) => joinSettings(app, access, warn))
          .catch(console.debug),
      propose: proposed.show.bind(proposed),
      applied: proposed.applied.bind(proposed),
      attention: attend,
      showConversation: (resource: string): void =>
        void attention().then((known) => known.showConversation(app, sidebar, panel, reveal, resource)),
    });
    panel.disposed.connect(() => sidebar.hasAttention && attend(0));
    const manager = managerOf(panel);
    managers.set(panel, manager);
    Object.assign(made, diagrams(panel));
    if (!classic) Object.assign(made, mainArea(app, panel, languages, warn));
    manager.then((known) => offer(known, made)).catch((error: unknown) => console.warn("agentnb:", error));
    followKernel(panel, () => reveal());
    failures.set(panel, new FailedCells(panel, ask, noteFailures));
  };
  const ask = (failed: Failed): void => {
    if (!sidebar.isVisible) {
      sidebar.opensQuietly = true; // the edit is reviewed in the notebook: the focus stays there
      reveal();
    }
    sidebar.ask(failed);
  };
  const noteFailures = (): void => {
    for (const command of Object.values(ERRORS)) app.commands.notifyCommandChanged(command);
  };
  // Notebook 7.2's shell closes a side panel that is activated while it is open.
  const reveal = (): void => (sidebar.isVisible ? sidebar.activate() : app.shell.activateById(ID));
  tracker.forEach(join);
  tracker.widgetAdded.connect((_, panel) => {
    join(panel);
    if (classic)
      panel.toolbar.insertItem(
        10,
        "agentnb",
        toolbarButton(() => toggle()),
      );
  });
  NotebookActions.executed.connect((_, { notebook }) => {
    tracker.forEach((panel) => {
      if (panel.content === notebook) sidebar.sessionOf(panel)?.cellDone();
    });
  });

  // A notebook that is saved while no such command runs is saved by JupyterLab itself.
  let saving = 0;
  app.commands.commandExecuted.connect((_, { id, result }) => {
    if (!id.startsWith("docmanager:save")) return;
    saving += 1;
    const end = (): void => {
      saving -= 1;
    };
    result.then(end, end);
  });
  app.serviceManager.contents.fileChanged.connect((_, change) => {
    const saved = savedOf(change);
    if (!saved) return;
    if (saved.type === "save" && saving === 0 && isOpenAt(tracker, saved.path)) saved.isAutomatic = true;
    sidebar.forEach((session) => {
      session.saved(saved);
    });
  });

  const toggle = (): void => {
    if (sidebar.isVisible) app.shell.collapseRight?.();
    else reveal();
  };
  addCommands(app, palette, tracker, sidebar, { toggle, reveal });
  addErrorCommands(app, palette, tracker, (panel) => failures.get(panel));
  const add = async (place?: Place): Promise<void> => {
    const notebook = tracker.currentWidget?.content;
    if (!notebook) return;
    const { addition } = await part<typeof import("./attach")>("attach");
    const added = addition(notebook, place);
    if (!added) return;
    reveal();
    sidebar.add(added);
  };
  takeCells(sidebar.node, (cells) => void add({ cells }));
  addAddCommand(app, palette, (place) => void add(place));
  addEdits(app, () => (tracker.currentWidget ? edits.get(tracker.currentWidget) : undefined));
  void app.restored.then(() => {
    if (classic && localStorage.getItem(OPEN_KEY)) reveal();
    sidebar.follow();
  });
}

const attention = () => part<typeof import("./attention")>("attention");

/** What the chat can have shown beside the notebook, in JupyterLab's main area. */
function mainArea(
  app: Application,
  notebook: NotebookPanel,
  languages: Languages | null,
  warn: (sentence: string) => void,
): Pick<Actions, "compare" | "openFile" | "showCell"> {
  const panels = new Map<string, ReviewPanel>();
  // Without the notebook there is no view left that could undo or keep what they show.
  notebook.disposed.connect(() => {
    for (const panel of [...panels.values()]) panel.dispose();
  });
  const compare = async (review: Review): Promise<void> => {
    const { ReviewPanel } = await part<typeof import("./review")>("review");
    if (notebook.isDisposed) return;
    let panel = panels.get(review.key);
    if (!panel) {
      panel = new ReviewPanel(languages, icon);
      panels.set(review.key, panel);
      panel.disposed.connect(() => panels.delete(review.key));
      app.shell.add(panel, "main", { mode: review.beside ? "split-right" : "tab-after", ref: notebook.id });
    }
    app.shell.activateById(panel.id);
    panel.review(review);
  };
  return {
    compare: (review) => void compare(review).catch((error: unknown) => warn(String(error))),
    openFile: (path, workspace, line) =>
      void part<typeof import("./workspace-files")>("workspace-files")
        .then(({ openFile, placesOf, serverRoot }) =>
          openFile(app, placesOf(path, workspace, notebook.context.path, serverRoot()), warn, line),
        )
        .catch((error: unknown) => warn(String(error))),
    showCell: (id) =>
      void part<typeof import("./workspace-files")>("workspace-files").then(({ showCell }) =>
        showCell(app, notebook, id, warn),
      ),
  };
}

const MERMAID = "text/vnd.mermaid";

/** Drawing diagrams, where JupyterLab itself can (4.1 and later). */
function diagrams({ content: { rendermime } }: NotebookPanel): Pick<Actions, "drawDiagram"> {
  if (!rendermime.mimeTypes.includes(MERMAID)) return {};
  return {
    drawDiagram: async (source) => (await part<typeof import("./mermaid")>("mermaid")).drawMermaid(rendermime, source),
  };
}

interface Doings {
  toggle(): void;
  reveal(): void;
}

function addCommands(
  app: Application,
  palette: Palette | null,
  tracker: Tracker,
  sidebar: Sidebar,
  { toggle, reveal }: Doings,
): void {
  const focus = (): void => {
    const inside = sidebar.node.contains(document.activeElement);
    if (inside && app.shell.currentWidget) app.shell.activateById(app.shell.currentWidget.id);
    else reveal();
  };
  app.commands.addCommand(COMMANDS.toggle, {
    label: "Agent Chat",
    caption: "Show or hide the chat with coding agents",
    icon,
    isToggled: () => sidebar.isVisible,
    execute: toggle,
  });
  app.commands.addCommand(COMMANDS.focus, {
    label: "Focus the Agent Chat",
    caption: "Move the focus to the agent chat, or back to the notebook",
    execute: focus,
  });
  app.commands.addCommand(COMMANDS.reconnect, {
    label: "Reconnect the Agent Chat",
    caption: "Load the chat from the notebook's kernel again",
    isEnabled: () => sidebar.current !== undefined,
    execute: () => sidebar.current?.again(),
  });
  for (const [panel, label] of [
    ["settings", "Agent Settings"],
    ["history", "Agent History"],
  ] as const)
    app.commands.addCommand(COMMANDS[panel], {
      label,
      isEnabled: () => tracker.currentWidget !== null,
      execute: () => {
        reveal();
        sidebar.follow();
        sidebar.current?.open(`The ${panel}`, panel, "agentnb-panel");
      },
    });
  for (const command of Object.values(COMMANDS)) palette?.addItem({ command, category: "Agents" });
}

/** Where the context menu was opened, if it is a command of that menu. */
const hitOf = (app: Application, { menu }: Record<string, unknown>, selector: string): HTMLElement | undefined =>
  menu ? app.contextMenuHitTest((node) => node.matches(selector)) : undefined;

/** For the palette, the shortcut, the cell's toolbar (`bar`) and its context menu (`menu`). */
function addErrorCommands(
  app: Application,
  palette: Palette | null,
  tracker: Tracker,
  of: (panel: NotebookPanel) => FailedCells | undefined,
): void {
  const found = (args: Record<string, unknown> = {}): [FailedCells?, Cell?] => {
    const panel = tracker.currentWidget;
    const failed = panel ? of(panel) : undefined;
    if (!panel || !failed) return [];
    const hit = hitOf(app, args, ".jp-CodeCell");
    return [failed, hit ? panel.content.widgets.find((cell) => cell.node === hit) : failed.current];
  };
  const add = (action: ErrorAction, label: string, caption: string): void => {
    app.commands.addCommand(ERRORS[action], {
      label,
      caption,
      icon: action === "fix" ? fixIcon : explainIcon,
      isEnabled: () => found()[1] !== undefined,
      isVisible: ({ bar }) => {
        const panel = tracker.currentWidget;
        return !bar || (panel !== null && of(panel)?.has(panel.content.activeCell) === true);
      },
      execute: (args) => {
        const [failed, cell] = found(args);
        failed?.ask(action, cell);
      },
    });
    palette?.addItem({ command: ERRORS[action], category: "Agents" });
  };
  add("fix", "Fix the Error with the Agent", "Send the error of this cell to the agent to be fixed");
  add("explain", "Explain the Error", "Have the agent explain the error of this cell");
}

/** For the palette, the shortcut, and the context menus (`menu`) of cells, outputs (`output`) and the debugger's variables. */
function addAddCommand(app: Application, palette: Palette | null, add: (place?: Place) => void): void {
  app.commands.addCommand(ADD, {
    label: (args) => (args.output ? "Add Output to Chat" : args.menu ? "Add to Chat" : "Add Selection to Chat"),
    execute: (args = {}) => {
      const hit = hitOf(app, args, ".jp-Cell, .jp-TreeItem");
      add({ hit, output: args.output === true });
    },
  });
  palette?.addItem({ command: ADD, category: "Agents" });
}

/** The same edits for other extensions and for shortcuts of one's own: `{"source": "…"}`. */
function addEdits(app: Application, current: () => NotebookEdits | undefined): void {
  const add = (id: string, label: string, edit: (edits: NotebookEdits, source: string) => void): void => {
    const isEnabled = (): boolean => current() !== undefined;
    const execute = ({ source }: { source?: unknown } = {}): void => {
      const edits = current();
      if (edits && typeof source === "string") edit(edits, source);
    };
    app.commands.addCommand(id, { label, isEnabled, execute });
  };
  add("agentnb:insert-below", "Insert Code Below the Active Cell", (edits, source) => edits.insertBelow(source));
  add("agentnb:replace-active", "Replace the Active Cell's Code", (edits, source) => edits.replaceActive(source));
  add("agentnb:run", "Run Code in a New Cell", (edits, source) => edits.run(source));
}

/** The notebook's own widget manager; the delegate that hands it over is never disposed. */
async function managerOf(panel: NotebookPanel): Promise<Manager> {
  const { registerWidgetManager } = await import("@jupyter-widgets/jupyterlab-manager");
  return new Promise((resolve) => {
    const taker = {
      set manager(manager: Manager) {
        resolve(manager);
      },
    };
    registerWidgetManager(panel.context, panel.content.rendermime, [taker as { manager: Manager }]);
  });
}

/** `agentnb.sidebar()` opens a comm of this name in every page of the kernel, and is answered by those that can. */
function followKernel(panel: NotebookPanel, reveal: () => void): void {
  const told = new WeakSet<Kernel>();
  const answer = (comm: Comm): void => {
    reveal();
    comm.send({ shown: true });
  };
  const register = (): void => {
    const kernel = panel.sessionContext.session?.kernel;
    if (!kernel || told.has(kernel)) return;
    told.add(kernel);
    kernel.registerCommTarget(REVEAL, answer);
  };
  panel.sessionContext.kernelChanged.connect(register);
  void panel.sessionContext.ready.then(register);
}

function toolbarButton(onClick: () => void): ToolbarButton {
  return new ToolbarButton({ icon, onClick, tooltip: "Show or hide the agent chat", label: "" });
}

/** Loaded before the first editor is made; an editor takes no extension later. */
const agentText = {
  id: "agentnb:agent-text",
  description: "Shows what cells say to agents as text, not as Python.",
  autoStart: true,
  requires: [IEditorExtensionRegistry],
  async activate(_: Application, extensions: EditorExtensions): Promise<void> {
    const { agentTextExtension } = await part<typeof import("./agent-text")>("agent-text");
    const made = EditorExtensionRegistry.createImmutableExtension(agentTextExtension);
    extensions.addExtension({ name: agentText.id, factory: () => made });
  },
};

const plugin = {
  id: "agentnb:plugin",
  description: "The chat with coding agents, in the right area.",
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ILayoutRestorer, ICommandPalette, IEditorLanguageRegistry, INotebookCellExecutor].filter(Boolean),
  activate,
};

export default [plugin, agentText];
