/** The view's access to the host: signals to read and actions to send. The view never imports `comm`. */

import type { ReadonlySignal } from "@preact/signals";
import type { Request } from "../state/answers";
import type {
  Action,
  ActiveTurn,
  ChangesetState,
  ChatState,
  MessageAttachment,
  RootState,
  SessionState,
  ToolCallCell,
  Turn,
} from "../state/types.gen";
import type { CellPlace } from "./change-set";

/** A turn, running or finished. */
export type AnyTurn = Turn | ActiveTurn;

/**
 * The page's connection to the kernel. `behind`: more messages are coming; `gap`: content is missing, as `gaps`
 * describes; `busy`: a cell runs and the kernel does not answer; `restarting`: the kernel restarts; `silent`: the
 * kernel does not answer, for an unknown reason; `cut`: no connection to the server; `restarted`: another kernel has
 * replaced ours; `gone`: our kernel has ended, or the widget was closed.
 */
export type Connection =
  | "connecting"
  | "live"
  | "behind"
  | "gap"
  | "busy"
  | "restarting"
  | "silent"
  | "cut"
  | "restarted"
  | "gone";

/** True if nothing can arrive or be sent any more. */
export function isOver(connection: Connection): boolean {
  return connection === "gone" || connection === "restarted";
}

/** `turns` come right before the chat's own; `left` more come before them and are not fetched yet. */
export interface Older {
  readonly left: number;
  readonly turns: readonly Turn[];
}

/** Accompanies a field that was cut: `text` and `textRef`. */
export interface ContentRef {
  readonly uri: string;
  readonly size: number;
}

/** The states of a change: before the turn, after the turn, and now. */
export type Side = "before" | "after" | "now";

export interface ChangeText {
  /** Empty if it does not exist, is not text, or is too large. */
  readonly text: string;
  /** In bytes. */
  readonly size: number;
  readonly isCut: boolean;
  readonly isBinary: boolean;
}

/** An action of the user that the kernel rejected. */
export interface Refusal {
  readonly id: number;
  readonly channel: string;
  readonly action: Action;
  readonly reason: string;
}

export interface ViewLink {
  setVisible(visible: boolean): void;
  close(): void;
}

/** The turn that code comes from. */
export interface Origin {
  readonly channel: string;
  readonly turnId: string;
}

/** The actions that a view can request from its notebook, if the front end can edit notebooks. */
export interface NotebookActions {
  /** Adds a code cell under the active one; `from`: the turn whose answer the code is. */
  insertBelow(source: string, from?: Origin): void;
  replaceActive(source: string, from?: Origin): void;
  /** Adds a code cell under the active one and runs it. */
  run(source: string, from?: Origin): void;
  /** Runs the code cells with these ids, in this order; skips removed ones. */
  runCells?(ids: readonly string[]): void;
  /** Returns true if the code cell with this id has run in its current form, or is running. */
  hasRun?(id: string): boolean;
  /** The comments on cells to send with the next message. */
  comments?: CellComments;
  /** Shows changes side by side; absent if there is no room for it. */
  compare?(review: Review): void;
  /**
   * Shows, in the cells, the changes that agents ask permission for now. Gets all of them each time one comes or goes.
   */
  propose?(proposals: readonly CellProposal[]): void;
  /** Goes to one of these proposals, by its id. */
  showProposal?(id: string): void;
  /** Shows, in the cells, the changes made without a question that are neither kept nor undone. Gets all of them. */
  applied?(changes: readonly CellChange[]): void;
  /**
   * Sets the number of unseen things in its conversations that need the user's attention, and how many of them are
   * questions.
   */
  attention?(count: number, questions: number): void;
  /** Brings the notebook and its chat to the front and shows this conversation. */
  showConversation?(resource: string): void;
  /** Shows the settings also in JupyterLab's own editor, as long as this chat's kernel exists. */
  settings?(access: SettingsAccess): void;
  /** Shows, below a turn with changes, whether the notebook still runs from the top. */
  verification?(into: HTMLElement, turnId: string): void;
  /** Draws a Mermaid diagram; returns the address of an image. Absent if the front end can't. */
  drawDiagram?(source: string): Promise<string>;
  /** Reports that the kernel has not answered for `beats` × 3 s. `connection` returns the current state. */
  unanswered?(beats: number, connection: () => Connection): void;
  /** Scrolls to the cell with this id and marks it until another one is shown. */
  showCell?(id: string): void;
  /**
   * Opens a file of a workspace (a `file:` address) in an editor, at a line. A path that begins with `/` is absolute.
   */
  openFile?(path: string, workspace: string | undefined, line?: number, there?: () => Promise<FileState>): void;
}

