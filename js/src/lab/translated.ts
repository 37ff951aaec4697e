/** The extension with its messages in the page's language; loaded if that is not English. */
import { kernelSentences } from "./kernel-sentences";

export { activate } from "./index";

const DOMAIN = "agentnb";

/** Fetches the catalogue's messages from the server: JupyterLab keeps them private. */
async function takeMessages(): Promise<void> {
  const { agentnbCatalogue: catalogue } = globalThis as { agentnbCatalogue?: { gettext(id: string): string } };
  const config = JSON.parse(document.getElementById("jupyter-config-data")?.textContent ?? "{}");
  const language = document.documentElement.lang.replace("-", "_");
  const api = config.translationsApiUrl ?? `${config.baseUrl}lab/api/translations`;
  const answer = await fetch(new URL(`${api}/${language}`, location.origin));
  const { data } = (await answer.json()) as { data?: Record<string, Record<string, unknown>> };
  if (!catalogue) return;
  const kernelText = kernelSentences(Object.keys(data?.[DOMAIN] ?? {}), (id) => catalogue.gettext(id));
  Object.assign(catalogue, { kernelText });
}

takeMessages().catch(console.debug);
