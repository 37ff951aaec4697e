/** Turns Markdown tokens into elements. Raw HTML stays text, pictures are shown by name only, links are checked. */

import { signal } from "@preact/signals";
import { type ComponentChildren, Fragment, h } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { table } from "../../state/object";
import { ViewContext } from "../context";
import { Icon } from "../icons";
import { safeHref } from "../links";
import { memo } from "../memo";
import { LongText } from "../parts/long-text";
import { line, plain, reason } from "../plain";
import type { Store } from "../store";
import { CodeBlock } from "./code";
import type { Align, Token } from "./token";

const DEEPEST = 30;
/** The only HTML tag that is drawn: Markdown has no mark for a line break in a table. */
const LINE_BREAK = /^<br\s*\/?>$/i;
type Draw = (token: never, depth: number) => ComponentChildren;

function drawTokens(tokens: readonly Token[] | undefined, depth = 0): ComponentChildren[] {
  return (tokens ?? []).map((token) => drawToken(token, depth));
}

export function drawToken(token: Token, depth = 0): ComponentChildren {
  if (depth > DEEPEST) return token.raw;
  const draw = DRAW[token.type];
  return draw ? draw(token as never, depth + 1) : token.raw;
}

const DRAW: Record<string, Draw | undefined> = table({
  space: () => null,
  def: () => null,
  hr: () => <hr />,
  br: () => <br />,
  plain: (token: Token) => (
    <p class="plain">
      <LongText text={token.text ?? ""} whole />
    </p>
  ),
  escape: (token: Token) => unescapeEntities(token.text ?? ""),
  text: (token: Token, depth) =>
    token.tokens ? <Fragment>{drawTokens(token.tokens, depth)}</Fragment> : unescapeEntities(token.text ?? ""),
  paragraph: (token: Token, depth) => <p>{drawTokens(token.tokens, depth)}</p>,
  mathBlock: (token: Token, depth) => <p>{drawTokens(token.tokens, depth)}</p>,
  heading: (token: Token, depth) => h(`h${token.depth}`, null, drawTokens(token.tokens, depth)),
  strong: (token: Token, depth) => <strong>{drawTokens(token.tokens, depth)}</strong>,
  em: (token: Token, depth) => <em>{drawTokens(token.tokens, depth)}</em>,
  del: (token: Token, depth) => <del>{drawTokens(token.tokens, depth)}</del>,
  codespan: (token: Token) => <code>{token.text}</code>,
  code: (token: Token) => <CodeBlock text={token.text ?? ""} lang={token.lang} live={token.live} />,
  math: ({ raw, text = "", isDisplay = false }: Token) => <Formula raw={raw} source={text} isDisplay={isDisplay} />,
  blockquote: (token: Token, depth) => <blockquote>{drawTokens(token.tokens, depth)}</blockquote>,
  list: drawList,
  checkbox: (token: Token) => (
    <input type="checkbox" checked={token.checked} disabled aria-label={token.checked ? "done" : "to do"} />
  ),
  table: drawTable,
  link: drawLink,
  image: drawImage,
  html: (token: Token) =>
    token.block ? (
      <p class="plain">
        <LongText text={token.text?.trimEnd() ?? ""} whole />
      </p>
    ) : LINE_BREAK.test(token.text ?? "") ? (
      <br />
    ) : (
      token.text
    ),
});

function drawList(token: Token, depth: number) {
  const items = (token.items ?? []).map((item, index) => (
    <li key={index} class={item.task ? "task" : undefined}>
      {drawTokens(item.tokens, depth)}
    </li>
  ));
  return token.ordered ? (
    <ol start={token.start === 1 ? undefined : Number(token.start)}>{items}</ol>
  ) : (
    <ul>{items}</ul>
  );
}

function drawTable(token: Token, depth: number) {
  const style = (align: Align) => (align ? { textAlign: align } : undefined);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling block must be reachable by keyboard
    <div class="table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {(token.header ?? []).map((cell) => (
              <th style={style(cell.align)}>{drawTokens(cell.tokens, depth)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {(token.rows ?? []).map((row) => (
            <tr>
              {row.map((cell) => (
                <td style={style(cell.align)}>{drawTokens(cell.tokens, depth)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function drawLink(token: Token, depth: number) {
  const href = safeHref(token.autolink ? token.href : unescapeEntities(token.href ?? ""));
  const children = drawTokens(token.tokens, depth);
  if (!href) {
    const target = line(token.href, 300);
    return (
      <span class="dead-link" title={target}>
        {children}
      </span>
    );
  }
  return (
    <a href={href} title={line(token.title ?? href, 300)} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

/** A picture in a message is shown as a name, at most with a link: loading it would tell its server who reads. */
function drawImage(token: Token) {
  const href = safeHref(unescapeEntities(token.href ?? ""));
  const label = (
    <>
      <Icon name="image" />
      <span class="sr-only">Picture: </span>
      {line(unescapeEntities(token.text ?? "") || "image")}
    </>
  );
  if (!href) return <span class="dead-link named-picture">{label}</span>;
  return (
    <a class="named-picture" href={href} target="_blank" rel="noopener noreferrer nofollow">
      {label}
    </a>
  );
}

const REFERENCE = /&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});/g;
const known = new Map<string, string>();

/** Returns `text` with character references (`&amp;`, `&#8594;`) decoded. */
function unescapeEntities(text: string): string {
  return text.includes("&") ? text.replace(REFERENCE, decode) : text;
}

/** Decodes one reference by the browser's own table; the pattern lets nothing else through to the parser. */
function decode(reference: string): string {
  let decoded = known.get(reference);
  if (decoded === undefined) {
    decoded = new DOMParser().parseFromString(reference, "text/html").documentElement.textContent ?? reference;
    if (known.size < 500) known.set(reference, decoded);
  }
  return decoded;
}

type DrawFormula = (into: Element, source: string, isDisplay: boolean) => void;

let fetched: Promise<unknown> | undefined;
/** The function that draws formulas (`js/src/math.ts`), once it has arrived. */
const drawer = signal<{ draw: DrawFormula } | undefined>(undefined);

function needMath(fetch: Store["module"]): void {
  if (fetched || !fetch) return;
  fetched = fetch("math").then(({ default: draw }) => {
    drawer.value = { draw: draw as DrawFormula };
  }, console.debug);
}

interface FormulaProps {
  /** The formula as written, with its delimiters. */
  raw: string;
  source: string;
  isDisplay: boolean;
}

/** A wide formula scrolls; a short one in a line of text does not. In characters. */
const SHORT = 40;

/** A formula; shows its source until it can be drawn, or if it cannot be drawn at all. */
const Formula = memo(({ raw, source, isDisplay }: FormulaProps) => {
  const { store } = useContext(ViewContext);
  const element = useRef<HTMLElement>(null);
  useEffect(() => needMath(store?.module), [store]);
  const there = drawer.value;
  useLayoutEffect(() => {
    const into = element.current as HTMLElement;
    into.title = "";
    try {
      if (there) return there.draw(into, source, isDisplay);
    } catch (error) {
      into.title = line(`This formula can't be drawn. ${reason(error)}`, 300);
    }
    into.textContent = plain(raw);
  }, [raw, source, isDisplay, there]);
  // The effect above draws the child nodes.
  return (
    <span
      class={isDisplay ? "math display" : "math"}
      ref={element}
      tabIndex={isDisplay || source.length > SHORT ? 0 : undefined}
    />
  );
});
