/**
 * Reconnects a page to its kernel if the kernel answers, but not over the page's connection.
 *
 * Behind a gateway, the page's own WebSocket stays open while the connection behind it is dead: the Jupyter server's
 * end has given up, or has sockets that the kernel no longer reads (docs/decisions/0445-silent-connections.md). So a
 * second connection tests if the kernel answers. It stays open while the first one is renewed: then the gateway keeps
 * none of the old sockets.
 *
 * JupyterLab may report a running cell if the message that it ended was lost. If a cell does run, the gateway may keep
 * its outputs, and a second connection would make it discard them. So the first one is renewed without a test.
 */
import type { NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import type { Connection } from "../view/store";

/** The time that a second connection waits for an answer before another one is opened. */
const ANSWER_MS = 20_000;
/** The time that the kernel's answer to the page may still take after its answer there. */
const GRACE_MS = 3_000;

/** The beats after which a running cell no longer explains the silence; then twice as many, and so on. */
const LONG = 8;
const SELDOM_MS = 60_000;
/** The time in which a renewed connection is left alone: messages are on their way. */
const FRESH_MS = 15_000;
/** The time that the gateway may keep outputs after JupyterLab reported a running cell. */
const LATELY_MS = 180_000;

const madeAnew = new WeakMap<Kernel, number>();
const wasBusy = new WeakMap<Kernel, number>();
const asking = new WeakSet<Kernel>();

const after = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Renews the connection if the kernel answers a second one and the page still receives nothing. */
async function renew(kernel: Kernel, isSilent: () => boolean): Promise<void> {
  if (asking.has(kernel)) return;
  asking.add(kernel);
  const other = kernel.clone();
  const late = after(ANSWER_MS).then(() => false);
  try {
    const answers = await Promise.race([other.info.then(() => after(GRACE_MS)).then(() => true), late]);
    if (answers && !kernel.isDisposed && isSilent()) await makeAnew(kernel);
  } catch (error) {
    console.debug("agentnb:", error); // retried later
  } finally {
    other.dispose();
    asking.delete(kernel);
  }
}

async function makeAnew(kernel: Kernel): Promise<void> {
  madeAnew.set(kernel, Date.now());
  await kernel.reconnect();
}

function wasMadeAnew(kernel: Kernel, since: number): boolean {
  return Date.now() - (madeAnew.get(kernel) ?? Number.NEGATIVE_INFINITY) < since;
}

/** True if the chat's messages reach the kernel while a cell runs. */
function hearsDuringCells(kernel: Kernel): boolean {
  return kernel.supportsSubshells === true && kernel.commsOverSubshells !== "disabled";
}

/** Renews the connection, at most once a minute; the gateway keeps its messages for the page. */
async function again(kernel: Kernel): Promise<void> {
  if (!wasMadeAnew(kernel, SELDOM_MS)) await makeAnew(kernel).catch(console.debug); // retried later
}

/** Reconnects to a notebook's kernel, which has not answered the page for some beats of 3 s. */
export async function renewOf(
  { sessionContext }: NotebookPanel,
  beats: number,
  connection: () => Connection,
): Promise<void> {
  const kernel = sessionContext.session?.kernel;
  if (!kernel || !/silent|busy/.test(connection()) || wasMadeAnew(kernel, FRESH_MS)) return;
  if (connection() === "busy") {
    const isLong = beats >= LONG && (beats & (beats - 1)) === 0;
    if (!isLong || !hearsDuringCells(kernel)) return;
    wasBusy.set(kernel, Date.now());
  }
  const isLately = Date.now() - (wasBusy.get(kernel) ?? Number.NEGATIVE_INFINITY) < LATELY_MS;
  await (isLately ? again(kernel) : renew(kernel, () => connection() === "silent"));
}
