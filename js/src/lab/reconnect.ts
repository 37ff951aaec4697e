/**
 * Connects a page to its kernel again where the kernel answers, but not over the connection that the page has.
 *
 * Behind a gateway the page's own WebSocket stays open while what lies behind it is dead: the Jupyter server's end has
 * given up, or has sockets that the kernel no longer reads (docs/decisions/0445-silent-connections.md). So a second
 * connection asks whether the kernel answers. It is still open when the first one is made anew: then the gateway keeps
 * none of the old sockets.
 */
import type { NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";

const ANSWER_MS = 20_000;
/** What the kernel has answered the page may come a little later. */
const GRACE_MS = 1_000;

const asking = new WeakSet<Kernel>();

const after = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Resolves once the connection is made anew, or need not or can't be: the kernel answers nobody. */
export async function renew(kernel: Kernel, isSilent: () => boolean): Promise<void> {
  if (asking.has(kernel)) return;
  asking.add(kernel);
  const other = kernel.clone();
  const late = after(ANSWER_MS).then(() => false);
  try {
    const answers = await Promise.race([other.info.then(() => after(GRACE_MS)).then(() => true), late]);
    if (answers && !kernel.isDisposed && isSilent()) await kernel.reconnect();
  } catch (error) {
    console.debug("agentnb:", error); // it is tried again
  } finally {
    other.dispose();
    asking.delete(kernel);
  }
}

/** For a notebook's kernel. */
export async function renewOf({ sessionContext }: NotebookPanel, isSilent: () => boolean): Promise<void> {
  const kernel = sessionContext.session?.kernel;
  if (kernel) await renew(kernel, isSilent);
}
