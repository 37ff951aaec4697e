/** The message box while no notebook is open: a message opens a notebook and goes to its chat. Loaded at first use. */
import type { Application } from "@jupyterlab/application";
import type { NotebookPanel } from "@jupyterlab/notebook";
import { button, element } from "../element";

const CREATE = "notebook:create-new";

/** Opens a new notebook with a Python kernel. */
export async function openNotebook(app: Application, cwd?: string): Promise<NotebookPanel> {
  const { kernelspecs } = app.serviceManager;
  await kernelspecs.ready;
  const specs = kernelspecs.specs?.kernelspecs ?? {};
  const isPython = (name: string) => specs[name]?.language?.toLowerCase() === "python";
  const name = [kernelspecs.specs?.default ?? "", ...Object.keys(specs)].find(isPython);
  if (!name)
    throw new Error("This Jupyter server has no Python kernel. In a terminal: python -m pip install ipykernel");
  return (await app.commands.execute(CREATE, { kernelName: name, ...(cwd && { cwd }) })) as NotebookPanel;
}

/** Fills `place` with the box; `send` gets the message. */
export function fillBox(place: HTMLElement, send: (text: string) => Promise<void>): void {
  const box = element("textarea", { label: "Message" });
  box.rows = 3;
  box.placeholder = "What do you want to do?";
  const status = element("p", { role: "status" }, "Enter opens a new notebook and sends this to the agent.");
  const go = async (): Promise<void> => {
    if (box.readOnly || box.value.trim() === "") return;
    box.readOnly = true;
    status.textContent = "Opening a notebook…";
    try {
      await send(box.value);
      box.value = "";
      status.textContent = "";
    } catch (error) {
      status.textContent = error instanceof Error ? error.message : String(error);
    }
    box.readOnly = false;
  };
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    void go();
  });
  const form = element(
    "div",
    { class: "agentnb-new", role: "group", label: "New notebook" },
    element("h2", "", "Ask an agent"),
    box,
    status,
    element(
      "div",
      "agentnb-actions",
      button("Send", () => void go(), "agentnb-primary"),
    ),
  );
  form.dataset.lmSuppressShortcuts = "true";
  place.replaceChildren(form);
}
