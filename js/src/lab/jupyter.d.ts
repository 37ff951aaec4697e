/**
 * Hand-written types of the few JupyterLab parts that the extension uses: installing the packages for their types alone
 * would bring hundreds of others.
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
  }
  export class SplitPanel extends Widget {
    readonly widgets: readonly Widget[];
    /** Emitted when the user moves a handle. */
    readonly handleMoved: Signal<unknown>;
    setRelativeSizes(sizes: number[]): void;
  }
  export class Panel extends Widget {
    addWidget(widget: Widget): void;
  }
}

declare module "@jupyterlab/ui-components" {
  export class LabIcon {
    readonly svgstr: string;
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
    readonly kernelspecs: {
      readonly ready: Promise<unknown>;
      readonly specs: {
        readonly default: string;
        readonly kernelspecs: Readonly<Record<string, { readonly language: string } | undefined>>;
      } | null;
    };
    readonly contents: {
      readonly fileChanged: Signal<FileChange>;
      get(path: string, options: { content: boolean; hash?: boolean }): Promise<unknown>;
    };
  }
  export interface Message {
    content: Record<string, unknown>;
  }
  export interface Comm {
    readonly isDisposed: boolean;
    /** Resolves when the comm's subshell exists (JupyterLab ≥ 4.4). */
    readonly subshellStarted?: Promise<void>;
    onMsg: (message: Message) => void;
    onClose: (message: Message) => void;
    open(data: unknown): unknown;
    send(data: unknown): unknown;
    dispose(): void;
  }
  export interface Future {
    readonly done: Promise<Message>;
  }
  export interface Kernel {
    readonly id: string;
    readonly status: string;
    readonly clientId: string;
    readonly username: string;
    readonly info: Promise<{ language_info: { name: string } }>;
    readonly isDisposed: boolean;
    /** Another connection to the same kernel. */
    clone(): Kernel;
    /** Closes the connection and opens it again; rejects if that fails. */
    reconnect(): Promise<void>;
    dispose(): void;
    /** JupyterLab ≥ 4.4. */
    readonly supportsSubshells?: boolean;
    readonly commsOverSubshells?: "disabled" | "perComm" | "perCommTarget";
    subshellId?: string | null;
    requestExecute(content: unknown): Future;
    requestCreateSubshell(content: unknown): Future;
    sendControlMessage(message: unknown, expectReply: boolean, disposeOnDone: boolean): Future;
    createComm(target: string): Comm;
    registerCommTarget(target: string, callback: (comm: Comm, message: Message) => void): void;
  }
}

declare module "@jupyterlab/notebook" {
  import type { Kernel } from "@jupyterlab/services";
  import type { Signal, Widget } from "@lumino/widgets";

  /** `@jupyter/ydoc`: the cell that all editors of the notebook share. */
  export interface SharedCell {
    readonly id: string;
    readonly cell_type: string;
    execution_count?: number | null;
    readonly undoManager?: { stopCapturing(): void } | null;
    /** Only in code cells. */
    setOutputs?(outputs: unknown[]): void;
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
    /** Only in code cells. */
    readonly outputArea?: { readonly model: Outputs; readonly widgets: readonly Widget[] };
    /** Only in Markdown cells: true if the text is rendered, false if its source is shown. */
    rendered?: boolean;
    /** Resolves once the cell is drawn. */
    readonly ready: Promise<void>;
    readonly model: {
      readonly id: string;
      readonly sharedModel: SharedCell;
      /** Only in code cells, as the next two. */
      readonly executionCount?: number | null;
      /** True if its text has changed since it ran. */
      readonly isDirty?: boolean;
      /** From JupyterLab 4.3 on. */
      readonly executionState?: string;
      readonly contentChanged: Signal<unknown>;
      readonly stateChanged: Signal<unknown>;
      readonly selections: { readonly changed: Signal<unknown> };
    };
  }
  export interface Notebook extends Widget {
    readonly model: {
      readonly sharedModel: SharedNotebook;
      readonly cells: { readonly changed: Signal<unknown> };
      /** True if it has changed since it was saved. */
      readonly dirty: boolean;
      readonly contentChanged: Signal<unknown>;
      readonly stateChanged: Signal<unknown>;
      toJSON(): unknown;
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
    readonly kernelChanged: Signal<unknown>;
    readonly statusChanged: Signal<string>;
    restartKernel(): Promise<void>;
  }
  export interface NotebookPanel extends Widget {
    readonly content: Notebook;
    readonly context: {
      readonly path: string;
      readonly pathChanged: Signal<string>;
      readonly ready: Promise<void>;
      /** Absent before the file is loaded. */
      readonly contentsModel?: { readonly writable?: boolean } | null;
    };
    readonly sessionContext: SessionContext;
    /** Resolves when the content is shown; a notebook with one empty cell then focuses it. */
    readonly revealed: Promise<void>;
    readonly toolbar: Widget & {
      names(): Iterable<string>;
      insertItem(index: number, name: string, widget: Widget): boolean;
    };
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
  /** The theme of JupyterLab's own editors. */
  export const jupyterTheme: Extension;
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
    resolveOptionalService<T>(token: { readonly prototype?: T }): Promise<T | null>;
    /** Returns the element of the open context menu, if it fits. */
    contextMenuHitTest(fits: (node: HTMLElement) => boolean): HTMLElement | undefined;
    readonly serviceManager: ServiceManager;
    readonly commands: {
      addCommand(id: string, command: Command): unknown;
      hasCommand(id: string): boolean;
      notifyCommandChanged(id: string): void;
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

declare module "@jupyterlab/translation" {
  export interface Translator {
    /** `en`, `default`, or another language's. */
    readonly languageCode: string;
    load(domain: string): object;
  }
  export const ITranslator: unique symbol;
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

declare module "@jupyterlab/completer" {
  export interface InlineRequest {
    readonly text: string;
    readonly offset: number;
  }
  /** `IInlineCompletionProvider`. */
  export interface InlineProvider {
    readonly identifier: string;
    readonly name: string;
    fetch(
      request: InlineRequest,
      context: { readonly widget: unknown },
    ): Promise<{ readonly items: readonly { readonly insertText: string }[] }>;
  }
  /** `ICompletionProviderManager`; accepts inline providers from JupyterLab 4.1 on. */
  export interface CompletionManager {
    registerInlineProvider?(provider: InlineProvider): void;
  }
  export const ICompletionProviderManager: { readonly prototype?: CompletionManager };
}

declare module "@jupyterlab/launcher" {
  export interface Launcher {
    add(item: { command: string; category: string; rank: number; args: unknown; kernelIconUrl: string }): unknown;
  }
  export const ILauncher: { readonly prototype?: Launcher };
}

declare module "@jupyterlab/settingregistry" {
  import type { Signal } from "@lumino/widgets";

  /** `ISettingRegistry.ISettings`. */
  export interface Settings {
    /** The user's values, without the defaults. */
    readonly user: Readonly<Record<string, unknown>>;
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
    /** Sends nothing without data: the kernel has the comm already. */
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
