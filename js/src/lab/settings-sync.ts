/**
 * Keeps JupyterLab's Settings editor and the user's settings files equal: writes the user's changes in the editor to
 * the files of this page's kernels, and shows changes of the files in the editor.
 *
 * The files win. Edits made without a kernel are written once there is one, unless the file was changed, too. Each side
 * gets only the changes since both were last equal, so that two kernels with different files do not overwrite each
 * other's.
 *
 * JupyterLab stores text letter by letter. A text field counts once the focus leaves it: half a path is neither
 * written, nor confirmed, nor refused.
 *
 * Half a second after the last letter, the editor's form saves all its fields as it knows them, and the server is slow:
 * this resets a value that came from a file meanwhile. Such a value is shown again, and not taken for the user's.
 */
import type { Settings } from "@jupyterlab/settingregistry";
import type { Answer, Params, RequestName } from "../state/answers";
import { plain, reason } from "../view/plain";
import type { SettingsAccess } from "../view/store";

/** The values when both sides were last equal; kept over a reload. */
const EQUAL = "agentnb settings";
/** A pause in typing, in milliseconds: longer than the form waits until it saves. */
const PAUSE = 800;
/** The form saves no sooner after the last letter; an earlier save is of earlier letters. */
const FORM_WAITS = 500;
/** After this time no save is expected: the user typed the old value. */
const SAVE_TAKES = 10_000;

type Values = Map<string, unknown>;

export interface Ui {
  warn(sentence: string): void;
  confirm(sentence: string): Promise<boolean>;
}

interface Kernel {
  readonly access: SettingsAccess;
  /** The values in its files, as last read. */
  inFiles: Values;
}

/** A value from a file, and the older values that the form may still hold. */
interface Shown {
  readonly value: unknown;
  readonly before: readonly unknown[];
}

export class SettingsSync {
  readonly #settings: Settings;
  readonly #ui: Ui;
  readonly #kernels = new Set<Kernel>();
  /** The editor's values at the last check. */
  #known: Values;
  /** The time of the last input in the form, in milliseconds. */
  #editedAt = Number.NEGATIVE_INFINITY;
  /** True if the last input is stored: a slow server stores it long after the form has sent it. */
  #isStored = true;
  /** The number of values from files that are being stored. */
  #storing = 0;
  /** Values that came from files before the form saved, by the setting's name. */
  readonly #shownLately = new Map<string, Shown>();
  /** A queue: one task after another. */
  #work: Promise<void> = Promise.resolve();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(settings: Settings, ui: Ui) {
    this.#settings = settings;
    this.#ui = ui;
    this.#known = this.#values();
    settings.changed.connect(() => {
      if (this.#storing === 0 && Date.now() - this.#editedAt >= FORM_WAITS) this.#isStored = true;
      this.#writeSoon();
    });
    for (const event of ["input", "change", "click"])
      document.addEventListener(event, ({ target }) => {
        if (!(target instanceof Element && target.closest(".jp-SettingsPanel"))) return;
        this.#editedAt = Date.now();
        if (event !== "click") this.#isStored = false;
      });
  }

