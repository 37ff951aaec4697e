/** What can be done with the conversation of the active tab. */
import { useView } from "./context";
import type { Doing } from "./conversation";
import { Icon } from "./icons";
import { Menu, type MenuItem } from "./menu";

interface Props {
  session: string;
  onDo: (doing: Doing) => void;
  onFork: (resource: string) => void;
  onRestart: (resource: string) => void;
  onClose: (resource: string) => void;
}

export function TabMenu({ session, onDo, onFork, onRestart, onClose }: Props) {
  const { store } = useView();
  const canFork = store.session(session).value?.agentProcess?.fork === true;
  const fork: MenuItem = { name: "Fork", detail: "A copy that goes its own way", onSelect: () => onFork(session) };
  const items: readonly MenuItem[] = [
    { name: "Find", detail: "Ctrl+F", onSelect: () => onDo("find") },
    { name: "Rename", detail: "F2 on the tab", onSelect: () => onDo("rename") },
    ...(canFork ? [fork] : []),
    { name: "Copy as Markdown", onSelect: () => onDo("copy") },
    { name: "Save as Markdown", onSelect: () => onDo("save") },
    { name: "Restart the agent", detail: "Stops the running turn", onSelect: () => onRestart(session) },
    { name: "Close", detail: "Delete on the tab", onSelect: () => onClose(session) },
  ];
  return (
    <Menu label="Conversation" items={items}>
      <Icon name="more" />
    </Menu>
  );
}
