/** The commands on what the cells of a notebook show: added with the first change that one shows. */
import type { Application } from "@jupyterlab/application";
import type { Palette } from "@jupyterlab/apputils";
import type { ShownProposals } from "./shown-proposals";

/** For the palette, and the shortcuts in a notebook whose cells show changes. */
export function addReviewCommands(
  app: Application,
  palette: Palette | null,
  current: () => ShownProposals | undefined,
): void {
  const add = (
    name: string,
    label: string,
    act: (shown: ShownProposals) => void,
    without: "isIdle" | "isEmpty" = "isIdle",
  ): void => {
    const command = `agentnb:${name}`;
    app.commands.addCommand(command, {
      label,
      isEnabled: () => current()?.[without] === false,
      execute: () => {
        const shown = current();
        if (shown) act(shown);
      },
    });
    palette?.addItem({ command, category: "Agents" });
  };
  add("accept-cell-change", "Accept or Keep the Agent's Change of the Cell", (shown) => shown.answer("accept"));
  add("run-cell-change", "Accept the Agent's Change of the Cell and Run It", (shown) => shown.answer("run"), "isEmpty");
  add("reject-cell-change", "Reject or Undo the Agent's Change of the Cell", (shown) => shown.answer("reject"));
  add("accept-cell-changes", "Accept or Keep All of the Agent's Changes of Cells", (shown) =>
    shown.answerAll("accept"),
  );
  add("reject-cell-changes", "Reject or Undo All of the Agent's Changes of Cells", (shown) =>
    shown.answerAll("reject"),
  );
  add("next-cell-change", "Next Change by the Agent", (shown) => shown.step(1));
  add("previous-cell-change", "Previous Change by the Agent", (shown) => shown.step(-1));
}
