/**
 * The little of JupyterLab that the extension uses, by hand: the packages come with JupyterLab, and installing them for
 * their types alone would bring some hundreds of others.
 */
declare module "@lumino/widgets" {
  /** `ISignal` of @lumino/signaling. */
  export interface Signal<A> {
    connect(slot: (sender: unknown, args: A) => void): boolean;
    disconnect(slot: (sender: unknown, args: A) => void): boolean;
  }
  export class Widget {
    constructor(options?: { node?: HTMLElement });
    id: string;
    readonly parent: Widget | null;
    activate(): void;
    readonly node: HTMLElement;
    readonly title: {
      label: string;
      caption: string;
      icon: unknown;
      closable: boolean;
      dataset: Readonly<Record<string, string>>;
    };
    readonly isDisposed: boolean;
    readonly isVisible: boolean;
    readonly disposed: Signal<unknown>;
    addClass(name: string): void;
    show(): void;
    hide(): void;
    dispose(): void;
    protected onAfterShow(message: unknown): void;
    protected onAfterHide(message: unknown): void;
    protected onActivateRequest(message: unknown): void;
    protected onResize(message: unknown): void;
  }
  export class SplitPanel extends Widget {
    readonly widgets: readonly Widget[];
    /** A handle was moved by the user. */
    readonly handleMoved: Signal<unknown>;
    relativeSizes(): number[];
    setRelativeSizes(sizes: number[]): void;
  }
  export class Panel extends Widget {
    addWidget(widget: Widget): void;
  }
}

declare module "@jupyterlab/ui-components" {
  export class LabIcon {
    constructor(options: { name: string; svgstr: string });
  }
}

declare module "@jupyterlab/services" {
  import type { Signal } from "@lumino/widgets";

  /** `Contents.IChangedArgs`. */
  export interface FileChange {
    readonly type: string;
    readonly oldValue: { readonly path?: string } | null;
    readonly newValue: { readonly path?: string } | null;
  }
  export interface ServiceManager {
    readonly contents: {
      readonly fileChanged: Signal<FileChange>;
      get(path: string, options: { content: boolean; hash?: boolean }): Promise<unknown>;
    };
  }
  export interface Message {
    content: Record<string, unknown>;
  }
  export interface Comm {
    readonly commId: string;
    readonly isDisposed: boolean;
    /** Whether its own subshell is there (JupyterLab ≥ 4.4). */
    readonly subshellStarted?: Promise<void>;
    onMsg: (message: Message) => void;
    onClose: (message: Message) => void;
    open(data: unknown): unknown;
    send(data: unknown): unknown;
    close(): unknown;
    dispose(): void;
  }
  export interface Future {
    readonly done: Promise<Message>;
    dispose(): void;
  }
  export interface Kernel {
    readonly id: string;
    readonly status: string;
    readonly clientId: string;
    readonly username: string;
    readonly info: Promise<{ language_info: { name: string } }>;
    readonly isDisposed: boolean;
    /** JupyterLab ≥ 4.4. */
    readonly supportsSubshells?: boolean;
    subshellId?: string | null;
    requestExecute(content: unknown): Future;
    requestCreateSubshell(content: unknown): Future;
    sendControlMessage(message: unknown, expectReply: boolean, disposeOnDone: boolean): Future;
    createComm(target: string): Comm;
    registerCommTarget(target: string, callback: (comm: Comm, message: Message) => void): void;
    removeCommTarget(target: string, callback: (comm: Comm, message: Message) => void): void;
  }
}

declare module "@jupyterlab/notebook" {
  import type { Kernel } from "@jupyterlab/services";
  import type { Signal, Widget } from "@lumino/widgets";