  #writeSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const isTyping = typedIn() !== null || this.#isUnsaved(); // the form has not saved the last letters yet
      void this.#then(async () => {
        await this.#showAgain();
        if (!isTyping) await this.#write();
      });
      // Repeated: no event reports that a field disappeared with its tab.
      if (isTyping || this.#shownLately.size > 0) this.#writeSoon();
    }, PAUSE);
  }

  /** Shows values again that the form has reset. */
  async #showAgain(): Promise<void> {
    const lately = [...this.#shownLately];
    if (!this.#isUnsaved()) this.#shownLately.clear();
    for (const [name, { value, before }] of lately) {
      const now = this.#values().get(name);
      if (before.some((one) => isSame(now, one)) && !isOf(typedIn(), name)) await this.#show(name, value);
    }
  }

  /** True if the form may still save, with values older than those that came from files. */
  #isUnsaved(): boolean {
    return Date.now() - this.#editedAt < (this.#isStored ? PAUSE : SAVE_TAKES);
  }

  /** Follows a kernel's files from now on; resolves when both sides are equal. */
  join(access: SettingsAccess): Promise<void> {
    const kernel = { access, inFiles: new Map() };
    access.signal.addEventListener("abort", () => this.#kernels.delete(kernel));
    return this.#then(async () => {
      await sendRequest(kernel, "watchSettings", { on: true });
      access.onChange(() => void this.#then(() => this.#read(kernel)));
      await this.#begin(kernel);
      if (!access.signal.aborted) this.#kernels.add(kernel);
    });
  }

  #then(work: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(work).catch((error: unknown) => console.debug("agentnb:", error));
    return this.#work;
  }

  /** Reads a kernel's files for the first time. */
  async #begin(kernel: Kernel): Promise<void> {
    const equal = remembered();
    const names = await this.#fetch(kernel);
    const edited = this.#values();
    for (const name of names) {
      const [inEditor, inFile] = [edited.get(name), kernel.inFiles.get(name)];
      if (isSame(inEditor, inFile)) continue;
      const isEdited = equal
        ? !isSame(inEditor, equal.get(name)) && isSame(inFile, equal.get(name))
        : inFile === undefined;
      if (isEdited && typedIn()) {
        this.#known.set(name, inFile); // so that it is written once the field is left
        this.#writeSoon();
        continue;
      }
      this.#known.set(name, inEditor);
      if (isEdited) await this.#tell(kernel, name, inEditor);
      else await this.#show(name, inFile);
    }
    this.#remember();
  }

  /** Shows changes of a kernel's files in the editor. */
  async #read(kernel: Kernel): Promise<void> {
    const before = kernel.inFiles;
    for (const name of await this.#fetch(kernel)) {
      const now = kernel.inFiles.get(name);
      if (!isSame(now, before.get(name))) await this.#show(name, now);
    }
    this.#remember();
  }

  /** Writes the user's changes in the editor to the files of all kernels. */
  async #write(): Promise<void> {
    if (this.#kernels.size === 0) return; // written when one joins
    const now = this.#values();
    const names = [...new Set([...now.keys(), ...this.#known.keys()])];
    for (const name of names) {
      const value = now.get(name);
      const known = this.#known.get(name);
      if (isSame(value, known)) continue;
      this.#known.set(name, value);
      if (!(await this.#tellAll(name, value))) this.#known.set(name, known); // the next kernel gets it
    }
    this.#remember();
  }

  /** Returns true if any kernel got the value and did not end meanwhile. */
  async #tellAll(name: string, value: unknown): Promise<boolean> {
    let isTold = false;
    for (const kernel of this.#kernels)
      try {
        await this.#tell(kernel, name, value);
        isTold = true;
      } catch (error) {
        console.debug("agentnb:", error);
      }
    return isTold;
  }

  /** Writes a value into a kernel's file; if that is refused, shows the file's value. Throws if the kernel ends. */
  async #tell(kernel: Kernel, name: string, value: unknown): Promise<void> {
    const was = kernel.inFiles.get(name);
    if (isSame(was, value)) return;
    const change = { name, value: value ?? null, here: false, was: was ?? null, checks: true };
    try {
      const { confirm } = await sendRequest(kernel, "changeSetting", change);
      if (confirm === undefined) return void kernel.inFiles.set(name, value);
      if (await this.#ui.confirm(plain(confirm))) {
        await sendRequest(kernel, "changeSetting", { ...change, confirmed: confirm });
        kernel.inFiles.set(name, value);
        return;
      }
    } catch (error) {
      if (kernel.access.signal.aborted) throw error;
      this.#ui.warn(plain(reason(error)));
      await this.#fetch(kernel);
    }
    await this.#show(name, kernel.inFiles.get(name));
  }

  /** Shows a value in the editor; undefined: the default. */
  async #show(name: string, value: unknown): Promise<void> {
    this.#known.set(name, value);
    const now = this.#values().get(name);
    if (isSame(now, value)) return;
    if (this.#isUnsaved()) {
      const before = [...(this.#shownLately.get(name)?.before ?? []), now, this.#settings.default(name)];
      this.#shownLately.set(name, { value, before: before.filter((one) => !isSame(one, value)) });
    }
    this.#storing += 1;
    try {
      await (value === undefined ? this.#settings.remove(name) : this.#settings.set(name, value));
    } catch (error) {
      console.debug("agentnb:", error); // a setting of a newer kernel
      this.#shownLately.delete(name);
      this.#known.set(name, this.#values().get(name));
    } finally {
      this.#storing -= 1;
    }
  }

  /** Reads a kernel's files; returns the names of the settings that the editor can show. */
  async #fetch(kernel: Kernel): Promise<string[]> {
    const { groups } = await sendRequest(kernel, "listSettings", {});
    const listed = groups.flatMap(({ settings }) => settings).filter(({ file, kind }) => file && kind !== "servers");
    kernel.inFiles = new Map(listed.map(({ name, inFile }) => [name, inFile ?? undefined]));
    return listed.map(({ name }) => name);
  }

  #values(): Values {
    return new Map(Object.entries(this.#settings.user).map(([name, value]) => [name, finished(value)]));
  }

  #remember(): void {
    localStorage.setItem(EQUAL, JSON.stringify([...this.#known].filter(([, value]) => value !== undefined)));
  }
}

/**
 * Sends a request to a kernel. Rejects if the kernel ends before it answers, because tasks for other kernels wait
 * behind it.
 */
function sendRequest<M extends RequestName>({ access }: Kernel, method: M, params: Params<M>): Promise<Answer<M>> {
  const { signal } = access;
  return new Promise((resolve, reject) => {
    const end = () => reject(new Error("The kernel has ended."));
    if (signal.aborted) return end();
    signal.addEventListener("abort", end, { once: true });
    access
      .request(method, params)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", end));
  });
}

/** Returns a list without the empty items that *Add* makes before the user types. */
function finished(value: unknown): unknown {
  return Array.isArray(value) ? value.filter((one) => typeof one !== "string" || one.trim()) : value;
}

/** Returns the focused text field of JupyterLab's Settings editor; its JSON editor has a save command. */
function typedIn(): Element | null {
  const field = document.activeElement;
  const isText = field instanceof HTMLTextAreaElement || (field instanceof HTMLInputElement && !CHOSEN.has(field.type));
  return isText && field.closest(".jp-SettingsPanel") ? field : null;
}

/** True if a field of the form belongs to a setting, or to an item of its list. */
const isOf = (field: Element | null, name: string): boolean => `${field?.id}_`.includes(`_${name}_`);

/** Input types without typed text. */
const CHOSEN = new Set(["checkbox", "radio", "range", "color", "button", "submit"]);

function remembered(): Values | undefined {
  try {
    const known: unknown = JSON.parse(localStorage.getItem(EQUAL) ?? "null");
    return Array.isArray(known)
      ? new Map(known.filter(Array.isArray).map(([name, value]) => [name, value]))
      : undefined;
  } catch {
    return undefined;
  }
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
