/** Opens files of an agent's workspace in JupyterLab, which uses paths below the server's own folder. */
import type { Application } from "@jupyterlab/application";
import type { NotebookPanel } from "@jupyterlab/notebook";
import type { FileState } from "../view/store";

const MISSING = "Jupyter can't open this file: it is outside the server's folder, on another machine, or missing.";
const ELSEWHERE =
  "Jupyter can't open this file: it is on the kernel's machine, and Jupyter's server has another one of this name. " +
  "Download it from the list of changes, or read it in a cell.";
/** The milliseconds by which two clocks may differ about one file: some file systems keep whole seconds. */
const SECOND = 1_000;

/**
 * Opens a file in JupyterLab's editor for it, with a line selected, or shows why not.
 *
 * @param there The file's state on the kernel's machine. A file of that name on another machine is another file.
 */
export async function openFile(
  app: Application,
  paths: readonly string[],
  warn: (sentence: string) => void,
  line?: number,
  there?: () => Promise<FileState>,
): Promise<void> {
  let isElsewhere = false;
  const known = await there?.().catch(() => undefined); // fails for a package's file, outside the workspace
  for (const path of paths) {
    const file = await app.serviceManager.contents.get(path, { content: false }).catch(() => undefined);
    if (!file) continue;
    if (known && isAnother(file, known)) {
      isElsewhere = true;
      continue;
    }
    const opened = (await app.commands.execute("docmanager:open", { path })) as Opened | undefined;
    if (line !== undefined) await select(opened, line);
    return;
  }
  warn(isElsewhere ? ELSEWHERE : MISSING);
}

/** True if the server's file (`Contents.IModel`) is not the one on the kernel's machine. */
function isAnother(file: unknown, known: FileState): boolean {
  const { size, last_modified } = file as { size?: unknown; last_modified?: unknown };
  const modified = typeof last_modified === "string" ? Date.parse(last_modified) : Number.NaN;
  return (typeof size === "number" && size !== known.size) || Math.abs(modified - known.modified) > SECOND;
}

/** JupyterLab's widget of an opened file; only text files have an editor. */
interface Opened {
  readonly context?: { readonly ready: Promise<void> };
  readonly revealed?: Promise<void>;
  readonly content?: { readonly editor?: Editor | null };
}

/** The part of JupyterLab's `CodeEditor.IEditor` that is used here. */
interface Editor {
  readonly lineCount: number;
  getLine(line: number): string | undefined;
  setSelection(range: Range): void;
  revealSelection(range: Range): void;
}

interface Range {
  readonly start: { readonly line: number; readonly column: number };
  readonly end: { readonly line: number; readonly column: number };
}

async function select(opened: Opened | undefined, line: number): Promise<void> {
  await opened?.context?.ready;
  await opened?.revealed;
  const editor = opened?.content?.editor;
  if (!editor || line < 1 || line > editor.lineCount) return;
  const end = editor.getLine(line - 1)?.length ?? 0;
  const range = { start: { line: line - 1, column: 0 }, end: { line: line - 1, column: end } };
  editor.setSelection(range);
  editor.revealSelection(range);
}

let marked: HTMLElement | undefined;

/** Scrolls to a cell and marks it, until another is shown. The focus stays where it is, if the notebook is visible. */
export async function showCell(
  app: Application,
  panel: NotebookPanel,
  id: string,
  warn: (sentence: string) => void,
): Promise<void> {
  const notebook = panel.content;
  const index = notebook.model?.sharedModel.cells.findIndex((cell) => cell.id === id) ?? -1;
  const cell = notebook.widgets[index];
  marked?.style.removeProperty("outline");
  if (!cell) return warn("The cell is no longer in the notebook.");
  if (!panel.isVisible) app.shell.activateById(panel.id); // an opened file covers it
  notebook.activeCellIndex = index;
  await notebook.scrollToItem?.(index, "smart").catch(() => undefined);
  marked = cell.node;
  marked.style.outline = "2px solid var(--jp-brand-color1)";
}

/**
 * Returns the possible paths of a workspace's file on the server, the likeliest first.
 *
 * @param path Relative to the workspace, or absolute, beginning with `/`.
 * @param workspace The workspace's folder, as a `file:` address.
 * @param notebook The notebook's path on the server: its folder is the default workspace.
 * @param serverRoot The server's own folder, from JupyterLab's page: `~` stands for the home folder.
 */
export function placesOf(
  path: string,
  workspace: string | undefined,
  notebook: string,
  serverRoot: string | undefined,
): string[] {
  if (path.startsWith("/")) {
    const cut = path.lastIndexOf("/");
    // A file of that name beside the notebook would be another one.
    return placesOf(path.slice(cut + 1), `file://${encodeURI(path.slice(0, cut))}`, "\0/", serverRoot).filter(
      (place) => !place.startsWith("\0"),
    );
  }
  const beside = joined(notebook.slice(0, Math.max(0, notebook.lastIndexOf("/"))), path);
  const folder = folderOf(workspace);
  if (folder === undefined || serverRoot === undefined) return [beside];
  const root = serverRoot.replace(/\/$/, "");
  const end = root.startsWith("~") ? root.slice(1) : undefined;
  const at = end === undefined ? (`${folder}/`.startsWith(`${root}/`) ? 0 : -1) : `${folder}/`.indexOf(`${end}/`);
  if (at < 0) return [beside];
  const below = folder.slice(at + (end ?? root).length).replace(/^\//, "");
  return [...new Set([joined(below, path), beside])];
}

function folderOf(workspace: string | undefined): string | undefined {
  try {
    return workspace && decodeURIComponent(new URL(workspace).pathname).replace(/\/$/, "");
  } catch {
    return undefined;
  }
}

const joined = (folder: string, path: string): string => (folder === "" ? path : `${folder}/${path}`);

/** Returns the server's own folder, from JupyterLab's page. */
export function serverRoot(): string | undefined {
  try {
    const { serverRoot: root } = JSON.parse(document.getElementById("jupyter-config-data")?.textContent ?? "{}");
    return typeof root === "string" ? root : undefined;
  } catch {
    return undefined;
  }
}
