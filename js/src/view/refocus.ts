/** Where the keyboard's focus goes when what had it is taken away: a closed tab, a button that is done, a list of agents. */

const BOX = ".prompt textarea";
const TAB = "[role=tab][aria-selected=true]";
/** The history or the settings, which stand in the place of the conversation. */
const PANEL = ".panel[tabindex='-1']";
const CONTROL = "button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea, [tabindex='0']";
/** How long what is to be focused may take to come. */
const PATIENCE = 5_000;

export interface Refocus {
  /** The box to write in is wanted next, as soon as it is there, unless the reader goes elsewhere. */
  toBox(): void;
  dispose(): void;
}

/** Follows the focus in `root`. Nothing is taken from a reader who is elsewhere in the page. */
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
  // One that is taken away may lose the focus a moment before it goes.
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

/** In a panel: the first control of the group that `gone` was taken out of, else the panel itself. */
function besides(gone: HTMLElement, changes: readonly MutationRecord[]): HTMLElement | null | undefined {
  const removal = changes.find(({ removedNodes }) => [...removedNodes].some((node) => node.contains(gone)));
  const place = removal?.target as HTMLElement | undefined;
  const panel = place?.closest<HTMLElement>(PANEL);
  return panel && (place?.closest("[role=group]")?.querySelector<HTMLElement>(CONTROL) ?? panel);
}

/** Whether something has the focus, here or in another part of the page. */
function isElsewhere({ activeElement, ownerDocument }: ShadowRoot): boolean {
  const active = ownerDocument.activeElement;
  return activeElement !== null || (active !== null && active !== ownerDocument.body);
}
