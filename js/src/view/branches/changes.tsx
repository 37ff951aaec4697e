/** The changes of a try: files and cells with their differences, and variables; the user can choose parts of them. */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Fold } from "../fold";
import { Icon, type IconName, Spacer } from "../icons";
import { Changed, Hunks, LineCount } from "../parts/diff";
import { type Change, compare, type Hunk } from "../parts/line-diff";
import { line } from "../plain";
import type { Try, TryCell, TryFile } from "./requests";

const KINDS = { added: "created", modified: "changed", deleted: "deleted" } as const;
const CELLS: Record<TryCell["action"], readonly [icon: IconName, words: string]> = {
  insert: ["insert", "New cell"],
  replace: ["replace", "Changed cell"],
  delete: ["delete", "Deleted cell"],
  move: ["move", "Moved cell"],
};

/** Returns the parts' names for the kernel. */
export function partsOf({ files, cells, variables }: Try): string[] {
  return [...files.map(({ path }) => path), ...cells.map(({ id }) => id), ...Object.keys(variables)];
}

interface Props {
  id: string;
  one: Try;
  /** The chosen parts; undefined if the user can't choose any. */
  chosen: ReadonlySet<string> | undefined;
  onChoose: (chosen: ReadonlySet<string>) => void;
}

export function Changes({ id, one, chosen, onChoose }: Props) {
  const part = (key: string, name: string, content: ComponentChildren) => (
    <li key={key} class="row try-part">
      {chosen && (
        <input
          type="checkbox"
          aria-label={`Keep ${name}`}
          checked={chosen.has(key)}
          onChange={(event) => onChoose(toggled(chosen, key, event.currentTarget.checked))}
        />
      )}
      <div class="try-change">{content}</div>
    </li>
  );
  const names = Object.entries(one.variables);
  if (one.files.length + one.cells.length + names.length === 0) return null;
  return (
    <ul class="list try-changes" aria-label="Changes">
      {one.cells.map((cell) => part(cell.id, cellName(cell), <Cell id={`${id} ${cell.id}`} cell={cell} />))}
      {one.files.map((file) => part(file.path, line(file.path, 200), <File id={`${id} ${file.path}`} file={file} />))}
      {chosen
        ? names.map(([name, status]) => part(name, line(name, 100), <Variables names={[[name, status]]} />))
        : names.length > 0 && (
            <li class="try-part">
              <Variables names={names} />
            </li>
          )}
    </ul>
  );
}

function toggled(chosen: ReadonlySet<string>, key: string, isOn: boolean): ReadonlySet<string> {
  const next = new Set(chosen);
  if (isOn) next.add(key);
  else next.delete(key);
  return next;
}

const cellName = ({ action, before, after }: TryCell): string =>
  `${CELLS[action]?.[1] ?? "Cell"}: ${line(after || before, 60) || "empty"}`;

function File({ id, file }: { id: string; file: TryFile }) {
  const change = useMemo(() => readUnified(file.diff), [file.diff]);
  return <Changed id={id} path={file.path} kind={KINDS[file.status]} change={change} label="Show change of " />;
}

function Cell({ id, cell }: { id: string; cell: TryCell }) {
  const change = useMemo(() => compare(cell.before, cell.after), [cell.before, cell.after]);
  const head = (
    <>
      <Icon name={CELLS[cell.action]?.[0] ?? "edit"} />
      <span class="cut">{cellName(cell)}</span>
      <Spacer />
      {change && cell.action !== "move" && <LineCount {...change} />}
    </>
  );
  if (!change || cell.action === "move") return <div class="diff row fold-head bare">{head}</div>;
  return (
    <Fold id={id} className="diff" head={head}>
      <Hunks change={change} />
    </Fold>
  );
}

function Variables({ names }: { names: readonly (readonly [name: string, status: string])[] }) {
  return (
    <span class="row wraps try-variables">
      <Icon name="variable" />
      {names.map(([name, status]) => (
        <span key={name}>
          <code>{line(name, 60)}</code> <span class="dim">{line(status, 20)}</span>
        </span>
      ))}
    </span>
  );
}

const HEAD = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** Returns the hunks; undefined if there are none. */
export function readUnified(diff: string): Change | undefined {
  const hunks: Hunk[] = [];
  for (const text of diff.split("\n")) {
    const head = HEAD.exec(text);
    if (head) hunks.push({ oldStart: Number(head[1]), newStart: Number(head[2]), lines: [] });
    else if (/^[ +\-\\]/.test(text)) hunks.at(-1)?.lines.push(text);
  }
  if (hunks.length === 0) return undefined;
  const lines = hunks.flatMap((hunk) => hunk.lines);
  const number = (mark: string) => lines.filter((text) => text.startsWith(mark)).length;
  return { hunks, added: number("+"), removed: number("-"), lines: lines.length };
}
