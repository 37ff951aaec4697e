/**
 * Draws Mermaid diagrams with JupyterLab's own renderer (4.1 and later); the extension contains no Mermaid code. Loaded
 * when the user asks for a drawing.
 *
 * Uses only the picture, an SVG in a `data:` address: as an image it runs no script and loads nothing.
 */
import type { RenderMimes } from "@jupyterlab/notebook";

const MERMAID = "text/vnd.mermaid";
const PICTURE = /^data:image\/svg\+xml[;,]/;
const SLOWEST_MS = 20_000;

/**
 * Returns the address of a diagram's picture.
 *
 * @throws Error that says why it cannot be drawn.
 */
export async function drawMermaid(rendermime: RenderMimes, source: string): Promise<string> {
  const renderer = rendermime.createRenderer(MERMAID);
  try {
    const model = rendermime.createModel({ data: { [MERMAID]: source } });
    await Promise.race([renderer.renderModel(model), tooSlow()]);
    const address = renderer.node.querySelector("img")?.src ?? "";
    if (PICTURE.test(address)) return address;
    throw new Error(renderer.node.textContent?.trim().slice(0, 300) || "Jupyter could not draw it.");
  } finally {
    renderer.dispose();
  }
}

function tooSlow(): Promise<never> {
  return new Promise((_, reject) => setTimeout(() => reject(new Error("It took too long.")), SLOWEST_MS));
}
