/** JupyterLab's renderer draws a diagram: the page takes only a picture from it. */
import { expect, test } from "vitest";
import { drawMermaid } from "../../src/lab/mermaid";

const PICTURE = "data:image/svg+xml,%3Csvg%3E";

/** JupyterLab's renderers; the renderer for diagrams produces `html`. */
function renderers(html: string) {
  const disposed: string[] = [];
  const rendermime = {
    mimeTypes: ["text/vnd.mermaid"],
    createModel: ({ data }: { data: Record<string, string> }) => data,
    createRenderer: (mimeType: string) => {
      const node = document.createElement("div");
      return {
        node,
        renderModel: async (model: Record<string, string>) => {
          node.innerHTML = html.replace("SOURCE", model[mimeType] ?? "");
        },
        dispose: () => disposed.push(mimeType),
      };
    },
  };
  return { rendermime: rendermime as never, disposed };
}

test("returns the image URL and disposes the renderer", async () => {
  const { rendermime, disposed } = renderers(`<figure><img src="${PICTURE}"></figure>`);
  expect(await drawMermaid(rendermime, "graph TD")).toBe(PICTURE);
  expect(disposed).toEqual(["text/vnd.mermaid"]);
});

test.each([
  ["a warning", "<pre>Parse error on line 1: SOURCE</pre>", "Parse error on line 1: graph TD"],
  ["an external image", '<img src="https://example.org/x.svg">', "Jupyter could not draw it."],
  ["no image", "<svg></svg>", "Jupyter could not draw it."],
])("throws the reason when the renderer gives %s", async (_what, html, why) => {
  const { rendermime, disposed } = renderers(html);
  await expect(drawMermaid(rendermime, "graph TD")).rejects.toThrow(why);
  expect(disposed).toHaveLength(1);
});
