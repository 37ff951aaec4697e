/** Says who is connected to a paired kernel, and ends it; fetched while a kernel is paired. */
import type { ReadonlySignal } from "@preact/signals";
import type { RootState } from "./state/types.gen";
import { line } from "./view/plain";

/** What it needs of the chat. */
export interface PairingContext {
  readonly root: ReadonlySignal<RootState | undefined>;
  pair(on: boolean): void;
}

/** Shows it in `into`; the result takes it away again. */
export default function mount(into: HTMLElement, { root, pair }: PairingContext): () => void {
  const { ownerDocument } = into;
  const who = ownerDocument.createElement("div");
  who.setAttribute("role", "status");
  const end = ownerDocument.createElement("button");
  end.type = "button";
  end.className = "button small";
  end.textContent = "Unpair";
  end.addEventListener("click", () => pair(false));
  into.append(who, end);
  const unsubscribe = root.subscribe((state) => {
    who.textContent = sentence(state);
  });
  return () => {
    unsubscribe();
    who.remove();
    end.remove();
  };
}

function sentence(root: RootState | undefined): string {
  const paired: unknown = root?.config?.values.paired;
  const uris: unknown[] = Array.isArray(paired) ? paired : [];
  const connected = (root?.sessions ?? []).filter(({ resource }) => uris.includes(resource));
  if (connected.length > 0) return `Paired: ${connected.map(({ title }) => line(title, 60)).join(", ")}`;
  return "Paired. An agent in your terminal can connect; its MCP server is the command agentnb mcp.";
}
