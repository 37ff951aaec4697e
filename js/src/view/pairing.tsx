/** Agents in a terminal that use this kernel: the switch, who is connected, and their conversations without a box. */
import type { ChatState, SessionState } from "../state/types.gen";
import { useView } from "./context";
import { Spacer } from "./icons";
import { ROOT } from "./identity";
import type { MenuItem } from "./menu";
import { line } from "./plain";
import { StopButton } from "./prompt";
import type { Store } from "./store";

/** Whether the session `resource`, or the agent of that name, is a program in a terminal. */
export function isTerminal(resource: string): boolean {
  return resource.startsWith("terminal-");
}

function pair(store: Store, pairing: boolean): void {
  store.dispatch(ROOT, { type: "root/configChanged", config: { pairing } });
}

/** The entry of the ＋ menu; none where the kernel knows no pairing, or is paired. */
export function usePairingItems(): readonly MenuItem[] {
  const { store } = useView();
  if (store.root.value?.config?.values.pairing !== false) return [];
  const detail = "Use Claude Code, Codex, … on this kernel";
  return [{ key: " pair", name: "Pair a terminal agent", detail, onSelect: () => pair(store, true) }];
}

/** Says while the kernel is paired who is connected, and ends it. */
export function Paired() {
  const { store } = useView();
  const { config, sessions = [] } = store.root.value ?? {};
  const { pairing, paired } = config?.values ?? {};
  if (pairing !== true) return null;
  const names = sessions.filter(({ resource }) => Array.isArray(paired) && paired.includes(resource));
  return (
    <div class="banner plain-banner">
      <span>
        Paired:{" "}
        {names.map(({ title }) => line(title, 60)).join(", ") || "add the MCP server `agentnb mcp` to your agent"}
      </span>
      <Spacer />
      <button type="button" class="button small" onClick={() => pair(store, false)}>
        Unpair
      </button>
    </div>
  );
}

/** What stands in the place of the message box. */
export function InTerminal({ session, chat }: { session: SessionState; chat: ChatState }) {
  return (
    <div class="note stopped">
      <span>
        {line(session.agentProcess?.message || "Type in the terminal. What the agent does is shown here.", 200)}
      </span>
      {chat.activeTurn && <StopButton turnId={chat.activeTurn.id} labelled />}
    </div>
  );
}
