/**
 * The information from the page around a widget: JupyterLab's state of the kernel connection, and which other widget of
 * the same notebook is connected to a kernel. Other front ends have none: there, only silence shows a lost connection.
 */
export type Standing = "connected" | "busy" | "restarting" | "cut" | undefined;

const RESTARTING = new Set(["restarting", "autorestarting", "starting"]);

interface LabSignal {
  connect(slot: () => void): void;
  disconnect(slot: () => void): void;
}

/** The part of JupyterLab's kernel connection that this module reads (`widget_manager.kernel`). */
export interface LabKernel {
  readonly status?: string;
  readonly statusChanged?: LabSignal;
  readonly connectionStatus?: string;
  readonly connectionStatusChanged?: LabSignal;
}

/** There is one per notebook, and it stays the same after a restart. */
export type Manager = { readonly kernel?: LabKernel | null };

export function standing(manager: Manager | undefined): Standing {
  const kernel = manager?.kernel;
  if (!kernel?.connectionStatus) return undefined;
  if (RESTARTING.has(kernel.status ?? "")) return "restarting"; // its connection is renewed, too
  if (kernel.connectionStatus !== "connected") return "cut";
  return kernel.status === "busy" ? "busy" : "connected";
}

export function watchKernel(manager: Manager | undefined, changed: () => void): () => void {
  const kernel = manager?.kernel;
  // Every message makes the kernel busy for a moment: only restarts are reported.
  const onStatus = () => RESTARTING.has(kernel?.status ?? "") && changed();
  kernel?.connectionStatusChanged?.connect(changed);
  kernel?.statusChanged?.connect(onStatus);
  return () => {
    kernel?.connectionStatusChanged?.disconnect(changed);
    kernel?.statusChanged?.disconnect(onStatus);
  };
}

const LIVE = "agentnb-live";

interface Live {
  manager: Manager | undefined;
  show: () => void;
}

/** Announces to the other widgets of the notebook that this one is connected to its kernel, and how to scroll to it. */
export function announceLive(live: Live): void {
  document.dispatchEvent(new CustomEvent(LIVE, { detail: live }));
}

export function onLive(manager: Manager | undefined, then: (show: () => void) => void): () => void {
  const listener = (event: Event): void => {
    const { detail } = event as CustomEvent<Live>;
    if (manager && detail.manager === manager) then(detail.show);
  };
  document.addEventListener(LIVE, listener);
  return () => document.removeEventListener(LIVE, listener);
}
