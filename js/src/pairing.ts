/** Shows who is connected to this kernel, and can end a pairing; fetched if pairing is on or a client is connected. */
import type { ReadonlySignal } from "@preact/signals";
import { button, element } from "./element";
import type { RootState } from "./state/types.gen";
import { line } from "./view/plain";

export interface PairingContext {
  readonly root: ReadonlySignal<RootState | undefined>;
  pair(on: boolean): void;
}

/** Shows the pairing in `into`; the result removes it. */
export default function mount(into: HTMLElement, { root, pair }: PairingContext): () => void {
  const who = element("div", { role: "status" });
  const end = button("Unpair", () => pair(false), "button small");
  into.append(who, end);
  const unsubscribe = root.subscribe((state) => {
    who.textContent = [hostSentence(state), remoteSentence(state), pairedSentence(state)]
      .filter((each) => each !== "")
      .join(" ");
    end.hidden = state?.config?.values.pairing !== true;
  });
  return () => {
    unsubscribe();
    who.remove();
    end.remove();
  };
}

function pairedSentence(root: RootState | undefined): string {
  if (root?.config?.values.pairing !== true) return "";
  const connected = (root.sessions ?? []).filter(({ resource }) => listed(root, "paired").includes(resource));
  if (connected.length > 0) return `Paired: ${connected.map(({ title }) => line(title, 60)).join(", ")}`;
  return "Paired. An agent in your terminal can connect; its MCP server is the command agentnb mcp.";
}

/** The other host that runs these conversations (`agentnb.connect`), and the state of the connection to it. */
function hostSentence(root: RootState | undefined): string {
  const { name, state, message = "" } = Object(root?.config?.values.remoteHost);
  if (typeof name !== "string") return "";
  const why = ` ${line(String(message), 300)}`;
  if (state === "connected") return `Remote: the conversations of ${line(name, 80)}.`;
  if (state === "ended") return `Remote: not connected to ${line(name, 80)}.${why}`;
  return `Remote: disconnected from ${line(name, 80)}. Anything you miss will appear when it reconnects.${why}`;
}

/** The remote clients (`agentnb.serve`), each with its permissions. */
function remoteSentence(root: RootState | undefined): string {
  const lines = listed(root, "remoteClients").filter((each) => typeof each === "string");
  return lines.length > 0 ? `Connected: ${lines.map((each) => line(each, 60)).join("; ")}.` : "";
}

function listed(root: RootState | undefined, name: "paired" | "remoteClients"): unknown[] {
  const value: unknown = root?.config?.values[name];
  return Array.isArray(value) ? value : [];
}
