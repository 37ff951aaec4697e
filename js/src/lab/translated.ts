/** The extension with its messages in the page's language; loaded where that is not English. */
export { activate } from "./index";

const DOMAIN = "agentnb";

/**
 * The catalogue's messages: what the kernel says has no mark of which message it was, so it is found among them
 * (`kernelText`). JupyterLab keeps them to itself; its server gives them again.
 */
async function messages(): Promise<void> {
  const { translationsApiUrl, baseUrl } = JSON.parse(
    document.getElementById("jupyter-config-data")?.textContent ?? "{}",
  );
  const language = document.documentElement.lang.replace("-", "_");
  const url = new URL(`${translationsApiUrl ?? `${baseUrl}lab/api/translations`}/${language}`, location.origin);
  const { data } = (await (await fetch(url)).json()) as { data?: Record<string, Record<string, unknown>> };
  Object.assign((globalThis as { agentnbCatalogue?: object }).agentnbCatalogue ?? {}, {
    messages: Object.keys(data?.[DOMAIN] ?? {}),
  });
}

messages().catch(console.debug);
