/** A button that opens a short list of things to do. */

import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { targetOf } from "./keyboard";
import { useArmed } from "./use-work";

export interface MenuItem {
  /** What tells it from others of the same name. */
  key?: string;
  name: ComponentChildren;
  detail?: string | undefined;
  icon?: ComponentChildren;
  /** Shown faintly: it cannot be used as things are. */
  faint?: boolean;
  /** The one that is shown now. */
  isCurrent?: boolean;
  onSelect: () => void;
}

/** Details of fewer letters are keys, or On and Off. */
const LONGEST_KEY = 8;

interface Props {
  /** What the button is called. */
  label: string;
  /** What the pointer reads on it; its label by default. */
  title?: string;
  items: readonly MenuItem[];
  disabled?: boolean;
  /** The button's class; an icon's by default. */
  className?: string;
  /**
   * Where the list is, by default over what is below the button. `in-flow`: it takes its room below, where a floating one
   * would be cut off. `above` (below where there is no room): over what is above the row of buttons, which all stay in place and free; the last
   * entry, which is the nearest to them, has the focus first.
   */
  placement?: "in-flow" | "above";
  /** Whether choosing does nothing yet. */
  inert?: boolean;
  /** Whether choosing does nothing for the first half second. */
  settles?: boolean;
  /** Of the button: -1 where the arrow keys go to it. */
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
    // Not when the focus leaves: what is pressed would move before the button is released, and the click be lost.
    const onClick = (event: Event) => {
      if (!event.composedPath().includes(holder.current as EventTarget)) setOpen(false);
    };
    window.addEventListener("click", onClick, true);
    return () => window.removeEventListener("click", onClick, true);
  }, [open, isBelow]);

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
