/** The storage that agentnb uses: its size and the deletion of old conversations; everything else under *Advanced*. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import type { ChangeStorageParams, KeptStorage } from "../../state/requests.gen";
import { Button, Choice, TextButton, TextField, Trouble } from "../controls";
import { Spinner } from "../icons";
import { count, line, plain } from "../plain";
import { useWork } from "../use-work";

interface Asked {
  readonly action: "remove" | "deleteAll";
  readonly olderThanDays?: number;
  readonly largerThan?: string;
  /** The kernel's words for what it would do. */
  readonly message: string;
}

const HEADS: readonly [string, string][] = [
  ["kind", "What"],
  ["agent", "Agents"],
  ["folder", "Folders"],
];
/** The limits for a deletion: an age, or a size beyond which the oldest are deleted. */
const AGES = [
  [30, "30 days"],
  [90, "90 days"],
  [365, "a year"],
] as const;
const SIZES = [
  ["100M", "100 MB"],
  ["1G", "1 GB"],
  ["10G", "10 GB"],
] as const;
const CARE = [
  ["compact", "Compact"],
  ["check", "Check"],
  ["repair", "Repair"],
] as const;
/** The most agents or folders shown. */
const SHOWN = 10;

export function Storage({ request, onClose }: { request: Request; onClose: () => void }) {
  const [rows, setRows] = useState<readonly KeptStorage[]>();
  const [path, setPath] = useState("");
  const [message, setMessage] = useState("");
  const { isBusy, trouble, run: work } = useWork();
  const [question, setQuestion] = useState<Asked>();
  const [days, setDays] = useState<number>(90);
  const [most, setMost] = useState<string>("1G");
  const [file, setFile] = useState("~/agentnb-conversations.db");
  const back = useRef<HTMLButtonElement>(null);
  const run = (job: () => Promise<void>) => {
    setMessage("");
    return work(job);
  };
  const measure = async () => {
    const answer = await request("measureStorage", {});
    setRows(answer.rows);
    setPath(answer.path);
  };
  const change = (params: ChangeStorageParams) => request("changeStorage", params);
  const act = (action: "compact" | "check" | "repair" | "export" | "import", more: { path?: string } = {}) =>
    run(async () => {
      setMessage((await change({ action, ...more })).message);
      await measure();
    });
  const plan = (which: Omit<Asked, "message">) =>
    run(async () => {
      const would = await change({ ...which, dryRun: true });
      if (would.count > 0) setQuestion({ ...which, message: would.message });
      else setMessage(would.message);
    });
  const confirm = ({ message: _, ...which }: Asked) =>
    run(async () => {
      setQuestion(undefined);
      setMessage((await change({ ...which, dryRun: false })).message);
      await measure();
    });
  useEffect(() => {
    back.current?.focus();
    void run(measure);
  }, []);
  const total = (rows ?? []).filter(({ what }) => what === "kind").reduce((sum, { bytes }) => sum + bytes, 0);
  return (
    <div class="history-list" aria-busy={isBusy}>
      <TextButton ref={back} onClick={onClose}>
        Back to the conversations
      </TextButton>
      {rows && (
        <p>
          <b>{size(total)}</b> on disk. Conversations are kept until you delete them.
        </p>
      )}
      <div class="row wraps history-care" role="group" aria-label="Delete old conversations">
        <span>Delete older than</span>
        <Choice label="Delete older than" options={AGES} value={days} onChoose={setDays} />
        <Button disabled={isBusy} onClick={() => void plan({ action: "remove", olderThanDays: days })}>
          Delete…
        </Button>
      </div>
      {question && (
        <div class="banner plain-banner history-delete" role="group" aria-label="Delete permanently?">
          <span>{line(question.message, 200)} Their undo history is deleted too. This can't be undone.</span>
          <Button class="danger" disabled={isBusy} onClick={() => void confirm(question)}>
            Delete
          </Button>
          <Button onClick={() => setQuestion(undefined)}>Cancel</Button>
        </div>
      )}
      {isBusy && <Spinner />}
      <p class="small" role="status">
        {line(message, 2000)}
      </p>
      <Trouble text={line(trouble, 600)} class="history-trouble small" />
      <details class="history-advanced">
        <summary>Advanced</summary>
        {HEADS.map(([what, head]) => (
          <Table key={what} head={head} rows={(rows ?? []).filter((row) => row.what === what).slice(0, SHOWN)} />
        ))}
        <p class="dim small">{plain(path)}</p>
        <div class="row wraps history-care" role="group" aria-label="Delete by size">
          <span>Keep the newest</span>
          <Choice label="Keep the newest" options={SIZES} value={most} onChoose={setMost} />
          <Button disabled={isBusy} onClick={() => void plan({ action: "remove", largerThan: most })}>
            Delete the rest…
          </Button>
          <Button disabled={isBusy} onClick={() => void plan({ action: "deleteAll" })}>
            Delete all…
          </Button>
        </div>
        <div class="row wraps history-care" role="group" aria-label="Maintain the log">
          {CARE.map(([action, name]) => (
            <Button key={action} disabled={isBusy} onClick={() => void act(action)}>
              {name}
            </Button>
          ))}
        </div>
        <div class="row wraps history-care" role="group" aria-label="Copy all conversations">
          <TextField label="File on the kernel's machine" value={file} onText={setFile} />
          <Button disabled={isBusy} onClick={() => void act("export", { path: file })}>
            Export all
          </Button>
          <Button disabled={isBusy} onClick={() => void act("import", { path: file })}>
            Import
          </Button>
        </div>
      </details>
    </div>
  );
}

function Table({ head, rows }: { head: string; rows: readonly KeptStorage[] }) {
  return (
    <table class="history-sizes small">
      <thead>
        <tr>
          <th scope="col">{head}</th>
          <th scope="col">Size</th>
          <th scope="col">Number</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.name}>
            <td>{plain(row.name)}</td>
            <td>{size(row.bytes)}</td>
            <td>{count(row.items)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Returns bytes in a readable unit. */
function size(bytes: number): string {
  const power = Math.min(3, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const digits = power === 0 ? 0 : 1;
  const number = (bytes / 1024 ** power).toLocaleString([], { maximumFractionDigits: digits });
  return `${number} ${["bytes", "KB", "MB", "GB"][power]}`;
}
