/** Moves the focus when the focused element is removed: a closed tab, a finished button, a list of agents. */

const BOX = ".prompt textarea";
const TAB = "[role=tab][aria-selected=true]";
/** The history or the settings, shown in place of the conversation. */
const PANEL = ".panel[tabindex='-1']";
const CONTROL = "button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea, [tabindex='0']";
/** In milliseconds: how long to wait for the element to focus. */
const PATIENCE = 5_000;

export interface Refocus {
  /** Focuses the message box as soon as it exists, unless the user goes elsewhere. */
  toBox(): void;
  dispose(): void;
}

/** Follows the focus in `root`. Takes no focus from a user who is elsewhere in the page. */
export function refocus(root: ShadowRoot): Refocus {
  let had: HTMLElement | undefined;
  let wanted: string | undefined;
  let until = 0;
  const want = (selector: string) => {
    wanted = selector;
    until = Date.now() + PATIENCE;
  };
  const look = (changes: readonly MutationRecord[]) => {
    if (had && !had.isConnected) {
      const gone = had;
      had = undefined;
      want(gone.classList.contains("tab") ? TAB : BOX);
      if (!isElsewhere(root)) besides(gone, changes)?.focus();
    }
    if (wanted === undefined) return;
    const element = root.querySelector<HTMLElement>(wanted);
    if (isElsewhere(root) || Date.now() > until) wanted = undefined;
    else if (element) {
      wanted = undefined;
      element.focus();
    }
  };
  const take = ({ target }: Event) => {
    had = target as HTMLElement;
  };
  // A removed element may lose the focus a moment before its removal.
  const leave = ({ target }: Event) => {
    setTimeout(() => {
      if (had === target && root.activeElement !== target && had?.isConnected) had = undefined;
    });
  };
  root.addEventListener("focusin", take);
  root.addEventListener("focusout", leave);
  const observer = new MutationObserver(look);
  observer.observe(root, { childList: true, subtree: true });
  return {
    toBox: () => {
      (root.activeElement as HTMLElement | null)?.blur();
      want(BOX);
    },
    dispose: () => observer.disconnect(),
  };
}

/** Returns, in a panel, the first control of the group that `gone` was removed from, else the panel itself. */
function besides(gone: HTMLElement, changes: readonly MutationRecord[]): HTMLElement | null | undefined {
  const removal = changes.find(({ removedNodes }) => [...removedNodes].some((node) => node.contains(gone)));
  const place = removal?.target as HTMLElement | undefined;
  const panel = place?.closest<HTMLElement>(PANEL);
  return panel && (place?.closest("[role=group]")?.querySelector<HTMLElement>(CONTROL) ?? panel);
}

/** True if an element has the focus, here or elsewhere in the page. */
function isElsewhere({ activeElement, ownerDocument }: ShadowRoot): boolean {
  const active = ownerDocument.activeElement;
  return activeElement !== null || (active !== null && active !== ownerDocument.body);
}
