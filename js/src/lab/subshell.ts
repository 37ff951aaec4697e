/** The second shell of a kernel, where no cell is in the way. A page that is loaded again finds the one it had. */
import type { Kernel } from "@jupyterlab/services";

const keyOf = (kernel: Kernel): string => `agentnb subshell ${kernel.id}`;

export function subshellOf(kernel: Kernel): string | undefined {
  return sessionStorage.getItem(keyOf(kernel)) ?? undefined;
}

export function rememberSubshell(kernel: Kernel, id: string): void {
  sessionStorage.setItem(keyOf(kernel), id);
}

/** Whether the page can speak to a subshell at all (JupyterLab 4.4, Notebook 7.4), whatever the kernel can. */
export function knowsSubshells(kernel: Kernel): boolean {
  return "supportsSubshells" in kernel;
}

/** What is sent inside goes to the subshell; without one, to the main shell. */
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
