import type { Cell, Notebook } from "@jupyterlab/notebook";
import { expect, test } from "vitest";
import recorded from "../../../tests/cases/outputs/charts.json" with { type: "json" };
import { outputsOf } from "../../src/lab/outputs";

const PNG = btoa("\x89PNG\r\n\x1a\n").replace(/=/g, "");

/** A code cell with outputs, like JupyterLab's. */
function cell(id: string, count: number | null, outputs: Record<string, unknown>[], nodes: HTMLElement[] = []): Cell {
  const model = {
    length: outputs.length,
    get: (at: number) => ({ type: String(outputs[at]?.output_type), toJSON: () => outputs[at] ?? {} }),
  };
  return {
    node: document.createElement("div"),
    model: { id, sharedModel: { id, execution_count: count } },
    outputArea: { model, widgets: nodes.map((node) => ({ node })) },
  } as unknown as Cell;
}

const displayData = (data: Record<string, unknown>) => ({ output_type: "display_data", data, metadata: {} });
const notebook = (...widgets: unknown[]) => ({ widgets }) as unknown as Notebook;

test("returns texts and images of the given cells, names of other types", async () => {
  const outputs = [
    { output_type: "stream", name: "stdout", text: ["a\n", "b\n"] },
    displayData({ "image/png": [`${PNG.slice(0, 4)}\n`, PNG.slice(4)], "text/plain": "<Figure>" }),
    displayData({ "text/html": "<table></table>", "application/pdf": "JVBERi0=" }),
    { output_type: "error", ename: "E", evalue: "why", traceback: ["one", "two"] },
  ];
  const markdown = { model: { id: "m" } };
  expect(await outputsOf(notebook(markdown, cell("a", 1, outputs), cell("b", 2, [])), ["a", "m", "gone"])).toEqual([
    {
      cellId: "a",
      outputs: [
        { output_type: "stream", name: "stdout", text: "a\nb\n" },
        { output_type: "display_data", data: { "image/png": PNG, "text/plain": "<Figure>" } },
        { output_type: "display_data", data: { "text/html": "<table></table>", "application/pdf": "" } },
        { output_type: "error", ename: "E", evalue: "why", traceback: ["one\ntwo"] },
      ],
    },
  ]);
});

test("uses the last run cell with a figure when no ids are given", async () => {
  const figure = displayData({ "image/png": PNG });
  const cells = [cell("a", 7, [figure]), cell("b", 3, [figure]), cell("c", 9, [displayData({ "text/plain": "5" })])];
  expect((await outputsOf(notebook(...cells), [])).map(({ cellId }) => cellId)).toEqual(["a"]);
  expect(await outputsOf(notebook(cells[2]), [])).toEqual([]);
});

test("returns only the size of images that are too large or too many", async () => {
  const large = "A".repeat(40 * 1024 * 1024);
  const [cellOutputs] = await outputsOf(
    notebook(cell("a", 1, [displayData({ "image/gif": large }), displayData({ "image/png": large })])),
    ["a"],
  );
  expect(cellOutputs?.outputs.map(({ data }) => data)).toEqual([
    { "image/gif": 30 * 1024 * 1024 },
    { "image/png": 30 * 1024 * 1024 },
  ]);
  const [many] = await outputsOf(notebook(cell("a", 1, Array(7).fill(displayData({ "image/png": PNG })))), ["a"]);
  const kinds = many?.outputs.map(({ data }) => typeof (data as Record<string, unknown>)["image/png"]);
  expect(kinds).toEqual([...Array(5).fill("string"), "number", "number"]);
});

test("keeps both ends of a long text and the beginning of a chart's JSON", async () => {
  const text = `begin${"x".repeat(2_000_000)}end`;
  const chart = { data: "y".repeat(100_000) };
  const outputs = [
    { output_type: "stream", name: "stdout", text },
    displayData({ "application/vnd.vegalite.v5+json": chart }),
  ];
  const [cellOutputs] = await outputsOf(notebook(cell("a", 1, outputs)), ["a"]);
  const [stream, drawn] = cellOutputs?.outputs ?? [];
  expect(String(stream?.text)).toHaveLength(100_001);
  expect(String(stream?.text)).toMatch(/^begin.*\n.*end$/s);
  expect(Object.values(drawn?.data ?? {})[0]).toHaveLength(4_001);
});

test("keeps an SVG that can't be drawn as text, outside the page", async () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>window.hit = 1</script></svg>';
  const [cellOutputs] = await outputsOf(notebook(cell("a", 1, [displayData({ "image/svg+xml": svg })])), ["a"]);
  expect(cellOutputs?.outputs).toEqual([{ output_type: "display_data", data: { "image/svg+xml": svg } }]);
  expect(document.querySelector("svg, script")).toBeNull();
  expect("hit" in window).toBe(false);
});

test.each(["altair, as HTML", "altair, as Vega-Lite", "plotly, as HTML", "plotly, as JSON"] as const)(
  "recognizes a chart as a figure: %s",
  async (name) => {
    const cells = [
      cell("a", 1, [displayData(recorded[name])]),
      cell("b", 2, [displayData({ "text/html": "<b>vega</b>" })]),
    ];
    expect((await outputsOf(notebook(...cells), [])).map(({ cellId }) => cellId)).toEqual(["a"]);
  },
);
