/**
 * What the page takes the notebook's file for. JupyterLab compares it with the file before each save, and asks where the
 * file is another (docs/decisions/0092). Where an agent wrote the file and the page has all of it, nothing is to be asked.
 */
import type { NotebookPanel } from "@jupyterlab/notebook";
import { isObject } from "../state/object";

/** The server's files. */
export interface Files {
  get(path: string, options: { content: boolean; hash?: boolean }): Promise<unknown>;
}

/** Private in JupyterLab, so each of them may be missing: then JupyterLab asks. */
interface Loaded {
  readonly contentsModel?: unknown;
  _updateContentsModel?: unknown;
}

/** Lets the page save over its file, if it knows the first version of it and the second one is there (SHA-256). */
export async function takeAsLoaded(
  context: NotebookPanel["context"],
  files: Files,
  [known, now]: readonly [string, string],
): Promise<void> {
  try {
    const file = await files.get(context.path, { content: false, hash: true });
    const { contentsModel: loaded, _updateContentsModel: update } = context as Loaded;
    if (!isObject(file) || !isObject(loaded) || typeof update !== "function") return;
    const { hash, hash_algorithm, last_modified } = file;
    if (hash_algorithm !== "sha256" || hash !== now || loaded.hash !== known) return;
    update.call(context, { ...loaded, hash, hash_algorithm, last_modified });
  } catch (error) {
    console.warn("agentnb:", error);
  }
}
