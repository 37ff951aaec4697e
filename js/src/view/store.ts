/** What the view knows of the host: signals to read and actions to send. The view never imports `comm`. */

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
  Turn,
} from "../state/types.gen";
import type { CellPlace } from "./change-set";

/** A turn, running or finished. */
export type AnyTurn = Turn | ActiveTurn;

/**
 * The page's connection to the kernel. `behind`: more messages are on their way; `gap`: something is missing, and `gaps`
 * says what; `busy`: a cell runs and the kernel does not answer; `restarting`: the kernel restarts; `silent`: the kernel
 * does not answer, for an unknown reason; `cut`: no connection to the server; `restarted`: another kernel runs in the
 * place of ours; `gone`: our kernel has ended, or the widget was closed.
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

/** Nothing comes any more, and nothing can be sent. */
export function isOver(connection: Connection): boolean {
  return connection === "gone" || connection === "restarted";
}

/** `turns` come right before the chat's own; `left` more come before them and are not here yet. */
export interface Older {
  readonly left: number;
  readonly turns: readonly Turn[];
}

/** Stands beside a field that was cut: `text` and `textRef`. */
export interface ContentRef {
  readonly uri: string;
  readonly size: number;
}

/** Of a change: as it was, as the turn left it, and as it is. */
export type Side = "before" | "after" | "now";

/** One side of a change. */
export interface ChangeText {
  /** Empty where it is not there, is no text, or is too large. */
  readonly text: string;
  /** In bytes. */
  readonly size: number;
  readonly isCut: boolean;
  readonly isBinary: boolean;
}

/** One of the reader's actions that the kernel did not accept. */
export interface Refusal {
  readonly id: number;
  readonly channel: string;
  readonly action: Action;
  /** Why, in the kernel's words. */
  readonly reason: string;
}

export interface ViewLink {
  setVisible(visible: boolean): void;
  close(): void;
}

/** The turn of a conversation that code is from. */
export interface Origin {
  readonly channel: string;
  readonly turnId: string;
}

/** What a view can ask of the notebook that it belongs to, where the front end can edit notebooks. */
export interface NotebookActions {
  /** Adds a code cell under the active one; `from`: the turn whose answer the code is. */
  insertBelow(source: string, from?: Origin): void;
  /** Puts `source` in the place of the active cell's own. */
  replaceActive(source: string, from?: Origin): void;
  /** Adds a code cell under the active one and runs it. */
  run(source: string, from?: Origin): void;
  /** Runs the code cells with these ids, in this order; one that is gone is left out. */
  runCells?(ids: readonly string[]): void;
  /** Whether the code cell with this id has run as it reads now, or is running. */
  hasRun?(id: string): boolean;
  /** The comments on cells that go with the next message. */
  comments?: CellComments;
  /** Shows changes side by side; absent where there is no room for it. */
  compare?(review: Review): void;
  /** Shows, in its cells, the changes that agents ask leave for now: all of them, each time that one comes or goes. */
  propose?(proposals: readonly CellProposal[]): void;
  /** Goes to one of those, by its id. */
  showProposal?(id: string): void;
  /** Shows, in its cells, the changes that were made without a question and are neither kept nor undone: all of them. */
  applied?(changes: readonly CellChange[]): void;
  /** How many things of its conversations the user should look at, and does not see now; how many of them are questions. */
  attention?(count: number, questions: number): void;
  /** Brings the notebook and its chat to the front, with this conversation. */
  showConversation?(resource: string): void;
  /** Shows the settings in JupyterLab's own editor, too, for as long as the kernel of this chat is there. */
  settings?(access: SettingsAccess): void;
  /** Shows, in an element below a turn that changed something, whether the notebook still runs from the top. */
  verification?(into: HTMLElement, turnId: string): void;
  /** Draws a Mermaid diagram: the address of an image. Absent where the front end can't. */
  drawDiagram?(source: string): Promise<string>;
  /** The kernel has not answered for so many beats of 3 s. `connection` says how it stands. */
  unanswered?(beats: number, connection: () => Connection): void;
  /** Scrolls to the cell with this id and marks it, until another is shown. */
  showCell?(id: string): void;
  /** Opens a file of a workspace (a `file:` address) in an editor, at a line. A path that begins with `/` is a whole one. */
  openFile?(path: string, workspace: string | undefined, line?: number, there?: () => Promise<FileState>): void;
}