  /** `@jupyter/ydoc`: the cell as every editor of the notebook shares it. */
  export interface SharedCell {
    readonly id: string;
    readonly cell_type: string;
    readonly execution_count?: number | null;
    readonly undoManager?: { stopCapturing(): void } | null;
    getSource(): string;
    updateSource(start: number, end: number, value: string): void;
    getMetadata(name: string): unknown;
    setMetadata(name: string, value: unknown): void;
    deleteMetadata(name: string): void;
    toJSON(): { outputs?: unknown };
  }
  export interface SharedNotebook {
    readonly cells: readonly SharedCell[];
    readonly undoManager?: { stopCapturing(): void } | null;
    insertCell(index: number, cell: unknown): SharedCell;
    deleteCell(index: number): void;
    transact(change: () => void): void;
  }
  export interface Editor {
    /** CodeMirror's own. */
    readonly editor: import("@codemirror/view").EditorView;
    getSelection(): { start: unknown; end: unknown };
    getOffsetAt(position: unknown): number;
  }
  export interface Outputs {
    readonly length: number;
    readonly changed: Signal<unknown>;
    get(index: number): { readonly type: string; toJSON(): Record<string, unknown> };
  }
  export interface Cell extends Widget {
    readonly editor: Editor | null;
    /** Of code cells only. */
    readonly outputArea?: { readonly model: Outputs; readonly widgets: readonly Widget[] };
    /** Of Markdown cells only: whether the text is shown as it reads, rather than as it is written. */
    rendered?: boolean;
    /** Once it is drawn. */
    readonly ready: Promise<void>;
    readonly model: {
      readonly id: string;
      readonly sharedModel: SharedCell;
      /** Of code cells only, as the next two. */
      readonly executionCount?: number | null;
      /** Whether its text has changed since it ran. */
      readonly isDirty?: boolean;
      /** From JupyterLab 4.3 on. */
      readonly executionState?: string;
      readonly contentChanged: Signal<unknown>;
      readonly selections: { readonly changed: Signal<unknown> };
    };
  }
  export interface Notebook extends Widget {
    readonly model: {
      readonly sharedModel: SharedNotebook;
      readonly cells: { readonly changed: Signal<unknown> };
      /** Whether it has changed since it was saved. */
      readonly dirty: boolean;
      readonly contentChanged: Signal<unknown>;
      readonly stateChanged: Signal<unknown>;
    } | null;
    readonly widgets: readonly Cell[];
    readonly activeCell: Cell | null;
    activeCellIndex: number;
    readonly activeCellChanged: Signal<Cell | null>;
    readonly notebookConfig: unknown;
    readonly rendermime: RenderMimes;
    isSelected(cell: Cell): boolean;
    readonly selectionChanged?: Signal<unknown>;
    deselectAll(): void;
    scrollToItem?(index: number, align: string): Promise<void>;
  }
  /** `IRenderMimeRegistry`. */
  export interface RenderMimes {
    readonly mimeTypes: readonly string[];
    createModel(options: { data: Record<string, string> }): object;
    createRenderer(mimeType: string): Widget & { renderModel(model: object): Promise<void> };
  }
  export interface SessionContext {
    readonly ready: Promise<void>;
    readonly session: { readonly kernel: Kernel | null } | null;
    readonly hasNoKernel: boolean;
    readonly kernelChanged: Signal<unknown>;
    readonly statusChanged: Signal<string>;
    readonly connectionStatusChanged: Signal<string>;
  }
  export interface NotebookPanel extends Widget {
    readonly content: Notebook;
    readonly context: {
      readonly path: string;
      readonly pathChanged: Signal<string>;
      readonly ready: Promise<void>;
      /** Absent before it was loaded. */
      readonly contentsModel?: { readonly writable?: boolean } | null;
    };
    readonly sessionContext: SessionContext;
    readonly toolbar: Widget & { insertItem(index: number, name: string, widget: Widget): boolean };
  }
  export interface Tracker {
    readonly currentWidget: NotebookPanel | null;
    readonly currentChanged: Signal<NotebookPanel | null>;
    readonly widgetAdded: Signal<NotebookPanel>;
    forEach(callback: (panel: NotebookPanel) => void): void;
  }
  export interface CellExecutor {
    runCell(options: unknown): Promise<boolean>;
  }
  export const INotebookTracker: unique symbol;
  export const INotebookCellExecutor: unique symbol | undefined;
  export const NotebookActions: { readonly executed: Signal<{ notebook: Notebook }> };
}

declare module "@jupyterlab/codemirror" {
  import type { Extension } from "@codemirror/state";

  export interface Language {
    readonly support?: Extension;
  }
  export interface Languages {
    findByFileName?(name: string): Language | null;
    getLanguage(language: Language): Promise<Language | null>;
  }
  export const IEditorLanguageRegistry: unique symbol;
  export interface EditorExtensions {
    addExtension(made: { name: string; factory: () => object }): void;
  }
  export const IEditorExtensionRegistry: unique symbol;
  export const EditorExtensionRegistry: { createImmutableExtension(extension: Extension): object };
  /** The look of JupyterLab's own editors. */
  export const jupyterTheme: Extension;
}

