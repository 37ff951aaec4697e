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
  type CellExecutor,
  INotebookCellExecutor,
  INotebookTracker,
  NotebookActions,
  type NotebookPanel,
  type Tracker,
} from "@jupyterlab/notebook";
import type { Comm, Kernel } from "@jupyterlab/services";
import { ITranslator, type Translator } from "@jupyterlab/translation";
import { addStyles } from "../element";
import { offer } from "../notebooks";
import type { NotebookActions as Actions, Connection, Review, SettingsAccess } from "../view/store";
import type { CommandTarget } from "./add-to-chat";
import { AgentEdits } from "./agent-edits";
import { takeCells } from "./cell-drop";
import { addAddCommand, addCommands, addErrorCommands, COMMANDS, ERRORS } from "./commands";
import { NotebookEdits, type Placed, runCell } from "./edits";
import { type Failed, FailedCells } from "./failed-cells";
import icon from "./icon";
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

interface Joined {
  readonly edits: NotebookEdits;
  readonly manager: Promise<Manager>;
  readonly proposals: Proposals;
  readonly failures: FailedCells;
}

export function activate(
  app: Application,
  tracker: Tracker,
  restorer: Restorer | null,
  palette: Palette | null,
  languages: Languages | null,
  executor: CellExecutor | null = null,
): void {
  addStyles(styles);
  const classic = app.name === "Jupyter Notebook";
  const joined = new WeakMap<NotebookPanel, Joined>();

  const sidebar = new Sidebar(
    tracker,
    (panel) => {
      const { edits, manager, proposals } = join(panel); // a notebook can be shown before the tracker reports it
      const { contents } = app.serviceManager;
      return new Session({
        panel,
        edits,
        agentEdits: new AgentEdits(panel, executor, contents, proposals.edited.bind(proposals)),
        manager,
        execute: (command) => void app.commands.execute(command),
      });
    },
    (visible) => {
      if (classic) localStorage.setItem(OPEN_KEY, visible ? "open" : "");
      app.commands.notifyCommandChanged(COMMANDS.toggle);
    },
    (place) => part("new-notebook").then(({ fillBox }) => fillBox(place, (text) => create(undefined, text))),
  );
  const create = async (cwd?: string, text?: string): Promise<void> => {
    const { openNotebook } = await part("new-notebook");
    const before = app.shell.currentWidget;
    const panel = await openNotebook(app, cwd);
    if (before?.id.startsWith("launcher")) before.dispose(); // as JupyterLab does for the launcher's cards
    await panel.revealed; // the notebook then focuses its empty cell, once that is drawn
    await panel.content.activeCell?.ready;
    reveal();
    sidebar.follow();
    if (text) sidebar.sessionOf(panel)?.say(text);
  };
  app.shell.add(sidebar, "right", { rank: 900, type: "Agent Chat" });
  restorer?.add(sidebar, ID);

  const warn = (sentence: string): void => {
    Notification.warning(sentence, { autoClose: 6000 });
  };
  const join = (panel: NotebookPanel): Joined => {
    const known = joined.get(panel);
    if (known !== undefined) return known;
    const placed: Placed = (...code) => void written.then((provenance) => provenance.placed(...code), console.debug);
    const edits = new NotebookEdits(panel, {
      executor,
      warn,
      replaced: (cell, before) => proposals.replaced(cell, before),
      placed,
    });
    const proposals = new Proposals(async () => {
      const { shownProposals } = await part("cell-review");
      const run = (index: number): void => void runCell(panel, executor, index);
      return panel.isDisposed ? undefined : shownProposals(panel, { app, palette, tracker, languages }, run);
    });
    const around = { app, palette, tracker, sidebar, reveal: revealQuietly, warn };
    const verified = part("verification").then((made) => new made.NotebookVerification(panel, around));
    const written = part("provenance").then((made) => new made.NotebookProvenance(panel, around));
    const replaced = proposals.replaced.bind(proposals);
    const typed = part("inline").then((made) => new made.NotebookInline(panel, { ...around, edits, replaced, placed }));
    const attend = (count: number, questions: number): void => {
      sidebar.attend(panel, count, questions);
      void attention().then(({ markNotebook }) => markNotebook(sidebar, panel));
    };
    Object.assign(edits, diagrams(panel), classic ? {} : mainArea(app, panel, languages, warn), {
      settings: (access: SettingsAccess): void => {
        part("settings-editor")
          .then(({ joinSettings }) => joinSettings(app, access, warn))
          .catch(console.debug);
        for (const feature of [verified, written, typed]) feature.then((each) => each.connected(access), console.debug);
      },
      verification: (into: HTMLElement, turn: string): void =>
        void verified.then((verification) => verification.showIn(into, turn), console.debug),
      propose: proposals.show.bind(proposals),
      showProposal: (id: string): void => {
        if (!panel.isVisible) app.shell.activateById(panel.id); // an opened file covers it
        proposals.goTo(id);
      },
      applied: proposals.applied.bind(proposals),
      unanswered: (...args: [number, () => Connection]): void =>
        void part("reconnect").then((made) => made.renewOf(panel, ...args), console.debug),
      attention: attend,
      showConversation: (resource: string): void =>
        void attention().then((known) => known.showConversation(app, sidebar, panel, reveal, resource)),
    });
    panel.disposed.connect(() => sidebar.attention && attend(0, 0));
    const manager = managerOf(panel);
    manager.then((widgets) => offer(widgets, edits)).catch((error: unknown) => console.warn("agentnb:", error));
    followKernel(panel, () => reveal());
    const made = { edits, manager, proposals, failures: new FailedCells(panel, ask, noteFailures) };
    joined.set(panel, made);
    return made;
  };
  /** Shows the sidebar without the focus: the user reviews the edit in the notebook. */
  const revealQuietly = (): void => {
    if (sidebar.isVisible) return;
    sidebar.opensQuietly = true;
    reveal();
  };
  const ask = (failed: Failed): void => {
    revealQuietly();
    sidebar.ask(failed);
  };
  const noteFailures = (): void => {
    for (const command of Object.values(ERRORS)) app.commands.notifyCommandChanged(command);
  };
  // Notebook 7.2's shell closes a side panel that is activated while it is open.
  const reveal = (): void => (sidebar.isVisible ? sidebar.activate() : app.shell.activateById(ID));
  tracker.forEach((panel) => void join(panel));
  tracker.widgetAdded.connect((_, panel) => {
    join(panel);
    if (!classic) return;
    const tooltip = "Show or hide the agent chat";
    const button = new ToolbarButton({ icon, onClick: () => toggle(), tooltip, label: "" });
    panel.toolbar.insertItem(10, "agentnb", button);
  });
  NotebookActions.executed.connect((_, { notebook }) => {
    tracker.forEach((panel) => {
      if (panel.content === notebook) sidebar.sessionOf(panel)?.cellDone();
    });
  });

  // If no such command runs, JupyterLab has saved the notebook automatically.
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
  addCommands(app, palette, tracker, sidebar, { create, toggle, reveal });
  for (const add of [addCard, offerCompletion]) void add(app).catch(console.debug);
  addErrorCommands(app, palette, tracker, (panel) => joined.get(panel)?.failures);
  const add = async (place?: CommandTarget): Promise<void> => {
    const notebook = tracker.currentWidget?.content;
    if (!notebook) return;
    const { addition } = await part("attach");
    const added = addition(notebook, place);
    if (!added) return;
    reveal();
    sidebar.add(added);
  };
  takeCells(sidebar.node, (cells) => void add({ cells }));
  addAddCommand(app, palette, (place) => void add(place));
  void app.restored.then(() => {
    if (classic && localStorage.getItem(OPEN_KEY)) reveal();
    sidebar.follow();
  });
}

