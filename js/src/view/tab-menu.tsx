/** The menu of the active tab's conversation. */
import { useView } from "./context";
import type { ConversationTask } from "./conversation";
import { showPanel } from "./host-events";
import { Icon } from "./icons";
import { isReadOnly, isRemote, lookOf } from "./identity";
import { Menu, type MenuItem } from "./menu";
import { line, reason } from "./plain";
import type { Store } from "./store";

interface Props {
  /** Undefined if none is shown. */
  session: string | undefined;
  onDo: (doing: ConversationTask) => void;
  onNew: () => void;
  onDuplicate: (resource: string) => void;
  onRestart: (resource: string) => void;
  onRefused: () => void;
  onClose: (resource: string) => void;
  /** Lets an agent in a terminal use this kernel; absent if it already can. */
  onPair: (() => void) | undefined;
  onPhone: () => void;
}

export function TabMenu({ session, onDo, onNew, onDuplicate, onRestart, onRefused, onClose, onPair, onPhone }: Props) {
  const { store, announce, root } = useView();
  const state = session === undefined ? undefined : store.session(session).value;
  const hasChanges = state?.changesets?.some(({ changeKind }) => changeKind === "session");
  const isOurs = !isRemote(store.root.value);
  const values = store.root.value?.config?.values;
  const canFork = isOurs && state?.agentProcess?.fork === true;
  const item = (name: string, detail: string | undefined, onSelect: () => void, isThere = true) =>
    isThere ? [{ name, detail, onSelect }] : [];
  const ofSession = (resource: string): MenuItem[] => [
    ...item("New conversation", undefined, onNew),
    ...item("Find", "Ctrl+F", () => onDo("find")),
    ...item("Changes", undefined, () => onDo("changes"), hasChanges === true),
    ...item("Rename", "F2", () => onDo("rename")),
    ...item("Duplicate", "Continue separately from here", () => onDuplicate(resource), canFork),
    ...item("Copy as Markdown", undefined, () => onDo("copy")),
    ...item("Save as Markdown", undefined, () => onDo("save")),
    ...item("Clear conversation", "History keeps a copy", () => onDo("clear"), isOurs && !isReadOnly(resource)),
    ...item("Restart agent", undefined, () => onRestart(resource), !isReadOnly(resource)),
  ];
  const items: readonly MenuItem[] = [
    ...(session === undefined ? [] : ofSession(session)),
    ...item("Add a picture", "Or paste it, or drop it on the box", () =>
      root.host.dispatchEvent(new CustomEvent("agentnb-picture")),
    ),
    ...item("Try 3 ways", "Each in a copy of the kernel", () => showPanel(root, "try"), isOurs),
    ...item("Tries", undefined, () => showPanel(root, "branches"), isOurs && values?.branches !== undefined),
    ...item("History", "Alt+H", () => showPanel(root, "history"), isOurs),
    ...item("Settings", undefined, () => showPanel(root, "settings"), isOurs),
    ...(isOurs ? notificationItems(store, announce, onRefused) : []),
    ...(onPair ? item("Pair a terminal agent", "With this kernel", onPair) : []),
    ...item("Phone", "Answer from it", onPhone, isOurs),
    ...(session === undefined ? [] : item("Close", "Del", () => onClose(session))),
  ];
  return (
    <Menu label="Conversation" items={items}>
      <Icon name="more" />
    </Menu>
  );
}

/** Returns the switch of the browser's notifications; the browser asks for permission only after a click. */
function notificationItems(store: Store, announce: (sentence: string) => void, onRefused: () => void): MenuItem[] {
  if (!("Notification" in globalThis)) return [];
  const { permission } = Notification;
  const isOn = lookOf(store.root.value).notifications === true && permission === "granted";
  const set = (value: boolean) =>
    store
      .request("changeSetting", { name: "notifications", value })
      .catch((error: unknown) => announce(line(reason(error), 200)));
  const toggle = async () => {
    if (isOn) set(false);
    else if ((await Notification.requestPermission()) === "granted") set(true);
    else onRefused();
  };
  const detail = permission === "denied" ? "Blocked in the browser's settings" : isOn ? "On" : "Off";
  return [{ name: "Notifications", detail, onSelect: () => void toggle() }];
}