/** A file's size and time on the kernel's machine, to tell it from a file of that name on the server. */
export interface FileState {
  readonly size: number;
  /** In milliseconds since 1970. */
  readonly modified: number;
}

export interface CellComments {
  /** Shows them in an element of the message box while there are any; returns a function that ends that. */
  show(into: HTMLElement): () => void;
  /** Takes them out, for a message. */
  take(): readonly MessageAttachment[];
  /** Restores them, since that message was not sent. */
  giveBack(): void;
}

/** The kernel access that JupyterLab's Settings editor and the help in cells need. */
export interface SettingsAccess {
  readonly request: Request;
  /** Calls `listener` whenever settings change, in any window or file. */
  onChange(listener: () => void): void;
  /** Tells the kernel that a user follows the conversations, even with the chat closed; absent in older kernels. */
  view?(id: string): ViewLink;
  /** Aborted when the kernel is gone. */
  readonly signal: AbortSignal;
}

/**
 * A cell change that an agent asks permission for.
 *
 * `action`: `insert`, `replace`, `delete`, `move`, `split`, `merge`, `type`, `tags`, or `change` for anything else;
 * `cellId`: for `insert` that of the cell above, if any; `oldText` and `newText`: absent if unknown, or too long to
 * compare; `moreText`: for `split` the text of the new cell below; `others`: for `merge` the cells that would be
 * removed; `below`: for `move` the cell that would be above it, absent at the top.
 */
export interface CellProposal extends ToolCallCell {
  /** The unique id of the question. */
  readonly id: string;
  /** An agent's text, made safe to show. */
  readonly title: string;
  /** Absent if the question has no such answer. */
  readonly accept?: (() => void) | undefined;
  readonly reject?: (() => void) | undefined;
  /** Called with the place where the notebook shows it; undefined if it does not. */
  placed?(place: ProposalPlace | undefined): void;
}

/** The place where a notebook shows a proposal, and why it cannot be accepted there now. */
export interface ProposalPlace {
  /** "in [3]"; "" if its cell is gone. */
  readonly where: string;
  /** "" if it can be accepted. */
  readonly obstacle: string;
}

/** A cell change made by a turn, which the user can keep or undo. */
export interface CellChange {
  /** An id that is unique for the change in its current state. */
  readonly id: string;
  readonly cellId: string;
  /** The notebook's path on the Jupyter server, if two notebooks have a cell with this id. */
  readonly notebook: string | undefined;
  readonly status: "added" | "changed" | "deleted";
  /** The sentence shown in the cell, if the agent did not make the change. */
  readonly sentence?: string;
  /** Other remarks, in a few words each. */
  readonly about: string;
  readonly isUndoable: boolean;
  /** The former place of a deleted cell; absent if unknown. */
  readonly place: CellPlace | undefined;
  /** Returns the cell's former text; "" if it had none, undefined if it is too long to compare. */
  before(): Promise<string | undefined>;
  /** Keeps it; returns why that failed, or "". */
  keep(): Promise<string>;
  undo(): Promise<string>;
}

/** A set of changes to review side by side. */
export interface Review {
  /** Its unique key: a review with the same key is shown in the same place. */
  readonly key: string;
  readonly title: string;
  readonly changes: readonly Comparison[];
  /** The id of the first change to show. */
  readonly first: string;
  /**
   * Reports the states of the changes, at once and after each change of them, until the returned function is called.
   * Absent in kernels with an older agentnb.
   */
  follow?(listener: (standing: (id: string) => Standing) => void): () => void;
}

/** The lines of a change, from 0 up to the one after the last: in the text before and in the text after. */
export interface Hunk {
  readonly before: readonly [start: number, end: number];
  readonly after: readonly [start: number, end: number];
}

/** The state of one change of a review, and the actions possible now. */
export interface Standing {
  /** The state in a few words; "" if there is nothing to report. */
  readonly said: string;
  readonly isBusy: boolean;
  readonly actions: readonly { readonly word: string; readonly run: () => void }[];
  /** Differs whenever its texts differ. */
  readonly version: string;
  /** Keeps or undoes a part; absent if the change is decided as a whole. */
  readonly decide?: ((how: "keep" | "undo", hunk: Hunk) => void) | undefined;
}

