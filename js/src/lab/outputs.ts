/**
 * Reads the outputs of cells for the kernel, as they are shown (agentnb/server/lab_messages.py: `CellOutputsParams`).
 * Loaded when the kernel asks for them.
 *
 * Outputs are untrusted. An SVG is drawn through an `<img>`, which runs no script and loads nothing; for a chart, the
 * canvases and SVGs that its renderer has drawn are copied. Anything else stays text.
 */
import type { Cell, Notebook } from "@jupyterlab/notebook";
import { isObject } from "../state/object";

export interface CellOutputs {
  cellId: string;
  outputs: Output[];
}

type Output = Record<string, unknown>;

const MOST_OUTPUTS = 200;
const MOST_PICTURES = 5;
const LONGEST_TEXT = 100_000;
const LONGEST_CHART = 4_001;
const LARGEST = 3 * 1024 * 1024;
const LARGEST_ALL = 5 * 1024 * 1024;
/** Larger pictures are not scaled down, either. */
const LARGEST_DRAWN = 8 * 1024 * 1024;
const WIDEST = 1_568;
const DRAW_MS = 700;
const PICTURE = /^image\/(?:png|jpeg|gif|webp)$/;
const SVG = "image/svg+xml";
const CHART = /^application\/vnd\.(?:plotly|vega|vegalite)\.v\d+[.+]json$/;
/** In HTML that draws a chart by itself: Altair and Plotly produce it if they know of no renderer. */
const CHART_HTML = /\bvegaEmbed\b|\bplotly-graph-div\b/;

/** Returns the outputs of the cells with these ids; without ids, of the cell with a figure and the highest count. */
export async function outputsOf(notebook: Notebook, ids: readonly string[]): Promise<CellOutputs[]> {
  const cells = notebook.widgets.filter((cell) => cell.outputArea);
  const meant = ids.length > 0 ? cells.filter(({ model }) => ids.includes(model.id)) : latestFigure(cells);
  const cellOutputs: CellOutputs[] = [];
  // One after the other: a large picture blocks the page, and others drawn meanwhile would seem late.
  for (const cell of meant) cellOutputs.push({ cellId: cell.model.id, outputs: await outputs(cell) });
  return cellOutputs;
}

function latestFigure(cells: readonly Cell[]): Cell[] {
  const count = (cell: Cell) => cell.model.sharedModel.execution_count ?? 0;
  const [latest] = cells.filter((cell) => raw(cell).some(showsFigure)).toSorted((a, b) => count(b) - count(a));
  return latest ? [latest] : [];
}

function raw({ outputArea }: Cell): Output[] {
  const model = outputArea?.model;
  return Array.from({ length: Math.min(model?.length ?? 0, MOST_OUTPUTS) }, (_, at) => model?.get(at).toJSON() ?? {});
}

const kindsOf = ({ data }: Output): string[] => (isObject(data) ? Object.keys(data) : []);
const showsChart = (data: Output) =>
  Object.keys(data).some((kind) => CHART.test(kind)) || CHART_HTML.test(joined(data["text/html"]));
const showsFigure = (output: Output) =>
  kindsOf(output).some((kind) => PICTURE.test(kind) || kind === SVG) ||
  (isObject(output.data) && showsChart(output.data));

async function outputs(cell: Cell): Promise<Output[]> {
  const room = { pictures: MOST_PICTURES, bytes: LARGEST_ALL };
  const nodes = cell.outputArea?.widgets ?? [];
  const ground = getComputedStyle(cell.node).getPropertyValue("--jp-layout-color0").trim() || "white";
  const bounded: Output[] = [];
  for (const [at, output] of raw(cell).entries()) bounded.push(await boundedOutput(output, nodes[at]?.node, ground));
  for (const { data } of bounded) if (isObject(data)) spend(data, room);
  return bounded;
}

/** Replaces a picture by its size if there is no room left. */
function spend(data: Output, room: { pictures: number; bytes: number }): void {
  for (const kind of Object.keys(data).filter((one) => PICTURE.test(one))) {
    if (typeof data[kind] !== "string") continue;
    const size = sizeOf(data[kind]);
    if (room.pictures === 0 || size > room.bytes) data[kind] = size;
    else {
      room.pictures -= 1;
      room.bytes -= size;
    }
  }
}