/** The page's own CodeMirror, and what `@codemirror/merge` makes of it. */
declare module "@codemirror/state" {
  export type Extension = object;
  export interface Line {
    readonly from: number;
    readonly to: number;
  }
  export class Text {
    static of(lines: readonly string[]): Text;
    readonly length: number;
    lineAt(position: number): Line;
    line(number: number): Line & { readonly text: string };
    sliceString(from: number, to?: number): string;
    append(other: Text): Text;
  }
  export interface Transaction {
    readonly docChanged: boolean;
    readonly newDoc: Text;
  }
  export interface Facet<T> {
    readonly kind?: T;
  }
  export class EditorState {
    static readonly readOnly: { of(value: boolean): Extension };
    readonly doc: Text;
    field<T>(field: StateField<T>, require: false): T | undefined;
    facet<T>(facet: Facet<T>): T;
  }
  export class StateField<T> {
    readonly value?: T;
    readonly extension: Extension;
    static define<T>(config: {
      create(state: EditorState): T;
      update(value: T, transaction: Transaction): T;
      provide?(field: StateField<T>): Extension;
    }): StateField<T>;
  }
  export interface Effect {
    readonly value: unknown;
  }
  export const StateEffect: { readonly appendConfig: { of(extension: Extension): Effect } };
  export class Compartment {
    of(extension: Extension): Extension;
    reconfigure(extension: Extension): Effect;
  }
}

declare module "@codemirror/language" {
  import type { EditorState, Facet } from "@codemirror/state";

  export const language: Facet<{ readonly parser: { parse(text: string): object } } | null>;
  export function highlightingFor(state: EditorState, tags: readonly object[]): string | null;
}

declare module "@lezer/highlight" {
  export function highlightTree(
    tree: object,
    highlighter: { style(tags: readonly object[]): string | null },
    put: (from: number, to: number, classes: string) => void,
  ): void;
}

declare module "@codemirror/view" {
  import type { EditorState, Effect, Extension, StateField } from "@codemirror/state";

  export interface DecorationRange {
    readonly from: number;
  }
  export interface DecorationSet {
    readonly size: number;
  }
  export class WidgetType {
    eq(other: WidgetType): boolean;
    toDOM(view: EditorView): HTMLElement;
  }
  interface Made {
    range(from: number, to?: number): DecorationRange;
  }
  export const Decoration: {
    line(spec: { class: string }): Made;
    mark(spec: { class: string }): Made;
    widget(spec: { widget: WidgetType; block: boolean; side: number }): Made;
    set(ranges: readonly DecorationRange[], sort: boolean): DecorationSet;
  };
  export class EditorView {
    constructor(config: { parent: HTMLElement; doc: string; extensions: Extension[] });
    static readonly decorations: { from<T>(field: StateField<T>, get: (value: T) => DecorationSet): Extension };
    static scrollIntoView(position: number, options: { y: "center" }): Effect;
    static baseTheme(styles: Record<string, Record<string, string>>): Extension;
    readonly state: EditorState;
    readonly visibleRanges: readonly { readonly from: number; readonly to: number }[];
    dispatch(change: { effects: Effect | readonly Effect[] }): void;
    static readonly lineWrapping: Extension;
    static readonly editable: { of(value: boolean): Extension };
    static readonly contentAttributes: { of(value: Record<string, string>): Extension };
    destroy(): void;
  }
  export interface ViewUpdate {
    readonly view: EditorView;
    readonly docChanged: boolean;
    readonly viewportChanged: boolean;
  }
  export const ViewPlugin: {
    define<T extends { update(update: ViewUpdate): void }>(
      create: (view: EditorView) => T,
      spec: { decorations: (value: T) => DecorationSet },
    ): Extension;
  };
  export function lineNumbers(): Extension;
  export function highlightSpecialChars(): Extension;
}

declare module "@codemirror/merge" {
  import type { Extension, Text } from "@codemirror/state";

