/** A button that opens a short menu. */

import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useClickOutside } from "./controls";
import { targetOf } from "./keyboard";
import { useArmed } from "./use-work";

export interface MenuItem {
  /** A unique key, if another item has the same name. */
  key?: string;
  name: ComponentChildren;
  detail?: string | undefined;
  icon?: ComponentChildren;
  /** True if it is shown faintly, since it cannot be used now. */
  faint?: boolean;
  isCurrent?: boolean;
  onSelect: () => void;
}

/** Details of fewer characters are keys, or On and Off. */
const LONGEST_KEY = 8;

interface Props {
  label: string;
  /** The button's tooltip; its label by default. */
  title?: string;
  items: readonly MenuItem[];
  disabled?: boolean;
  /** The button's class; an icon's by default. */
  className?: string;
  /**
   * The list's position; by default it covers the content below the button. `in-flow`: it takes its own room below,
   * where a floating list would be cut off. `above` (below if there is no room): it covers the content above the row of
   * buttons, which stay free; the last entry, the nearest to them, gets the focus first.
   */
  placement?: "in-flow" | "above";
  /** True if choosing does nothing yet. */
  inert?: boolean;
  /** True if choosing does nothing for the first half second. */
  settles?: boolean;
  /** The button's `tabIndex`: -1 if the arrow keys reach it. */
  tabIndex?: number;
  children: ComponentChildren;
}

export function Menu({
  label,
  title = label,
  items,
  disabled = false,
  className = "icon-button",
  placement,
  inert: inertNow,
  settles,
  tabIndex,
  children,
}: Props) {
  const [open, setOpen] = useState(false);
  const [openings, setOpenings] = useState(0);
  const [isBelow, setBelow] = useState(false);
  const isSettled = useArmed(String(openings));
  const inert = inertNow || (settles && !isSettled);
  const holder = useRef<HTMLDivElement>(null);
  const entries = () => [...(holder.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  useLayoutEffect(() => {
    if (!open) return;
    const list = holder.current?.querySelector(".above > .menu");
    const top = holder.current?.closest(".transcript, .root")?.getBoundingClientRect().top ?? 0;
    if (list && !isBelow) setBelow(list.getBoundingClientRect().top < Math.max(0, top));
    const all = entries();
    (all.find((one) => one.ariaCurrent === "true") ?? all.at(placement === "above" && !isBelow ? -1 : 0))?.focus();
  }, [open, isBelow]);
  // Not on focusout: the pressed button would move before its release, and the click would be lost.
  useClickOutside(holder, open, () => setOpen(false));

  const close = () => {
    setOpen(false);
    holder.current?.querySelector("button")?.focus();
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    if (!open) return;
    const all = entries();
    const focused = (holder.current?.getRootNode() as ShadowRoot | undefined)?.activeElement;
    const to = targetOf(event.key, ["ArrowUp", "ArrowDown"], all.indexOf(focused as HTMLElement), all.length);
    if (event.key === "Tab") return setOpen(false);
    if (event.key === "Escape") close();
    else if (to !== undefined) all[to]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const choose = (item: MenuItem) => {
    if (inert) return;
    close();
    item.onSelect();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only hears what its buttons are told
    <div class={`menu-holder ${placement ?? ""}`} ref={holder} onKeyDown={onKeyDown}>
      <button
        type="button"
        class={className}
        tabIndex={tabIndex}
        aria-label={label}
        title={title}
        aria-haspopup="menu"
        aria-expanded={open}
        disabled={disabled}
        onClick={() => {
          setBelow(false);
          setOpen(!open);
          setOpenings(openings + 1);
        }}
      >
        {children}
      </button>
      {open && (
        <div class={`menu${isBelow ? " below" : ""}`} role="menu" aria-label={label}>
          {(isBelow ? items.toReversed() : items).map((item) => (
            <button
              type="button"
              role="menuitem"
              tabIndex={-1}
              key={item.key ?? item.name}
              class="menu-item"
              aria-current={item.isCurrent}
              aria-disabled={inert}
              onClick={() => choose(item)}
            >
              {item.icon}
              <span class={(item.detail?.length ?? LONGEST_KEY) < LONGEST_KEY ? "has-key" : ""}>
                <span class={`menu-name${item.faint ? " dim" : ""}`}>{item.name}</span>
                {item.detail && <span class="dim small">{item.detail}</span>}
              </span>
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
