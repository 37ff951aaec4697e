/** A change to a file, line by line. */

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { table } from "../../state/object";
import { useWorkspace } from "../context";
import { Fold } from "../fold";
import { Icon, Spacer } from "../icons";
import { memo } from "../memo";
import { count, inFolder, line, splitPath } from "../plain";
import { useAfter } from "../use-work";
import type { FileChange } from "./changes";
import { type Change, compare, type Hunk } from "./line-diff";

const FOLD_ABOVE = 2000;
/** The number of lines drawn at first, and then with each frame. */
const LINES = 400;
const LONGEST_LINE = 2_000;

interface Props {
  id: string;
  path: string;
  oldText: string | null | undefined;
  newText: string;
}

export const Diff = memo(({ id, path, oldText, newText }: Props) => {
  const change = useMemo(() => compare(oldText ?? "", newText), [oldText, newText]);
  const open = change !== undefined && change.lines <= FOLD_ABOVE;
  const kind = oldText === null || oldText === undefined ? "created" : "changed";
  return (
    <Changed id={id} path={path} kind={kind} change={change} open={open}>
      <p class="note">Too large to compare here.</p>
    </Changed>
  );
});

interface ChangedProps extends FileChange {
  id: string;
  open?: boolean;
  /** The text that screen readers read before the path. */
  label?: string;
  /** The content to unfold if the change is unknown; without it, there is only a line. */
  children?: ComponentChildren;
}

const CHIPS: Record<string, string> = table({ created: "new", deleted: "deleted", moved: "moved" });

export function Changed({ id, path, kind, change, open = false, label, children }: ChangedProps) {
  const cwd = useWorkspace();
  const body = change ? <Hunks change={change} /> : children;
  const head = (
    <>
      <Icon name="file" />
      {body && label && <span class="sr-only">{label}</span>}
      <PathName path={inFolder(path, cwd)} title={line(path, 500)} />
      {CHIPS[kind] && <span class="chip">{CHIPS[kind]}</span>}
      <Spacer />
      {change && <LineCount {...change} />}
    </>
  );
  if (!body) return <div class="diff row fold-head bare">{head}</div>;
  return (
    <Fold id={`${id} diff`} className="diff" open={open} head={head}>
      {body}
    </Fold>
  );
}

/** A path with its folder dimmed; with `isWhole`, all of it is a name. */
export function PathName({ path, title, isWhole = false }: { path: string; title: string; isWhole?: boolean }) {
  const { folder, name } = isWhole ? { folder: "", name: path } : splitPath(path);
  return (
    <span class="path" title={title}>
      {folder && <span class="folder">{folder}</span>}
      {name}
    </span>
  );
}

export function LineCount({ added, removed }: { added: number; removed: number }) {
  return (
    <span class="diff-count">
      <span class="sr-only">{`${count(added)} line${added === 1 ? "" : "s"} added, ${count(removed)} removed`}</span>
      <span aria-hidden="true">
        <span class="added">+{count(added)}</span>
        {"\u2009"}
        <span class="removed">−{count(removed)}</span>
      </span>
    </span>
  );
}

/** The lines of a change, with the unchanged lines around them. */
export function Hunks({ change }: { change: Change }) {
  const [limit, show] = useState(LINES);
  const isCut = limit < change.lines;
  useAfter(isCut ? 16 : undefined, () => show((lines) => lines + LINES), [isCut, limit]);
  if (change.hunks.length === 0) return <p class="note">No change.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling block must be reachable by keyboard
    <div class="hunks" tabIndex={0}>
      {firstLines(change.hunks, limit).map((hunk) => (
        <Lines key={`${hunk.oldStart} ${hunk.newStart}`} hunk={hunk} />
      ))}
    </div>
  );
}

function firstLines(hunks: readonly Hunk[], count: number): Hunk[] {
  const first: Hunk[] = [];
  let left = count;
  for (const hunk of hunks) {
    if (left <= 0) break;
    // In blocks of one size, so that blocks drawn before stay unchanged.
    let [oldStart, newStart] = [hunk.oldStart, hunk.newStart];
    for (let at = 0; at < hunk.lines.length && left > 0; at += LINES) {
      const lines = hunk.lines.slice(at, at + LINES);
      first.push({ oldStart, newStart, lines });
      oldStart += lines.filter(([mark]) => mark === " " || mark === "-").length;
      newStart += lines.filter(([mark]) => mark === " " || mark === "+").length;
      left -= lines.length;
    }
  }
  return first;
}

const NAMES: Record<string, string> = table({ "+": "added", "-": "removed", " ": "same", "\\": "note" });

const Lines = memo(
  ({ hunk }: { hunk: Hunk }) => {
    let before = hunk.oldStart;
    let after = hunk.newStart;
    return (
      <div class="hunk">
        {hunk.lines.map((text) => {
          const mark = text[0] as string;
          const number = mark === "-" ? before : after;
          if (mark !== "+" && mark !== "\\") before += 1;
          if (mark !== "-" && mark !== "\\") after += 1;
          return (
            <div class={`line ${NAMES[mark] ?? "same"}`}>
              <span class="number" aria-hidden="true">
                {mark === "\\" ? "" : number}
              </span>
              <span class="sign">{mark === " " ? "\u00a0" : mark === "-" ? "−" : mark}</span>
              <span class="text">{text.length > LONGEST_LINE ? `${text.slice(1, LONGEST_LINE)}…` : text.slice(1)}</span>
            </div>
          );
        })}
      </div>
    );
  },
  (before, after) => sameLines(before.hunk, after.hunk),
);

function sameLines(before: Hunk, after: Hunk): boolean {
  return (
    before.oldStart === after.oldStart &&
    before.lines.every((line, at) => line === after.lines[at]) &&
    before.lines.length === after.lines.length
  );
}
