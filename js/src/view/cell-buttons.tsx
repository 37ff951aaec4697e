/** What can be done with code where a notebook is at hand: to its cells, through its own model, undoable. */
import { useContext } from "preact/hooks";
import { usePlace, ViewContext } from "./context";
import { IconButton } from "./icons";

/** Languages that a Python kernel's cell can hold, and what must stand before them there. */
const CELLS = new Map(
  Object.entries({
    "": "",
    python: "",
    py: "",
    python3: "",
    ipython: "",
    ipython3: "",
    bash: "%%bash\n",
    sh: "%%sh\n",
    html: "%%html\n",
    javascript: "%%javascript\n",
    js: "%%javascript\n",
    sql: "%%sql\n",
  }),
);

export function CellButtons({ text, language = "" }: { text: string; language?: string | undefined }) {
  const view = useContext(ViewContext);
  const { session, turnId } = usePlace();
  const notebook = view.store?.notebook;
  const magic = CELLS.get(language);
  if (!notebook || magic === undefined) return null;
  const code = magic + text;
  const from = turnId ? { channel: session, turnId } : undefined;
  const does = (what: () => void, said: string) => () => {
    what();
    view.announce(said);
  };
  return (
    <>
      {language !== "" && (
        <IconButton
          name="Run in a new cell below"
          icon="now"
          onClick={does(() => notebook.run(code, from), "Running in a new cell.")}
        />
      )}
      <IconButton
        name="Insert below the active cell"
        icon="insert"
        onClick={does(() => notebook.insertBelow(code, from), "Inserted in a new cell.")}
      />
      {!isInCell(view.root, view.visible.value) && (
        <IconButton
          name="Replace the active cell"
          icon="replace"
          onClick={does(() => notebook.replaceActive(code, from), "Replaced the active cell.")}
        />
      )}
    </>
  );
}

/** Under a cell, a click makes that cell the active one: to replace would be to replace the prompt itself. */
function isInCell(root: ShadowRoot, _whenSeen: boolean): boolean {
  return root.host.closest(".jp-Cell") !== null;
}
