/** Sets the sidebar's width: wide enough for a table, or as wide as the user has made it. */
import type { SplitPanel, Widget } from "@lumino/widgets";

const KEY = "agentnb sidebar width";
/** In CSS pixels. */
const WIDTH = 420;
/** The notebook keeps at least this share of their common width. */
const MOST = 0.5;

const followed = new WeakSet<SplitPanel>();

/** Sets the width of the visible sidebar, and remembers the user's changes of it. */
export function fitWidth(sidebar: Widget): void {
  const place = placeOf(sidebar);
  if (!place) return;
  const [split, area] = place;
  if (!followed.has(split)) {
    followed.add(split);
    split.handleMoved.connect(() => {
      if (sidebar.isVisible) localStorage.setItem(KEY, String(Math.round(area.node.offsetWidth)));
    });
  }
  const sizes = widened(
    split.widgets.map((one) => (one.isVisible ? one.node.offsetWidth : 0)),
    split.widgets.indexOf(area),
    Number(localStorage.getItem(KEY)) || undefined,
  );
  if (sizes) split.setRelativeSizes(sizes);
}

/**
 * Returns widths of adjacent widgets, so that one of them is as wide as the user has made it, else wide enough for a
 * table; undefined if it is already, or if there is no space. The widest of the others gives up the difference.
 */
export function widened(widths: readonly number[], at: number, chosen: number | undefined): number[] | undefined {
  const widest = Math.max(...widths.filter((_, index) => index !== at));
  const from = widths.indexOf(widest);
  const own = widths[at] ?? 0;
  const wanted = Math.min(chosen ?? Math.max(own, WIDTH), Math.floor((own + widest) * MOST));
  if (own === 0 || wanted === own || (chosen === undefined && wanted < own)) return undefined;
  return widths.map((width, index) => (index === at ? wanted : index === from ? widest + own - wanted : width));
}

/** Returns the split panel that contains the sidebar's area, and that area. */
function placeOf(sidebar: Widget): [SplitPanel, Widget] | undefined {
  let area: Widget = sidebar;
  while (area.parent && !isSplit(area.parent)) area = area.parent;
  return area.parent && isSplit(area.parent) ? [area.parent, area] : undefined;
}

const isSplit = (widget: Widget): widget is SplitPanel => "setRelativeSizes" in widget;