/** Cards in the launcher's row of notebooks have a picture. */
const CARD = `data:image/svg+xml,${encodeURIComponent(icon.svgstr.replace("<svg ", '<svg color="#616161" ').replace(/#616161/g, "#1976d2"))}`;

async function addCard(app: Application): Promise<void> {
  const { ILauncher } = await import("@jupyterlab/launcher");
  const launcher = await app.resolveOptionalService(ILauncher);
  launcher?.add({
    command: COMMANDS.create,
    category: "Notebook",
    rank: 50,
    args: { isLauncher: true },
    kernelIconUrl: CARD,
  });
}

/** JupyterLab's inline completer accepts providers only until it has started; each request checks the setting. */
async function offerCompletion(app: Application): Promise<void> {
  const { ICompletionProviderManager } = await import("@jupyterlab/completer");
  const manager = await app.resolveOptionalService(ICompletionProviderManager);
  manager?.registerInlineProvider?.({
    identifier: "agentnb",
    name: "agentnb",
    fetch: async (...request) => (await part("inline")).complete(...request),
  });
}

const attention = () => part("attention");

/** Width in pixels: differences open below a narrower notebook, and beside a wider one. */
const BESIDE = 800;

/** Returns the chat's actions that show something beside the notebook, in JupyterLab's main area. */
function mainArea(
  app: Application,
  notebook: NotebookPanel,
  languages: Languages | null,
  warn: (sentence: string) => void,
): Pick<Actions, "compare" | "openFile" | "showCell"> {
  const panels = new Map<string, ReviewPanel>();
  // Without the notebook, no view is left that could undo or keep these changes.
  notebook.disposed.connect(() => {
    for (const panel of [...panels.values()]) panel.dispose();
  });
  const compare = async (review: Review): Promise<void> => {
    const { ReviewPanel } = await part("review");
    if (notebook.isDisposed) return;
    let panel = panels.get(review.key);
    if (!panel) {
      panel = new ReviewPanel(languages, icon);
      panels.set(review.key, panel);
      panel.disposed.connect(() => panels.delete(review.key));
      // Further panels are tabs beside the first, so that the notebook keeps its space.
      const first = panels.values().next().value as ReviewPanel;
      if (first !== panel) app.shell.add(panel, "main", { mode: "tab-after", ref: first.id });
      else {
        const isWide = notebook.node.offsetWidth >= BESIDE;
        app.shell.add(panel, "main", { mode: isWide ? "split-right" : "split-bottom", ref: notebook.id });
      }
    }
    app.shell.activateById(panel.id);
    panel.review(review);
  };
  return {
    compare: (review) => void compare(review).catch((error: unknown) => warn(String(error))),
    openFile: (path, workspace, line, there) =>
      void part("workspace-files")
        .then(({ openFile, placesOf, serverRoot }) =>
          openFile(app, placesOf(path, workspace, notebook.context.path, serverRoot()), warn, line, there),
        )
        .catch((error: unknown) => warn(String(error))),
    showCell: (id) => void part("workspace-files").then(({ showCell }) => showCell(app, notebook, id, warn)),
  };
}