/** How a file is on the kernel's machine: so a file of that name on the server's can be told from it. */
export interface FileState {
  readonly size: number;
  /** In milliseconds since 1970. */
  readonly modified: number;
}

/** The user's comments on lines of cells. */
export interface CellComments {
  /** Shows them in an element of the message box, for as long as there are any; the result ends that. */
  show(into: HTMLElement): () => void;
  /** Takes them for a message. */
  take(): readonly MessageAttachment[];
  /** That message was not sent. */
  giveBack(): void;
}

/** What JupyterLab's Settings editor, and help in cells, need of the kernel. */
export interface SettingsAccess {
  readonly request: Request;
  /** Calls `listener` whenever settings have changed, in whatever window or file. */
  onChange(listener: () => void): void;
  /** Tells the kernel that someone follows the conversations, also while the chat is closed; absent in older kernels. */
  view?(id: string): ViewLink;
  /** Aborted when the kernel is gone. */
  readonly signal: AbortSignal;
}

/** A change of a cell that an agent asks leave for (`ToolCallCell`). */
export interface CellProposal {
  /** What tells the question from others. */
  readonly id: string;
  /** The notebook's path on the Jupyter server. */
  readonly notebook: string;
  /** `insert`, `replace`, `delete`, `move`, `split`, `merge`, `type`, `tags`, or `change` for anything else. */
  readonly action: string;
  /** The cell; for `insert` the one above, if any. */
  readonly cellId?: string | undefined;
  readonly kind?: string | undefined;
  /** Absent where it is not known, or too long to be compared. */
  readonly oldText?: string | undefined;
  readonly newText?: string | undefined;
  /** For `split`: the text of the new cell below. */
  readonly moreText?: string | undefined;
  /** For `merge`: the cells that would be gone. */
  readonly others?: readonly string[] | undefined;
  /** For `move`: the cell that would be above it; absent at the top. */
  readonly below?: string | undefined;
  readonly newKind?: string | undefined;
  readonly newTags?: readonly string[] | undefined;
  /** Text of an agent, made safe to be read. */
  readonly title: string;
  /** Absent where the question has no such answer. */
  readonly accept?: (() => void) | undefined;
  readonly reject?: (() => void) | undefined;
  /** Hears where the notebook shows it; undefined where it does not. */
  placed?(place: ProposalPlace | undefined): void;
}

/** Where a notebook shows a proposal, and why it cannot be accepted there now. */
export interface ProposalPlace {
  /** "in [3]"; "" where its cell is gone. */
  readonly where: string;
  /** "" where it can be accepted. */
  readonly obstacle: string;
}

/** A change of a cell that a turn made, and that the user can keep or undo. */
export interface CellChange {
  /** What tells the change, as it stands, from others. */
  readonly id: string;
  readonly cellId: string;
  /** The notebook's path on the Jupyter server, where two notebooks have a cell with this id. */
  readonly notebook: string | undefined;
  /** The cell as the notebook shows it, with its first line: text of an agent, made safe to be read. */
  readonly name: string;
  readonly status: "added" | "changed" | "deleted";
  /** What the cell says of it, where the agent did not make it. */
  readonly sentence?: string;
  /** What else there is to know, in a few words each. */
  readonly about: string;
  readonly isUndoable: boolean;
  /** Where a deleted cell was; absent where that is not known. */
  readonly place: CellPlace | undefined;
  /** The text that the cell had; "" where there was none, undefined where it is too long to be compared. */
  before(): Promise<string | undefined>;
  /** Does it, and says why not; "" where it was done. */
  keep(): Promise<string>;
  undo(): Promise<string>;
}

/** A set of changes to be looked at side by side. */
export interface Review {
  /** What tells it from others: the same is shown in the same place. */
  readonly key: string;
  readonly title: string;
  readonly changes: readonly Comparison[];
  /** The id of the one to begin with. */
  readonly first: string;
  /**
   * Says how the changes stand, at once and whenever that is other, until the function that it returns is called.
   * Absent in kernels with an older agentnb.
   */
  follow?(listener: (standing: (id: string) => Standing) => void): () => void;
}

/** Lines of a change, from 0, up to the one behind the last: in the text before it and in the one after it. */
export interface Hunk {
  readonly before: readonly [start: number, end: number];
  readonly after: readonly [start: number, end: number];
}

