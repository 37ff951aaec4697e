/** A code block: a bar with its language and its buttons, and the code, coloured once it is complete. */
import { signal } from "@preact/signals";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Run } from "../../highlighting";
import { usePlace, ViewContext } from "../context";
import { TextButton } from "../controls";
import { CopyButton } from "../copy";
import { IconButton } from "../icons";
import { memo } from "../memo";
import { LongText } from "../parts/long-text";
import { line, reason } from "../plain";
import type { Store } from "../store";

/** Longer code is drawn in slices even while it grows, in characters. */
const LONGEST_NODE = 24_000;

interface Props {
  text: string;
  lang?: string | undefined;
  live?: boolean | undefined;
}

export const CodeBlock = memo(({ text, lang, live }: Props) => {
  const language = lang?.split(/[\s,{]/)[0]?.toLowerCase();
  const [drawn, draw] = useDiagram(text, !live && language === "mermaid");
  return (
    <div class="code">
      <div class="row code-bar">
        <span class="cut code-lang">{line(language || "text", 30)}</span>
        {draw && <TextButton onClick={draw}>Draw</TextButton>}
        {!live && <CellButtons text={text} language={language} />}
        <CopyButton text={text} label="Copy code" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling block must be reachable by keyboard */}
      <pre tabIndex={0}>
        {live && text.length > LONGEST_NODE ? (
          <LongText text={text} whole />
        ) : live ? (
          <LiveCode text={text} />
        ) : (
          <Coloured text={text} language={language} />
        )}
      </pre>
      {drawn?.startsWith("data:image/svg+xml") ? (
        <img class="picture" src={drawn} alt="Diagram" />
      ) : (
        drawn && <p class="error-text">{line(drawn, 300)}</p>
      )}
    </div>
  );
});

/** Draws a Mermaid diagram if the front end can; as an image, so that nothing in it can run. */
function useDiagram(text: string, isDiagram: boolean): [string | undefined, (() => void) | undefined] {
  const notebook = useContext(ViewContext).store?.notebook;
  const [drawn, show] = useState<string>();
  if (!isDiagram || !notebook?.drawDiagram || text.length > LONGEST_NODE) return [undefined, undefined];
  return [drawn, () => void notebook.drawDiagram?.(text).then(show, (error: unknown) => show(reason(error)))];
}

export const Coloured = memo(({ text, language }: { text: string; language?: string | undefined }) => {
  const { store } = useContext(ViewContext);
  useEffect(() => needHighlighting(language, store?.module), [language, store]);
  return (
    <code key="done">
      {highlight(text, language)?.map(([scope, piece], at) =>
        scope ? (
          <span key={at} class={`hl-${scope}`}>
            {piece}
          </span>
        ) : (
          piece
        ),
      ) ?? <LongText text={text} />}
    </code>
  );
});

/** Code that still grows: appended to one text node, so that a selection in it survives. */
function LiveCode({ text }: { text: string }) {
  const element = useRef<HTMLElement>(null);
  const drawnText = useRef("");
  useLayoutEffect(() => {
    const code = element.current as HTMLElement;
    const node = (code.firstChild ?? code.appendChild(document.createTextNode(""))) as Text;
    if (text.startsWith(drawnText.current)) node.appendData(text.slice(drawnText.current.length));
    else node.data = text;
    drawnText.current = text;
  }, [text]);
  return <code key="live" ref={element} />;
}

/* Syntax colours of code that is short enough; `js/src/highlighting.ts` makes them, once it has arrived. */
type Highlight = (code: string, language: string) => Run[] | undefined;

let isAsked = false;
const highlighting = signal<Highlight>();

/** Fetches the highlighting module once for the page; if that fails, code stays plain until more of it is shown. */
function needHighlighting(language: string | undefined, fetch: Store["module"]): void {
  if (!language || isAsked || !fetch) return;
  isAsked = true;
  fetch("highlighting").then(
    ({ default: highlight }) => {
      highlighting.value = highlight as Highlight;
    },
    (error) => {
      isAsked = false;
      console.debug(error);
    },
  );
}

/** Longer code stays plain: grammars take up to a millisecond per hundred characters. */
const LONGEST = 30_000;
const LONGEST_LINE = 2_000;

/** Returns the pieces of `code`, or undefined if it stays plain; draws its caller again once the colours are there. */
function highlight(code: string, language: string | undefined): Run[] | undefined {
  const coloured = highlighting.value;
  if (!language || !coloured || code.length > LONGEST) return undefined;
  if (code.split("\n").some((line) => line.length > LONGEST_LINE)) return undefined;
  return coloured(code, language);
}

/** Languages that a Python kernel's cell can run, and the cell magic that each needs. */
const CELLS = new Map(
  Object.entries({
    "": "",
    python: "",
    py: "",
    python3: "",
    ipython: "",
    ipython3: "",
    bash: "%%bash\n",
    sh: "%%sh\n",
    html: "%%html\n",
    javascript: "%%javascript\n",
    js: "%%javascript\n",
    sql: "%%sql\n",
  }),
);

/** The buttons that put code into the notebook's cells: through the notebook's own model, so that it can be undone. */
function CellButtons({ text, language = "" }: { text: string; language?: string | undefined }) {
  const view = useContext(ViewContext);
  const { session, turnId } = usePlace();
  const notebook = view.store?.notebook;
  const magic = CELLS.get(language);
  if (!notebook || magic === undefined) return null;
  const code = magic + text;
  const from = turnId ? { channel: session, turnId } : undefined;
  const does = (what: () => void, announcement: string) => () => {
    what();
    view.announce(announcement);
  };
  return (
    <>
      {language !== "" && (
        <IconButton
          name="Run in a new cell below"
          icon="now"
          onClick={does(() => notebook.run(code, from), "Running in a new cell.")}
        />
      )}
      <IconButton
        name="Insert below the active cell"
        icon="insert"
        onClick={does(() => notebook.insertBelow(code, from), "Inserted in a new cell.")}
      />
      {!isInCell(view.root, view.visible.value) && (
        <IconButton
          name="Replace the active cell"
          icon="replace"
          onClick={does(() => notebook.replaceActive(code, from), "Replaced the active cell.")}
        />
      )}
    </>
  );
}

/** True under a cell: a click makes that cell active, so *Replace* would replace the prompt itself. */
function isInCell(root: ShadowRoot, _whenSeen: boolean): boolean {
  return root.host.closest(".jp-Cell") !== null;
}