const MERMAID = "text/vnd.mermaid";

/** Returns the action that draws diagrams, if JupyterLab can (4.1 and later). */
function diagrams({ content: { rendermime } }: NotebookPanel): Pick<Actions, "drawDiagram"> {
  if (!rendermime.mimeTypes.includes(MERMAID)) return {};
  return {
    drawDiagram: async (source) => (await part("mermaid")).drawMermaid(rendermime, source),
  };
}

/** Returns the notebook's own widget manager; the delegate that receives it is never disposed. */
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

/** `agentnb.sidebar()` opens a comm of this name in every page of the kernel; pages with the chat answer. */
function followKernel(panel: NotebookPanel, reveal: () => void): void {
  const registeredKernels = new WeakSet<Kernel>();
  const answer = (comm: Comm): void => {
    reveal();
    comm.send({ shown: true });
  };
  const register = (): void => {
    const kernel = panel.sessionContext.session?.kernel;
    if (!kernel || registeredKernels.has(kernel)) return;
    registeredKernels.add(kernel);
    kernel.registerCommTarget(REVEAL, answer);
  };
  panel.sessionContext.kernelChanged.connect(register);
  void panel.sessionContext.ready.then(register);
}

/** Loaded before the first editor exists; editors accept no extensions later. */
const agentText = {
  id: "agentnb:agent-text",
  description: "Shows prompts to agents in cells as text, not as Python.",
  autoStart: true,
  requires: [IEditorExtensionRegistry],
  async activate(_: Application, extensions: EditorExtensions): Promise<void> {
    const { agentTextExtension } = await part("agent-text");
    const made = EditorExtensionRegistry.createImmutableExtension(agentTextExtension);
    extensions.addExtension({ name: agentText.id, factory: () => made });
  },
};

type Others = [Restorer | null, Palette | null, Languages | null, CellExecutor?];

const plugin = {
  id: "agentnb:plugin",
  description: "The chat with coding agents, in the right area.",
  autoStart: true,
  requires: [INotebookTracker, ITranslator],
  optional: [ILayoutRestorer, ICommandPalette, IEditorLanguageRegistry, INotebookCellExecutor].filter(Boolean),
  /** Loads another build of this file for languages other than English (js/translate.mjs). */
  async activate(app: Application, tracker: Tracker, translator: Translator, ...others: Others): Promise<void> {
    if (/^(en|default)/.test(translator.languageCode)) return activate(app, tracker, ...others);
    Object.assign(globalThis, { agentnbCatalogue: translator.load("agentnb") });
    (await part("translated")).activate(app, tracker, ...others);
  },
};

export default [plugin, agentText];