async function boundedOutput(output: Output, node: HTMLElement | undefined, ground: string): Promise<Output> {
  const { output_type, name, text, ename, evalue, traceback, data } = output;
  if (output_type === "stream") return { output_type, name, text: ends(joined(text)) };
  if (output_type === "error")
    return {
      output_type,
      ename: ends(joined(ename)),
      evalue: ends(joined(evalue)),
      traceback: [ends(Array.isArray(traceback) ? traceback.join("\n") : joined(traceback))],
    };
  if (!isObject(data)) return { output_type, data: {} };
  const bundle = Object.fromEntries(
    await Promise.all(Object.entries(data).map(async ([kind, value]) => [kind, await toldValue(kind, value, ground)])),
  );
  if (!kindsOf(output).some((kind) => PICTURE.test(kind))) {
    const drawn = await drawnOf(data, node, ground).catch(() => undefined);
    if (drawn) bundle["image/png"] = drawn;
  }
  return { output_type, data: bundle };
}

async function toldValue(kind: string, value: unknown, ground: string): Promise<unknown> {
  if (PICTURE.test(kind)) {
    const whole = joined(value).replace(/\s/g, "");
    const size = sizeOf(whole);
    if (size <= LARGEST) return whole;
    const smaller =
      kind === "image/png" && size <= LARGEST_DRAWN
        ? await drawn([{ source: `data:image/png;base64,${whole}` }], ground).catch(() => undefined)
        : undefined;
    return smaller ?? size;
  }
  if (CHART.test(kind)) return (typeof value === "string" ? value : JSON.stringify(value)).slice(0, LONGEST_CHART);
  return kind.startsWith("text/") || kind === SVG ? ends(joined(value)) : "";
}

/** Returns the PNG of an SVG or of a rendered chart; undefined if there is neither. */
async function drawnOf(data: Output, node: HTMLElement | undefined, ground: string): Promise<string | undefined> {
  const svg = joined(data[SVG]);
  if (svg) return drawn([{ source: svgSource(svg) }], ground);
  if (!node || !showsChart(data)) return undefined;
  const frame = node.getBoundingClientRect();
  const layers = [...node.querySelectorAll<SVGElement | HTMLCanvasElement>("canvas, svg")]
    .filter((each) => !each.parentElement?.closest("svg"))
    .map((each) => ({ each, box: each.getBoundingClientRect() }))
    .filter(({ box }) => box.width > 1 && box.height > 1)
    .map(({ each, box }) => ({
      source: each instanceof HTMLCanvasElement ? each : svgSource(new XMLSerializer().serializeToString(each)),
      box: new DOMRect(box.x - frame.x, box.y - frame.y, box.width, box.height),
    }));
  // A toolbar's icons alone don't count.
  return layers.some(({ box }) => box.width > 60 && box.height > 60) ? drawn(layers, ground) : undefined;
}

interface Layer {
  source: string | HTMLCanvasElement;
  /** The position; absent for a single picture, which has its own size. */
  box?: DOMRect;
}

/** Returns the stacked layers, as PNG in base64; rejects if the browser forbids reading the canvas. */
async function drawn(layers: readonly Layer[], ground: string): Promise<string | undefined> {
  const loaded = await Promise.all(
    layers.map(async ({ source, box }) => {
      const image = typeof source === "string" ? await load(source) : source;
      const own = image instanceof HTMLImageElement ? [image.naturalWidth, image.naturalHeight] : [0, 0];
      return { image, box: box ?? new DOMRect(0, 0, own[0] || 600, own[1] || 400) };
    }),
  );
  const width = Math.max(...loaded.map(({ box }) => box.right));
  const height = Math.max(...loaded.map(({ box }) => box.bottom));
  const scale = Math.min(1, WIDEST / Math.max(width, height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const context = canvas.getContext("2d");
  if (!context) return undefined;
  context.fillStyle = ground;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.scale(scale, scale);
  for (const { image, box } of loaded) context.drawImage(image, box.x, box.y, box.width, box.height);
  const data = canvas.toDataURL("image/png").replace(/^[^,]*,/, "");
  return sizeOf(data) <= LARGEST ? data : undefined;
}

function load(source: string): Promise<HTMLImageElement> {
  const image = new Image();
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      if (image.complete && image.naturalWidth > 0)
        resolve(image); // the page itself was busy
      else reject(new Error("The picture takes too long to draw."));
    }, DRAW_MS);
    image.onload = () => {
      clearTimeout(late);
      resolve(image);
    };
    image.onerror = () => {
      clearTimeout(late);
      reject(new Error("The picture can't be drawn."));
    };
    image.src = source;
  });
}

const svgSource = (svg: string): string => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
const sizeOf = (base64: string): number => Math.floor((base64.length * 3) / 4);
const joined = (value: unknown): string =>
  Array.isArray(value) ? value.filter((part) => typeof part === "string").join("") : String(value ?? "");

/** Returns the beginning and end of a very long text; the middle would be cut anyway. */
function ends(text: string): string {
  const half = LONGEST_TEXT / 2;
  return text.length <= LONGEST_TEXT ? text : `${text.slice(0, half)}\n${text.slice(-half)}`;
}
