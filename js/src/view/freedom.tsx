/** Sets how freely an agent works: Ask, Edit or Auto; *Custom…* opens the detailed settings. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isObject } from "../state/object";
import type { SessionState } from "../state/types.gen";
import { useMemory, usePlace, useView, type View } from "./context";
import { onEscape, useClickOutside, useFocused } from "./controls";
import type { FreedomContext } from "./freedom/panel";
import { Icon, IconButton, Spacer } from "./icons";
import { lookOf } from "./identity";
import { Menu, type MenuItem } from "./menu";
import { OnDemand } from "./on-demand";
import { line, plain } from "./plain";
import { useAnswer } from "./use-work";

const FREEDOMS = ["ask", "edit", "auto"] as const;
export type FreedomName = (typeof FREEDOMS)[number];
const NAMES: Record<FreedomName, string> = { ask: "Ask", edit: "Edit", auto: "Auto" };
const ABOUT: Record<FreedomName, string> = {
  ask: "Reads files, cells and variables. Asks before it edits or runs anything.",
  edit: "Edits files and cells at once; you review and undo. Asks before it runs anything.",
  auto: "Edits at once. Runs at once what is confined or previewed as harmless.",
};

export const isFreedom = (value: unknown): value is FreedomName => FREEDOMS.includes(value as FreedomName);

const NEXT = "freedom";

/** Returns the next conversation's freedom: the one chosen in this view, else the default of the settings. */
export function nextFreedom({ store, memory }: View): FreedomName {
  const chosen = memory.get(NEXT);
  const { freedom } = lookOf(store.root.value);
  return isFreedom(chosen) ? chosen : isFreedom(freedom) ? freedom : "ask";
}

export function Freedom({ session, disabled }: { session: SessionState | undefined; disabled: boolean }) {
  const view = useView();
  const { store, announce } = view;
  const place = usePlace();
  const [next, setNext] = useMemory<FreedomName>(NEXT, nextFreedom(view));
  const [isOpen, setOpen] = useState(false);
  const holder = useRef<HTMLDivElement>(null);
  const values: Record<string, unknown> = session?.config?.values ?? {};
  const [isNear, come] = useState(false); // requests the description of Auto only when the user comes near
  const auto = useAuto(isNear, session && place.session, session?.agentProcess);
  const chosen = session ? values.freedom : next;
  const name = values.permissions === "allow" ? "Full trust" : isFreedom(chosen) ? NAMES[chosen] : "Custom";
  const about = (freedom: FreedomName) => (freedom === "auto" && auto) || ABOUT[freedom];
  const offered = offeredIn(session);
  const due = useRef<FreedomName>(undefined); // chosen before the conversation existed
  const choose = (freedom: FreedomName) => {
    due.current = session ? undefined : freedom;
    if (!session) return setNext(freedom);
    store.dispatch(place.session, { type: "session/configChanged", config: { freedom } });
    announce(`${NAMES[freedom]}. ${about(freedom)}`);
  };
  useEffect(() => {
    if (session && due.current && due.current !== chosen && offered.includes(due.current)) choose(due.current);
    if (session) due.current = undefined;
  }, [session === undefined]);
  const close = () => {
    setOpen(false);
    holder.current?.querySelector("button")?.focus();
  };
  const items: MenuItem[] = FREEDOMS.map((freedom) => ({
    name: NAMES[freedom],
    detail: offered.includes(freedom) ? about(freedom) : "A policy file here allows agents less.",
    faint: !offered.includes(freedom),
    isCurrent: freedom === chosen,
    onSelect: () => choose(freedom),
  }));
  if (session)
    items.push({
      name: "Custom…",
      detail: "Kernel, cell edits, sensitive files, grants",
      onSelect: () => setOpen(true),
    });
  if (session && typeof values.permissions !== "string") return null;
  return (
    <div class="freedom" ref={holder} onPointerEnter={() => come(true)} onFocusIn={() => come(true)}>
      <Menu
        label={`Freedom: ${name}`}
        title={`${name}: ${isFreedom(chosen) ? about(chosen) : describe(name)}`}
        items={items}
        disabled={disabled}
        className={`selector freedom-button is-${name === "Full trust" ? "full" : "plain"}`}
        placement="above"
      >
        {name}
        <Icon name="chevron" className="menu-mark" />
      </Menu>
      {isOpen && session && (
        <Custom onClose={close}>
          <OnDemand name="freedom" what="these settings" context={contextOf(view, place.session)} />
        </Custom>
      )}
    </div>
  );
}

/** Returns the parts of the view that the panel needs. */
function contextOf({ store, announce, memory }: View, channel: string): FreedomContext {
  return {
    session: store.session(channel),
    channel,
    settingsChanged: store.settingsChanged,
    request: (method, params) => store.request(method, params),
    set: (config) => store.dispatch(channel, { type: "session/configChanged", config }),
    announce,
    kept: memory,
  };
}

function describe(name: string): string {
  return name === "Full trust"
    ? "It does everything without asking, except what always asks."
    : "Set by hand: see Custom… in the menu.";
}

/** The panel above the foot; a click outside or Escape closes it. */
function Custom({ onClose, children }: { onClose: () => void; children: ComponentChildren }) {
  const box = useFocused<HTMLElement>();
  useClickOutside(box, true, onClose);
  return (
    <section
      ref={box}
      class="freedom-panel"
      role="dialog"
      aria-label="Custom freedom"
      tabIndex={-1}
      onKeyDown={onEscape(onClose)}
    >
      <div class="row">
        <h3>Custom</h3>
        <Spacer />
        <IconButton name="Close (Escape)" icon="cross" onClick={onClose} />
      </div>
      {children}
    </section>
  );
}

/** Returns the freedoms that the policy allows. */
function offeredIn(session: SessionState | undefined): readonly unknown[] {
  const properties = session?.config?.schema.properties;
  const freedom = isObject(properties) ? properties.freedom : undefined;
  return isObject(freedom) && Array.isArray(freedom.enum) ? freedom.enum : FREEDOMS;
}

/** Returns the kernel's description of Auto, which depends on what can be confined or previewed here. */
function useAuto(isNear: boolean, channel: string | undefined, agent: SessionState["agentProcess"]): string {
  const { store } = useView();
  // Without an answer (an older kernel, or no connection) the general description is shown.
  const { answer } = useAnswer(
    () => (isNear ? store.request("describeFreedom", channel ? { channel } : {}) : undefined),
    [store, isNear, channel, agent?.state, agent?.confined],
  );
  return answer ? line(plain(answer.auto), 300) : "";
}
