/** A button that opens a short list of things to do. */

import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { table } from "../state/object";
import { useArmed } from "./armed";

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

interface Props {
  /** What the button is called. */
  label: string;
  items: readonly MenuItem[];
  disabled?: boolean;
  /** The button's class; an icon's by default. */
  className?: string;
  /** Whether the list takes its room below the button, where a floating one would be cut off. */
  inFlow?: boolean;
  /** Whether choosing does nothing yet. */
  inert?: boolean;
  /** Whether choosing does nothing for the first half second: the list may come up under the pointer. */
  settles?: boolean;
  /** Of the button: -1 where the arrow keys go to it. */
  tabIndex?: number;
  children: ComponentChildren;
}

const STEP: Record<string, number> = table({ ArrowDown: 1, ArrowUp: -1 });

export function Menu({
  label,
  items,
  disabled = false,
  className = "icon-button",
  inFlow,
  inert: inertNow,
  settles,
  tabIndex,
  children,
}: Props) {
  const [open, setOpen] = useState(false);
  const [openings, setOpenings] = useState(0);
  const isSettled = useArmed(String(openings));
  const inert = inertNow || (settles && !isSettled);
  const holder = useRef<HTMLDivElement>(null);
  const entries = () => [...(holder.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  useLayoutEffect(() => {
    if (!open) return;
    const all = entries();
    (all.find((one) => one.ariaCurrent === "true") ?? all[0])?.focus();
  }, [open]);

  const close = () => {
    setOpen(false);
    holder.current?.querySelector("button")?.focus();
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    if (!open) return;
    const all = entries();
    const focused = (holder.current?.getRootNode() as ShadowRoot | undefined)?.activeElement;
    const at = all.indexOf(focused as HTMLElement);
    const step = STEP[event.key];
    const end = event.key === "Home" ? 0 : event.key === "End" ? all.length - 1 : undefined;
    const to = step === undefined ? end : (at + step + all.length) % all.length;
    if (event.key === "Escape") close();
    else if (to !== undefined) all[to]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const onFocusOut = (event: FocusEvent) => {
    if (!holder.current?.contains(event.relatedTarget as Node | null)) setOpen(false);
  };
  const choose = (item: MenuItem) => {
    if (inert) return;
    close();
    item.onSelect();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only hears what its buttons are told
    <div class={`menu-holder${inFlow ? " in-flow" : ""}`} ref={holder} onKeyDown={onKeyDown} onFocusOut={onFocusOut}>
      <button
        type="button"
        class={className}
        tabIndex={tabIndex}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open}
        disabled={disabled}
        onClick={() => {
          setOpen(!open);
          setOpenings(openings + 1);
        }}
      >
        {children}
      </button>
      {open && (
        <div class="menu" role="menu" aria-label={label}>
          {items.map((item) => (
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
              <span>
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
