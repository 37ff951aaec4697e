/** What can be done with the conversation of the active tab. */
import { useView } from "./context";
import type { ConversationTask } from "./conversation";
import { Icon } from "./icons";
import { Menu, type MenuItem } from "./menu";

interface Props {
  session: string;
  onDo: (doing: ConversationTask) => void;
  onDuplicate: (resource: string) => void;
  onRestart: (resource: string) => void;
  onClose: (resource: string) => void;
}

export function TabMenu({ session, onDo, onDuplicate, onRestart, onClose }: Props) {
  const { store } = useView();
  const canFork = store.session(session).value?.agentProcess?.fork === true;
  const duplicate: MenuItem = {
    name: "Duplicate",
    detail: "Continue separately from here",
    onSelect: () => onDuplicate(session),
  };
  const items: readonly MenuItem[] = [
    { name: "Find", detail: "Ctrl+F", onSelect: () => onDo("find") },
    { name: "Rename", detail: "F2 on the tab", onSelect: () => onDo("rename") },
    ...(canFork ? [duplicate] : []),
    { name: "Copy as Markdown", onSelect: () => onDo("copy") },
    { name: "Save as Markdown", onSelect: () => onDo("save") },
    { name: "Restart agent", onSelect: () => onRestart(session) },
    { name: "Close", detail: "Delete on the tab", onSelect: () => onClose(session) },
  ];
  return (
    <Menu label="Conversation" items={items}>
      <Icon name="more" />
    </Menu>
  );
}
