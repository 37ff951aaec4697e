/** What can be done with the conversation of the active tab. */
import { isObject } from "../state/guard";
import { useView } from "./context";
import type { ConversationTask } from "./conversation";
import { Icon } from "./icons";
import { isInTerminal, isRemote } from "./identity";
import { Menu, type MenuItem } from "./menu";
import { line, reason } from "./plain";

interface Props {
  session: string;
  onDo: (doing: ConversationTask) => void;
  onHistory: () => void;
  onSettings: () => void;
  onDuplicate: (resource: string) => void;
  onRestart: (resource: string) => void;
  onRefused: () => void;
  onClose: (resource: string) => void;
}

export function TabMenu({ session, onDo, onHistory, onSettings, onDuplicate, onRestart, onRefused, onClose }: Props) {
  const { store } = useView();
  const state = store.session(session).value;
  const canFork = !isRemote(store.root.value) && state?.agentProcess?.fork === true;
  const hasChanges = state?.changesets?.some(({ changeKind }) => changeKind === "session");
  const changes: MenuItem = { name: "Changes", detail: "Of the conversation", onSelect: () => onDo("changes") };
  const duplicate: MenuItem = {
    name: "Duplicate",
    detail: "Continue separately from here",
    onSelect: () => onDuplicate(session),
  };
  const own: readonly MenuItem[] = [
    { name: "History", detail: "All conversations (Alt+H)", onSelect: onHistory },
    { name: "Settings", detail: "Agents, permissions, look", onSelect: onSettings },
    ...useNotifications(onRefused),
  ];
  const items: readonly MenuItem[] = [
    { name: "Find", detail: "Ctrl+F", onSelect: () => onDo("find") },
    ...(hasChanges ? [changes] : []),
    { name: "Rename", detail: "F2 on the tab", onSelect: () => onDo("rename") },
    ...(canFork ? [duplicate] : []),
    { name: "Copy as Markdown", onSelect: () => onDo("copy") },
    { name: "Save as Markdown", onSelect: () => onDo("save") },
    ...(isRemote(store.root.value) ? [] : own),
    ...(isInTerminal(session) ? [] : [{ name: "Restart agent", onSelect: () => onRestart(session) }]),
    { name: "Close", detail: "Delete on the tab", onSelect: () => onClose(session) },
  ];
  return (
    <Menu label="Conversation" items={items}>
      <Icon name="more" />
    </Menu>
  );
}

/** The switch of the browser's notifications; that the browser asks, too, takes a click. */
function useNotifications(onRefused: () => void): MenuItem[] {
  const { store, announce } = useView();
  const { look } = store.root.value?.config?.values ?? {};
  if (!("Notification" in globalThis)) return [];
  const { permission } = Notification;
  const isOn = isObject(look) && look.notifications === true && permission === "granted";
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
