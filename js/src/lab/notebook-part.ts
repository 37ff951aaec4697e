/** Shared code of the parts that belong to a notebook: the services that they need, and how they add their command. */
import type { Application } from "@jupyterlab/application";
import type { Palette } from "@jupyterlab/apputils";
import type { NotebookPanel, Tracker } from "@jupyterlab/notebook";
import type { Sidebar } from "./sidebar";

/** The extension's services for such a part. */
export interface Surroundings {
  readonly app: Application;
  readonly palette: Palette | null;
  readonly tracker: Tracker;
  readonly sidebar: Sidebar;
  /** Shows the sidebar; the focus stays where it is. */
  reveal(): void;
  warn(sentence: string): void;
}

/** Adds a command (also to the palette) that runs on the active notebook's entry in `of`; once per page. */
export function addNotebookCommand<T>(
  { app, palette, tracker }: Surroundings,
  of: WeakMap<NotebookPanel, T>,
  [command, label, caption]: readonly [command: string, label: string, caption: string],
  run: (part: T) => void,
): void {
  if (app.commands.hasCommand(command)) return;
  app.commands.addCommand(command, {
    label,
    caption,
    isEnabled: () => tracker.currentWidget !== null,
    execute: () => {
      const part = tracker.currentWidget && of.get(tracker.currentWidget);
      if (part) run(part);
    },
  });
  palette?.addItem({ command, category: "Agents" });
}
