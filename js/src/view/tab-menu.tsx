/** What can be done with the conversation of the active tab. */
import { useView } from "./context";
import type { ConversationTask } from "./conversation";
import { Icon } from "./icons";
import { Menu, type MenuItem } from "./menu";

interface Props {
  session: string;
  onDo: (doing: ConversationTask) => void;
  onHistory: () => void;
  onDuplicate: (resource: string) => void;
  onRestart: (resource: string) => void;
  onClose: (resource: string) => void;
}

export function TabMenu({ session, onDo, onHistory, onDuplicate, onRestart, onClose }: Props) {
  const { store } = useView();
  const state = store.session(session).value;
  const canFork = state?.agentProcess?.fork === true;
  const hasChanges = state?.changesets?.some(({ changeKind }) => changeKind === "session");
  const changes: MenuItem = { name: "Changes", detail: "Of the conversation", onSelect: () => onDo("changes") };
  const duplicate: MenuItem = {
    name: "Duplicate",
    detail: "Continue separately from here",
    onSelect: () => onDuplicate(session),
  };
  const items: readonly MenuItem[] = [
    { name: "Find", detail: "Ctrl+F", onSelect: () => onDo("find") },
    ...(hasChanges ? [changes] : []),
    { name: "Rename", detail: "F2 on the tab", onSelect: () => onDo("rename") },
    ...(canFork ? [duplicate] : []),
    { name: "Copy as Markdown", onSelect: () => onDo("copy") },
    { name: "Save as Markdown", onSelect: () => onDo("save") },
    { name: "History", detail: "All conversations (Alt+H)", onSelect: onHistory },
    { name: "Restart agent", onSelect: () => onRestart(session) },
    { name: "Close", detail: "Delete on the tab", onSelect: () => onClose(session) },
  ];
  return (
    <Menu label="Conversation" items={items}>
      <Icon name="more" />
    </Menu>
  );
}
