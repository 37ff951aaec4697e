/** What the view knows of the host: signals to read and actions to send. The view never imports `comm`. */
import type { ReadonlySignal } from "@preact/signals";
import type { Action, ChatState, RootState, SessionState } from "../state/types.gen";

export type Connection = "connecting" | "live" | "gone";

export interface ViewLink {
  setVisible(visible: boolean): void;
  close(): void;
}

/** What a view can do to the notebook beside it, where there is one that can be reached. */
export interface NotebookActions {
  insertBelow(source: string): void;
  replaceActive(source: string): void;
  run(source: string): void;
}

export interface Store {
  readonly connection: ReadonlySignal<Connection>;
  readonly hostId: ReadonlySignal<string | undefined>;
  readonly root: ReadonlySignal<RootState | undefined>;
  /** The same signal for the same channel, always. */
  session(channel: string): ReadonlySignal<SessionState | undefined>;
  chat(channel: string): ReadonlySignal<ChatState | undefined>;
  /** Applied at once, then sent to the host. */
  dispatch(channel: string, action: Action): void;
  request<T>(method: string, params: unknown): Promise<T>;
  /** Says something that needs no answer. */
  notify?(method: string, params: unknown): void;
  /** What other windows have typed and not sent, by chat. */
  readonly drafts?: ReadonlySignal<Readonly<Record<string, string>>>;
  notebook?: NotebookActions;
  view(viewId: string): ViewLink;
}

/** What one mounted view shows: the whole chat (on one tab), or one turn. */
export type What = { kind: "chat"; tab?: string } | { kind: "turn"; channel: string; turnId: string };
