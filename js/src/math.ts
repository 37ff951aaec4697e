/**
 * Mathematics: converts TeX to MathML nodes, by Temml. Fetched with the first formula.
 *
 * An agent's text never becomes HTML: this module walks Temml's tree and creates each element, attribute, class and
 * style that is on a list. It refuses formulas that define macros, are nested too deeply or grow too large.
 */

import temml from "temml";
import temmlStyles from "temml/dist/Temml-Local.css";
import { FetchedStyles } from "./fetched-styles";
import styles from "./math.css";
import { table } from "./state/object";

const sheet = new FetchedStyles(`${temmlStyles}${styles}`);
const NAMESPACE = "http://www.w3.org/1998/Math/MathML";
const ELEMENTS = new Set(
  (
    "math mrow mi mn mo mtext mspace ms mfrac msqrt mroot mstyle mpadded mphantom menclose merror " +
    "msub msup msubsup munder mover munderover mmultiscripts mprescripts none mtable mtr mtd"
  ).split(" "),
);
const ATTRIBUTES = new Set(
  (
    "display displaystyle scriptlevel mathvariant form fence separator stretchy symmetric largeop movablelimits " +
    "accent accentunder lspace rspace minsize maxsize width height depth voffset linethickness notation " +
    "mathcolor mathbackground mathsize columnalign columnspacing columnlines rowspacing rowlines rowspan columnspan " +
    "align side frame framespacing"
  ).split(" "),
);
const STYLES = new Set(
  (
    "color backgroundColor textAlign fontWeight mathDepth math-depth border borderTop borderBottom borderLeft borderRight " +
    "padding paddingTop paddingBottom paddingLeft paddingRight marginLeft marginRight"
  ).split(" "),
);
const CLASS =
  /^(?:tml-[a-z0-9-]+|(?:chr|wbk)-[a-z-]+|menclose|actuarial|upstrike|downstrike|sout|mathcal|mathscr|[a-z]+-pad|textcircle|phasor-[a-z]+|longdiv-[a-z]+)$/;
/** Allows names, numbers with units and colours; no address, no quotes, and none of the functions listed here. */
const VALUE = /^(?!.*(?:url|var|attr|image|expression)\s*\()[\w\s.,%#+()-]{0,100}$/i;
/** The size of each unit in em, approximately. */
const LENGTHS: Record<string, number> = table({
  em: 1,
  rem: 1,
  ex: 0.45,
  px: 0.07,
  pt: 0.09,
  pc: 1.1,
  cm: 2.7,
  mm: 0.27,
  in: 6.8,
});
/** In em, in either direction. */
const LONGEST_LENGTH = 40;
const DEFINES =
  /\\(?:[egx]?def|(?:future)?let|(?:re|provide)?newcommand|providecommand|renewcommand|global|long)(?![a-zA-Z])/;
const DEEPEST = 80;
const MOST_NODES = 5_000;
/** Control, format and unassigned characters, except the invisible operators of mathematics. */
const UNSEEN = /[^\P{C}\u2061-\u2064]/gu;

interface TreeNode {
  type?: string;
  text?: string;
  children?: TreeNode[] | TreeNode;
  attributes?: Record<string, unknown>;
  classes?: string[];
  style?: Record<string, unknown>;
}

/**
 * Replaces an element's content by the formula.
 *
 * @param into The element.
 * @param source TeX, without its delimiters.
 * @param isDisplay True for a formula on its own lines.
 * @throws Error with the reason if it cannot be drawn; then the element is unchanged.
 */
export default function draw(into: Element, source: string, isDisplay: boolean): void {
  const math = formula(source, isDisplay);
  sheet.addTo(into.getRootNode());
  into.replaceChildren(math);
}

/** Returns the formula as a `math` element. */
export function formula(source: string, isDisplay: boolean): Element {
  if (DEFINES.test(source)) throw new Error("It defines macros, which are not allowed here.");
  let tree: TreeNode;
  try {
    tree = temml.__renderToMathMLTree(source, {
      displayMode: isDisplay,
      throwOnError: true,
      trust: false,
      wrap: "tex",
      maxExpand: 1000,
      maxSize: [LONGEST_LENGTH, LONGEST_LENGTH * 12],
    }) as TreeNode;
  } catch (error) {
    if (error instanceof RangeError) throw new Error("It is nested too deeply.");
    throw new Error(reason(error));
  }
  const count = { nodes: 0 };
  const [math, ...others] = nodesOf(tree, count, 0);
  if (!(math instanceof Element) || others.length > 0) throw new Error("It is not a single formula.");
  return math;
}

/** Temml's message without the position, which it also marks below the source. */
function reason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return `${message
    .trim()
    .replace(/ at (?:position \d+|end of input)[\s\S]*$|\n[\s\S]*$/, "")
    .replace(/[\s.]+$/, "")}.`;
}

function nodesOf(node: TreeNode, count: { nodes: number }, depth: number): Node[] {
  count.nodes += 1;
  if (count.nodes > MOST_NODES) throw new Error("It is too large.");
  if (depth > DEEPEST) throw new Error("It is nested too deeply.");
  if (node.text !== undefined) return [document.createTextNode(String(node.text).replace(UNSEEN, ""))];
  const children = [node.children ?? []].flat().flatMap((child) => nodesOf(child, count, depth + 1));
  if (node.type === undefined) {
    if (node.classes?.includes("tml-eqn") && children.length === 0) return []; // the place of an equation's number
    if (node.attributes) throw new Error("It has more than mathematics."); // a span, a link, a picture
    return children; // a fragment
  }
  if (!ELEMENTS.has(node.type)) throw new Error(`It has an element that is not drawn: ${node.type}.`);
  const element = document.createElementNS(NAMESPACE, node.type) as MathMLElement;
  for (const [name, value] of Object.entries(node.attributes ?? {}))
    if (ATTRIBUTES.has(name) && VALUE.test(String(value))) element.setAttribute(name, bounded(String(value)));
  const classes = (node.classes ?? []).filter((name) => CLASS.test(name));
  if (classes.length > 0) element.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(node.style ?? {}))
    if (STYLES.has(name) && VALUE.test(String(value)))
      element.style?.setProperty(name.replace(/[A-Z]/g, "-$&").toLowerCase(), bounded(String(value)));
  element.append(...children);
  return [element];
}

/** Limits lengths to a formula's needs: a larger one could move content over other content. */
function bounded(value: string): string {
  return value.replace(/(-?[\d.]+)(em|rem|ex|px|pt|pc|cm|mm|in)\b/g, (whole, number: string, unit: string) => {
    const most = LONGEST_LENGTH / (LENGTHS[unit] as number);
    return Math.abs(Number(number)) <= most ? whole : `${Math.sign(Number(number)) * Math.round(most)}${unit}`;
  });
}