/** One change of a review; its name is an agent's text, made safe to show. */
export interface Comparison {
  readonly id: string;
  readonly name: string;
  /** Absent if there is no file to open. */
  readonly open?: () => void;
  /** Rejects with the reason if the texts cannot be shown. */
  load(): Promise<{ readonly before: string; readonly after: string }>;
}

export interface Store {
  /** This page's id in the kernel. */
  readonly clientId: string;
  readonly connection: ReadonlySignal<Connection>;
  readonly hostId: ReadonlySignal<string | undefined>;
  /** In milliseconds: how far the kernel's clock is ahead of this page's; negative if it is behind. */
  readonly ahead: ReadonlySignal<number>;
  /** Once this one is over: shows the user the widget that replaces it in the same notebook. */
  readonly successor: ReadonlySignal<(() => void) | undefined>;
  /** Why page and kernel cannot communicate, and what to do. */
  readonly refusal: ReadonlySignal<string | undefined>;
  /** Rejected actions that the user has not dismissed, oldest first. */
  readonly refusals: ReadonlySignal<readonly Refusal[]>;
  dismiss(id: number): void;
  /** Missing content and the reason, by channel; under "" if it may concern any channel. */
  readonly gaps: ReadonlySignal<Readonly<Record<string, string>>>;
  /** The user has seen the notice of missing content there. */
  acceptGap(channel: string): void;
  readonly root: ReadonlySignal<RootState | undefined>;
  /**
   * True if the kernel has not yet confirmed all of the user's actions; not a signal: for use once nothing arrives any
   * more.
   */
  readonly isUnsaid: boolean;
  /** Always returns the same signal for the same channel. */
  session(channel: string): ReadonlySignal<SessionState | undefined>;
  chat(channel: string): ReadonlySignal<ChatState | undefined>;
  changeset(channel: string): ReadonlySignal<ChangesetState | undefined>;
  /** Returns one side of the change `id` of a change set. */
  change(changeset: string, id: string, side: Side): Promise<ChangeText>;
  /** The fetched turns of a chat from before those in its state. */
  older(channel: string): ReadonlySignal<Older>;
  fetchOlder(channel: string, limit: number): Promise<void>;
  /** Returns large content that a chat only refers to, whole. */
  content(channel: string, ref: ContentRef): Promise<string>;
  /** Returns a file of the workspace, whole, as untyped bytes: no page opens it. */
  file(channel: string, path: string): Promise<Blob>;
  /** Fetches a part of the front end when needed; bound to the store, and absent if there is none. */
  readonly module?: (name: string) => Promise<{ default: unknown }>;
  /** Applied at once, then sent to the host. */
  dispatch(channel: string, action: Action): void;
  request: Request;
  /** Sends a message that needs no answer. */
  notify?(method: string, params: unknown): void;
  /** A new value each time sessions in the log change. */
  readonly sessionsChanged?: ReadonlySignal<unknown>;
  /** A new value each time settings change, once `watchSettings` was requested. */
  readonly settingsChanged?: ReadonlySignal<unknown>;
  /** Other windows' unsent drafts, by chat. */
  readonly drafts?: ReadonlySignal<Readonly<Record<string, string>>>;
  view(viewId: string, element?: Element): ViewLink;
  /** Absent if there is no notebook to edit. */
  readonly notebook?: NotebookActions | undefined;
}

/** Makes one value for each store, on first use. */
export function perStore<T>(make: (store: Store) => T): (store: Store) => T {
  const all = new WeakMap<Store, T>();
  return (store) => {
    const one = all.get(store) ?? make(store);
    all.set(store, one);
    return one;
  };
}

/** The content of a mounted view: the whole chat (on one tab), one turn, or tries side by side. */
export type What =
  | { kind: "chat"; tab?: string }
  | { kind: "turn"; channel: string; turnId: string }
  | { kind: "branches"; id: string };

/** Returns the text and id of the message that an action sends; undefined if it sends none. */
export function messageOf(action: Action): { id: string; text: string } | undefined {
  if (action.type === "chat/turnStarted") return { id: action.turnId, text: action.message.text };
  if (action.type === "chat/pendingMessageSet") return { id: action.id, text: action.message.text };
  return undefined;
}
