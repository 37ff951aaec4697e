/** Syntax colours in JupyterLab's editors. */
import type { Extension } from "@codemirror/state";
import type { Languages } from "@jupyterlab/codemirror";

export async function languageOf(languages: Languages | null, file: string): Promise<Extension | undefined> {
  const spec = languages?.findByFileName?.(file);
  const language = spec && (await languages?.getLanguage(spec).catch(() => null));
  return language?.support;
}
