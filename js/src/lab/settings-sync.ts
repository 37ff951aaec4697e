/**
 * JupyterLab's Settings editor and the user's settings files hold the same values: what the user changes in the editor is
 * written to the files of the kernels that this page talks to, and what changes there is shown in the editor.
 *
 * The files count. What was edited while no kernel was there is written when one is, unless the file was changed, too.
 * Both sides are told by what has changed since they were last equal, so that two kernels with different files do not
 * overwrite each other's.
 *
 * JupyterLab stores what is typed letter by letter. What is in a text field counts once the focus leaves it: half a
 * path is neither written nor asked about nor refused.
 *
 * Half a second after the last letter the editor's form saves all its fields as it knows them, and the server takes its
 * time: a value that came from a file meanwhile is set back. It is shown again, and not taken for what the user wants.
 */
import type { Settings } from "@jupyterlab/settingregistry";
import type { Answer, Params, RequestName } from "../state/answers";
import { plain, reason } from "../view/plain";
import type { SettingsAccess } from "../view/store";

/** What both sides had when they were equal last, over a reload. */
const EQUAL = "agentnb settings";
/** A pause in typing, in milliseconds: longer than the form waits until it saves. */
const PAUSE = 800;
/** The form saves no sooner after the last letter; what is stored before that is of earlier ones. */
const FORM_WAITS = 500;
/** A save that has not come after so long does not come: what was typed is what was there before. */
const SAVE_TAKES = 10_000;

type Values = Map<string, unknown>;

/** What the user is told and asked. */
export interface Ui {
  warn(sentence: string): void;
  confirm(sentence: string): Promise<boolean>;
}

interface Kernel {
  readonly access: SettingsAccess;
  /** What its files say, as far as they were read. */
  inFiles: Values;
}

/** A value that came from a file, and what the form may still hold instead. */
interface Shown {
  readonly value: unknown;
  readonly before: readonly unknown[];
}

export class SettingsSync {
  readonly #settings: Settings;
  readonly #ui: Ui;
  readonly #kernels = new Set<Kernel>();
  /** What the editor had when it was last looked at. */
  #known: Values;
  /** When something was last typed or chosen in the form, in milliseconds. */
  #editedAt = Number.NEGATIVE_INFINITY;
  /** Whether what was typed or chosen is stored: on a slow server that comes long after the form has sent it. */
  #isStored = true;
  /** How many values that came from files are being stored. */
  #storing = 0;
  /** What came from files while the form had not saved yet, by the setting's name. */
  readonly #shownLately = new Map<string, Shown>();
  /** One thing after another. */
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
      // Asked again and again: no event tells that a field is gone with its tab.
      if (isTyping || this.#shownLately.size > 0) this.#writeSoon();
    }, PAUSE);
  }

  /** Shows again what the form has set back. */
  async #showAgain(): Promise<void> {
    const lately = [...this.#shownLately];
    if (!this.#isUnsaved()) this.#shownLately.clear();
    for (const [name, { value, before }] of lately) {
      const now = this.#values().get(name);
      if (before.some((one) => isSame(now, one)) && !isOf(typedIn(), name)) await this.#show(name, value);
    }
  }

  /** Whether the form may yet save, and with it values older than those that came from files. */
  #isUnsaved(): boolean {
    return Date.now() - this.#editedAt < (this.#isStored ? PAUSE : SAVE_TAKES);
  }

  /** A kernel whose files are followed from now on; resolves when both sides are equal. */
  join(access: SettingsAccess): Promise<void> {
    const kernel = { access, inFiles: new Map() };
    access.signal.addEventListener("abort", () => this.#kernels.delete(kernel));
    return this.#then(async () => {
      await asked(kernel, "watchSettings", { on: true });
      access.onChange(() => void this.#then(() => this.#read(kernel)));
      await this.#begin(kernel);
      if (!access.signal.aborted) this.#kernels.add(kernel);
    });
  }

  #then(work: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(work).catch((error: unknown) => console.debug("agentnb:", error));
    return this.#work;
  }

  /** The first look at a kernel's files. */
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

  /** What has changed in the files of a kernel is shown in the editor. */
  async #read(kernel: Kernel): Promise<void> {
    const before = kernel.inFiles;
    for (const name of await this.#fetch(kernel)) {
      const now = kernel.inFiles.get(name);
      if (!isSame(now, before.get(name))) await this.#show(name, now);
    }
    this.#remember();
  }

  /** What the user has changed in the editor is written to the files of all kernels. */
  async #write(): Promise<void> {
    if (this.#kernels.size === 0) return; // when one comes
    const now = this.#values();
    const names = [...new Set([...now.keys(), ...this.#known.keys()])];
    for (const name of names) {
      const value = now.get(name);
      const known = this.#known.get(name);
      if (isSame(value, known)) continue;
      this.#known.set(name, value);
      if (!(await this.#tellAll(name, value))) this.#known.set(name, known); // the next kernel is told
    }
    this.#remember();
  }

  /** Whether any kernel was told, and did not end meanwhile. */
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

  /** Writes a value into a kernel's file; where that is refused, the editor shows what the file says. Throws where it ends. */
  async #tell(kernel: Kernel, name: string, value: unknown): Promise<void> {
    const was = kernel.inFiles.get(name);
    if (isSame(was, value)) return;
    const change = { name, value: value ?? null, here: false, was: was ?? null, checks: true };
    try {
      const { confirm } = await asked(kernel, "changeSetting", change);
      if (confirm === undefined) return void kernel.inFiles.set(name, value);
      if (await this.#ui.confirm(plain(confirm))) {
        await asked(kernel, "changeSetting", { ...change, confirmed: confirm });
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

  /** Reads what a kernel's files say; the names of the settings that the editor can show. */
  async #fetch(kernel: Kernel): Promise<string[]> {
    const { groups } = await asked(kernel, "listSettings", {});
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
 * Asks a kernel. One that ends before it has answered is waited for no longer: what is to be done with other kernels stands
 * behind it.
 */
function asked<M extends RequestName>({ access }: Kernel, method: M, params: Params<M>): Promise<Answer<M>> {
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

/** A list without the empty places that *Add* makes before something is typed there. */
function finished(value: unknown): unknown {
  return Array.isArray(value) ? value.filter((one) => typeof one !== "string" || one.trim()) : value;
}

/** The text field of JupyterLab's Settings editor that has the focus; its editor of JSON has a command to save. */
function typedIn(): Element | null {
  const field = document.activeElement;
  const isText = field instanceof HTMLTextAreaElement || (field instanceof HTMLInputElement && !CHOSEN.has(field.type));
  return isText && field.closest(".jp-SettingsPanel") ? field : null;
}

/** Whether a field of the form is that of a setting, or of one of its list. */
const isOf = (field: Element | null, name: string): boolean => `${field?.id}_`.includes(`_${name}_`);

/** Fields in which nothing is typed. */
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
