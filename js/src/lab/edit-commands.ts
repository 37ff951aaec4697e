/** The edits of the chat as commands: for other extensions, and shortcuts of one's own. */
import type { Application } from "@jupyterlab/application";
import type { NotebookActions } from "../view/store";

/** Each takes `{"source": "…"}`. */
export function addEdits(app: Application, current: () => NotebookActions | undefined): void {
  const add = (id: string, label: string, edit: (edits: NotebookActions, source: string) => void): void => {
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
