/** A code block: a bar with its language and a copy button, and the code, coloured once it is complete. */
import { useContext, useLayoutEffect, useRef } from "preact/hooks";
import { ViewContext } from "../context";
import { CopyButton } from "../copy";
import { IconButton } from "../icons";
import { memo } from "../memo";
import { line } from "../plain";
import { highlight } from "./highlight";

interface Props {
  text: string;
  lang?: string | undefined;
  live?: boolean | undefined;
}

export const CodeBlock = memo(({ text, lang, live }: Props) => {
  const language = lang?.split(/[\s,{]/)[0]?.toLowerCase();
  return (
    <div class="code">
      <div class="code-bar">
        <span class="code-lang">{line(language || "text", 30)}</span>
        {!live && <InsertButton text={text} language={language} />}
        <CopyButton text={text} label="Copy code" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling block must be reachable by keyboard */}
      <pre tabIndex={0}>{live ? <LiveCode text={text} /> : <Coloured text={text} language={language} />}</pre>
    </div>
  );
});

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

/** Where a notebook is at hand, code that a cell can run is put below the active one. */
function InsertButton({ text, language = "" }: { text: string; language?: string | undefined }) {
  const notebook = useContext(ViewContext).store?.notebook;
  const magic = CELLS.get(language);
  if (!notebook || magic === undefined) return null;
  return (
    <IconButton name="Insert below the active cell" icon="insert" onClick={() => notebook.insertBelow(magic + text)} />
  );
}

export const Coloured = memo(({ text, language }: { text: string; language?: string | undefined }) => (
  <code key="done">
    {highlight(text, language)?.map(([scope, piece], at) =>
      scope ? (
        <span key={at} class={`hl-${scope}`}>
          {piece}
        </span>
      ) : (
        piece
      ),
    ) ?? text}
  </code>
));

/** Code that still grows: appended to one text node, so that a selection in it survives. */
function LiveCode({ text }: { text: string }) {
  const element = useRef<HTMLElement>(null);
  const shown = useRef("");
  useLayoutEffect(() => {
    const code = element.current as HTMLElement;
    const node = (code.firstChild ?? code.appendChild(document.createTextNode(""))) as Text;
    if (text.startsWith(shown.current)) node.appendData(text.slice(shown.current.length));
    else node.data = text;
    shown.current = text;
  }, [text]);
  return <code key="live" ref={element} />;
}
