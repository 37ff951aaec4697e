/** Opens files of an agent's workspace in JupyterLab, which knows them by their path below the server's own folder. */
import type { Application } from "@jupyterlab/application";
import type { Notebook } from "@jupyterlab/notebook";

/** Opens it in the editor that JupyterLab has for it; says why where it cannot. */
export async function openFile(
  app: Application,
  paths: readonly string[],
  warn: (sentence: string) => void,
): Promise<void> {
  for (const path of paths) {
    const isThere = await app.serviceManager.contents.get(path, { content: false }).then(
      () => true,
      () => false,
    );
    if (isThere) return void (await app.commands.execute("docmanager:open", { path }));
  }
  warn("JupyterLab cannot open this file: it is not below the folder that the server shows, or it is gone.");
}

let marked: HTMLElement | undefined;

/** Scrolls to a cell and marks it, until another is shown. The keyboard's focus stays where it is. */
export async function showCell(notebook: Notebook, id: string, warn: (sentence: string) => void): Promise<void> {
  const index = notebook.model?.sharedModel.cells.findIndex((cell) => cell.id === id) ?? -1;
  const cell = notebook.widgets[index];
  marked?.style.removeProperty("outline");
  if (!cell) return warn("The cell is no longer in the notebook.");
  notebook.activeCellIndex = index;
  await notebook.scrollToItem?.(index, "smart").catch(() => undefined);
  marked = cell.node;
  marked.style.outline = "2px solid var(--jp-brand-color1)";
}

/**
 * Where a file of a workspace may be on the server, the likeliest first.
 *
 * @param path Relative to the workspace.
 * @param workspace The workspace's folder, as a `file:` address.
 * @param notebook The notebook's path on the server: a workspace is its folder where nobody says otherwise.
 * @param serverRoot The server's own folder, as JupyterLab's page says it: `~` stands for the home folder.
 */
export function placesOf(
  path: string,
  workspace: string | undefined,
  notebook: string,
  serverRoot: string | undefined,
): string[] {
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

/** What JupyterLab's page says of its server. */
export function serverRoot(): string | undefined {
  try {
    const { serverRoot: root } = JSON.parse(document.getElementById("jupyter-config-data")?.textContent ?? "{}");
    return typeof root === "string" ? root : undefined;
  } catch {
    return undefined;
  }
}
