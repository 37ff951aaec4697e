/** The commands of the extension: for the palette, shortcuts, menus and cells' toolbars. */
import type { Application } from "@jupyterlab/application";
import type { Palette } from "@jupyterlab/apputils";
import type { Cell, NotebookPanel, Tracker } from "@jupyterlab/notebook";
import type { CommandTarget } from "./add-to-chat";
import type { ErrorAction, FailedCells } from "./failed-cells";
import icon, { explainIcon, fixIcon } from "./icon";
import type { Sidebar } from "./sidebar";

export const ERRORS = { fix: "agentnb:fix-error", explain: "agentnb:explain-error" } as const;
const ADD = "agentnb:add-to-chat";
export const COMMANDS = {
  create: "agentnb:new",
  toggle: "agentnb:toggle",
  focus: "agentnb:focus",
  reconnect: "agentnb:reconnect",
  settings: "agentnb:settings",
  history: "agentnb:history",
};

interface CommandHandlers {
  create(cwd: string | undefined): Promise<void>;
  toggle(): void;
  reveal(): void;
}

export function addCommands(
  app: Application,
  palette: Palette | null,
  tracker: Tracker,
  sidebar: Sidebar,
  { create, toggle, reveal }: CommandHandlers,
): void {
  const focus = (): void => {
    const inside = sidebar.node.contains(document.activeElement);
    if (inside && app.shell.currentWidget) app.shell.activateById(app.shell.currentWidget.id);
    else reveal();
  };
  app.commands.addCommand(COMMANDS.create, {
    label: (args) => (args.isLauncher ? "Agent" : "New Notebook with an Agent"),
    caption: "Open a notebook and ask an agent in it",
    icon,
    execute: ({ cwd } = {}) => create(typeof cwd === "string" ? cwd : undefined),
  });
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

/** Returns the element under the context menu, for a command of that menu. */
const hitOf = (app: Application, { menu }: Record<string, unknown>, selector: string): HTMLElement | undefined =>
  menu ? app.contextMenuHitTest((node) => node.matches(selector)) : undefined;

/** Adds commands to the palette, for shortcuts, the cell's toolbar (`bar`) and its context menu (`menu`). */
export function addErrorCommands(
  app: Application,
  palette: Palette | null,
  tracker: Tracker,
  of: (panel: NotebookPanel) => FailedCells | undefined,
): void {
  const failedCell = (args: Record<string, unknown> = {}): [FailedCells?, Cell?] => {
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
      isEnabled: () => failedCell()[1] !== undefined,
      isVisible: ({ bar }) => {
        const panel = tracker.currentWidget;
        return !bar || (panel !== null && of(panel)?.has(panel.content.activeCell) === true);
      },
      execute: (args) => {
        const [failed, cell] = failedCell(args);
        failed?.ask(action, cell);
      },
    });
    palette?.addItem({ command: ERRORS[action], category: "Agents" });
  };
  add("fix", "Fix the Error with the Agent", "Send the error of this cell to the agent to be fixed");
  add("explain", "Explain the Error", "Have the agent explain the error of this cell");
}

/**
 * Adds the command to the palette, for its shortcut, and the context menus (`menu`) of cells, outputs (`output`) and
 * the debugger's variables.
 */
export function addAddCommand(app: Application, palette: Palette | null, add: (place?: CommandTarget) => void): void {
  app.commands.addCommand(ADD, {
    label: (args) => (args.output ? "Add Output to Chat" : args.menu ? "Add to Chat" : "Add Selection to Chat"),
    execute: (args = {}) => {
      const hit = hitOf(app, args, ".jp-Cell, .jp-TreeItem");
      add({ hit, output: args.output === true });
    },
  });
  palette?.addItem({ command: ADD, category: "Agents" });
}