  /** A change within a chunk: from its beginning in either text. */
  export interface Change {
    readonly fromA: number;
    readonly toA: number;
    readonly fromB: number;
    readonly toB: number;
  }
  /** Lines that differ; `toA` and `toB` are behind the last line's break, which may be none. */
  export class Chunk {
    readonly changes: readonly Change[];
    readonly fromA: number;
    readonly toA: number;
    readonly endA: number;
    readonly fromB: number;
    readonly toB: number;
    readonly endB: number;
    static build(a: Text, b: Text, config?: Options["diffConfig"]): readonly Chunk[];
  }
  interface Options {
    collapseUnchanged?: { margin: number; minSize: number };
    diffConfig?: { scanLimit: number; timeout: number };
  }
  interface Side {
    doc: string;
    extensions: Extension[];
  }
  export class MergeView {
    constructor(config: Options & { parent: HTMLElement; a: Side; b: Side });
    destroy(): void;
  }
  export function unifiedMergeView(config: Options & { original: string; mergeControls: boolean }): Extension;
}

declare module "@jupyterlab/application" {
  import type { ServiceManager } from "@jupyterlab/services";
  import type { Signal, Widget } from "@lumino/widgets";

  export interface Command {
    label: string | ((args: Record<string, unknown>) => string);
    caption?: string;
    icon?: unknown;
    isToggled?: () => boolean;
    isEnabled?: () => boolean;
    isVisible?: (args: Record<string, unknown>) => boolean;
    execute: (args?: Record<string, unknown>) => unknown;
  }
  export interface Application {
    readonly name: string;
    readonly restored: Promise<unknown>;
    resolveRequiredService<T>(token: { readonly prototype?: T } | symbol): Promise<T>;
    /** The element that the open context menu is for, if it fits. */
    contextMenuHitTest(fits: (node: HTMLElement) => boolean): HTMLElement | undefined;
    readonly serviceManager: ServiceManager;
    readonly commands: {
      addCommand(id: string, command: Command): unknown;
      hasCommand(id: string): boolean;
      notifyCommandChanged(id: string): void;
      processKeydownEvent(event: KeyboardEvent): void;
      execute(id: string, args?: unknown): Promise<unknown>;
      readonly commandExecuted: Signal<{ readonly id: string; readonly result: Promise<unknown> }>;
    };
    readonly shell: {
      add(widget: Widget, area: string, options?: unknown): void;
      activateById(id: string): void;
      collapseRight?(): void;
      readonly currentWidget: Widget | null;
    };
  }
  export interface Restorer {
    add(widget: Widget, name: string): void;
  }
  export const ILayoutRestorer: unique symbol;
}

declare module "@jupyterlab/apputils" {
  import type { Widget } from "@lumino/widgets";

  export interface Palette {
    addItem(item: { command: string; category: string }): unknown;
  }
  export const ICommandPalette: unique symbol;
  export const Notification: { warning(message: string, options?: unknown): string };
  export const Dialog: {
    cancelButton(options?: { label: string }): unknown;
    warnButton(options: { label: string }): unknown;
  };
  export function showDialog(options: {
    title: string;
    body: string;
    buttons: readonly unknown[];
  }): Promise<{ readonly button: { readonly accept: boolean } }>;
  export class ToolbarButton extends Widget {
    constructor(options: unknown);
  }
}

declare module "@jupyterlab/settingregistry" {
  import type { Signal } from "@lumino/widgets";

  /** `ISettingRegistry.ISettings`. */
  export interface Settings {
    /** What the user has set; the defaults are not in it. */
    readonly user: Readonly<Record<string, unknown>>;
    /** What holds where the user has set nothing. */
    default(key: string): unknown;
    readonly changed: Signal<unknown>;
    set(key: string, value: unknown): Promise<void>;
    remove(key: string): Promise<void>;
  }
  export interface SettingRegistry {
    load(plugin: string): Promise<Settings>;
  }
  export const ISettingRegistry: unique symbol;
}

declare module "@jupyter-widgets/jupyterlab-manager" {
  import type { Widget } from "@lumino/widgets";

  export interface Manager {
    get_model(id: string): Promise<object>;
    has_model(id: string): boolean;
    /** Without data nothing is sent: the kernel has the comm already. */
    _create_comm(target: string, id: string): Promise<unknown>;
    new_model(options: unknown, state: unknown): Promise<object>;
    create_view(model: object): Promise<{ readonly luminoWidget: Widget }>;
    restoreWidgets(notebook: unknown, options: { loadKernel: boolean; loadNotebook: boolean }): Promise<void>;
  }
  export function registerWidgetManager(
    context: unknown,
    rendermime: unknown,
    renderers: Iterable<{ manager: Manager }>,
  ): unknown;
}
