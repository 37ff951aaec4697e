/** The subshell of a kernel, which no cell blocks. A reloaded page finds the one that it had. */
import type { Kernel } from "@jupyterlab/services";

const keyOf = (kernel: Kernel): string => `agentnb subshell ${kernel.id}`;

export function subshellOf(kernel: Kernel): string | undefined {
  return sessionStorage.getItem(keyOf(kernel)) ?? undefined;
}

export function rememberSubshell(kernel: Kernel, id: string): void {
  sessionStorage.setItem(keyOf(kernel), id);
}

/** True if the page supports subshells (JupyterLab 4.4, Notebook 7.4), even if the kernel does not. */
export function knowsSubshells(kernel: Kernel): boolean {
  return "supportsSubshells" in kernel;
}

/** Sends messages inside `send` to the subshell; without one, to the main shell. */
export function onSubshell<T>(kernel: Kernel, id: string | undefined, send: () => T): T {
  if (id === undefined) return send();
  const before = kernel.subshellId ?? null;
  kernel.subshellId = id;
  try {
    return send();
  } finally {
    kernel.subshellId = before;
  }
}