/** How one change of a review stands, and what can be done with it now. */
export interface Standing {
  /** In a few words; "" where there is nothing to say. */
  readonly said: string;
  readonly isBusy: boolean;
  readonly actions: readonly { readonly word: string; readonly run: () => void }[];
  /** Another text where its texts are others. */
  readonly version: string;
  /** Keeps or undoes a part; absent where it is decided as a whole. */
  readonly decide?: ((how: "keep" | "undo", hunk: Hunk) => void) | undefined;
}

/** One change of a review; what it is called is text of an agent, made safe to be read. */
export interface Comparison {
  readonly id: string;
  readonly name: string;
  /** Absent where there is no file to open. */
  readonly open?: () => void;
  /** Rejects with the reason where the texts cannot be shown. */
  load(): Promise<{ readonly before: string; readonly after: string }>;
}

export interface Store {
  /** This page, as the kernel calls it. */
  readonly clientId: string;
  readonly connection: ReadonlySignal<Connection>;
  readonly hostId: ReadonlySignal<string | undefined>;
  /** How many milliseconds the kernel's clock is ahead of this page's; below 0 where it is behind. */
  readonly ahead: ReadonlySignal<number>;
  /** Where this one is over: brings the widget of the same notebook that goes on before the reader. */
  readonly successor: ReadonlySignal<(() => void) | undefined>;
  /** Why page and kernel cannot talk, and what to do about it. */
  readonly refusal: ReadonlySignal<string | undefined>;
  /** What the kernel did not accept and the reader has not put away, oldest first. */
  readonly refusals: ReadonlySignal<readonly Refusal[]>;
  dismiss(id: number): void;
  /** What is missing and why, by channel; under "" where it may be any. */
  readonly gaps: ReadonlySignal<Readonly<Record<string, string>>>;
  /** The reader has seen what is missing there. */
  acceptGap(channel: string): void;
  readonly root: ReadonlySignal<RootState | undefined>;
  /** Whether the kernel has yet to say that it has what the reader wrote; no signal: for when nothing comes any more. */
  readonly isUnsaid: boolean;
  /** The same signal for the same channel, always. */
  session(channel: string): ReadonlySignal<SessionState | undefined>;
  chat(channel: string): ReadonlySignal<ChatState | undefined>;
  changeset(channel: string): ReadonlySignal<ChangesetState | undefined>;
  /** One side of the change `id` of a change set. */
  change(changeset: string, id: string, side: Side): Promise<ChangeText>;
  /** The turns of a chat before those in its state, as far as they were fetched. */
  older(channel: string): ReadonlySignal<Older>;
  fetchOlder(channel: string, limit: number): Promise<void>;
  /** Large content that a chat only refers to, whole. */
  content(channel: string, ref: ContentRef): Promise<string>;
  /** A file of the workspace, whole, as bytes of no kind: no page opens it. */
  file(channel: string, path: string): Promise<Blob>;
  /** A part of the front end that is fetched when it is needed; bound, and absent where there is none. */
  readonly module?: (name: string) => Promise<{ default: unknown }>;
  /** Applied at once, then sent to the host. */
  dispatch(channel: string, action: Action): void;
  request: Request;
  /** Says something that needs no answer. */
  notify?(method: string, params: unknown): void;
  /** Another value each time that sessions in the log have changed. */
  readonly sessionsChanged?: ReadonlySignal<unknown>;
  /** Another value each time that settings have changed, once `watchSettings` was asked. */
  readonly settingsChanged?: ReadonlySignal<unknown>;
  /** Other windows' unsent drafts, by chat. */
  readonly drafts?: ReadonlySignal<Readonly<Record<string, string>>>;
  view(viewId: string, element?: Element): ViewLink;
  /** Absent where there is no notebook to edit. */
  readonly notebook?: NotebookActions | undefined;
}

/** One thing for each store, made when it is wanted first. */
export function perStore<T>(make: (store: Store) => T): (store: Store) => T {
  const all = new WeakMap<Store, T>();
  return (store) => {
    const one = all.get(store) ?? make(store);
    all.set(store, one);
    return one;
  };
}

/** What one mounted view shows: the whole chat (on one tab), one turn, or tries side by side. */
export type What =
  | { kind: "chat"; tab?: string }
  | { kind: "turn"; channel: string; turnId: string }
  | { kind: "branches"; id: string };

/** The text and the id of the message that an action sends; undefined where it sends none. */
export function messageOf(action: Action): { id: string; text: string } | undefined {
  if (action.type === "chat/turnStarted") return { id: action.turnId, text: action.message.text };
  if (action.type === "chat/pendingMessageSet") return { id: action.id, text: action.message.text };
  return undefined;
}
