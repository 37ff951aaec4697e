/** The mark of a notebook's verification, in the notebook's toolbar or below a turn: its state and actions. */
import { button, coded, element } from "../element";
import { line } from "../view/plain";
import styles from "./verification.css";
import type { Finding, Verifier } from "./verifier";

const LONGEST = 300;

export class VerificationMark {
  readonly node: HTMLElement;
  readonly #verifier: Verifier;
  readonly #show: (cellId: string) => void;
  readonly #main = button("Verify", () => this.#press(), "agentnb-verify-main");
  readonly #stop = button("Stop", () => this.#verifier.stop());
  readonly #fix = button("Fix", () => this.#verifier.mend(), { label: "Fix with agent" });
  readonly #again = button("↻", () => void this.#verifier.begin(), { label: "Verify again" });
  /** The shown finding, and true if the user was taken to it. */
  #at = 0;
  #isShown = false;
  #revision = -1;

  /** `status`: the text for screen readers; only one mark of a notebook has it. */
  constructor(verifier: Verifier, show: (cellId: string) => void, status?: HTMLElement) {
    this.#verifier = verifier;
    this.#show = show;
    this.#again.title = "Verify again";
    this.#fix.append(element("span", "agentnb-verify-long", " with agent"));
    this.#fix.title = "Fix with agent";
    this.#stop.title = "Stop the verification";
    const buttons = [this.#main, this.#stop, this.#fix, this.#again];
    const marks = { class: "agentnb-verify", role: "group", label: "Verification" };
    this.node = element("span", marks, element("style", "", styles), ...buttons, ...(status ? [status] : []));
    this.draw();
  }

  draw(): void {
    const { state, isStale } = this.#verifier;
    const isRunning = state.status === "running";
    if (state.revision !== this.#revision) {
      this.#at = 0;
      this.#isShown = false;
    }
    this.#revision = state.revision;
    const finding = this.#finding();
    this.node.dataset.state = isRunning || state.status === "none" ? state.status : state.ok ? "ok" : "found";
    this.node.dataset.stale = String(isStale);
    this.#main.replaceChildren(...coded(this.words), ...(isStale ? [element("i", "", " · changed since")] : []));
    this.#main.title = this.#title(finding);
    this.#main.setAttribute("aria-disabled", String(isRunning));
    this.#stop.hidden = !isRunning;
    this.#fix.hidden = !finding;
    this.#again.hidden = state.status !== "ended";
  }

  get words(): string {
    const { status, done, all, ok, time, error, findings } = this.#verifier.state;
    if (status === "none") return "Verify";
    if (status === "running") return all ? `Verifying… ${done} of ${all}` : "Verifying…";
    if (ok) return `Verified ${clock(time)}`;
    const more = findings.length > 1 ? ` (${this.#at + 1} of ${findings.length})` : "";
    return error ? `Not verified: ${line(error, LONGEST)}` : `${line(this.#finding()?.cause, LONGEST)}${more}`;
  }

  #title(finding: Finding | undefined): string {
    const { status, summary, notChecked, ok } = this.#verifier.state;
    if (status === "none") return "Run this notebook from the top, on a copy, and compare the results";
    const missing = notChecked.map((each) => `Not checked: ${line(each, LONGEST)}`);
    if (ok) return [line(summary), ...missing].join("\n");
    const advice = finding?.advice ? [`→ ${line(finding.advice, LONGEST)}`] : [];
    return finding ? [line(finding.cause, LONGEST), line(finding.evidence, LONGEST), ...advice].join("\n") : "";
  }

  #finding(): Finding | undefined {
    const { findings } = this.#verifier.state;
    return findings[Math.min(this.#at, findings.length - 1)];
  }

  /** Goes to the finding's cell, with the next click to the next finding's; without findings, starts a verification. */
  #press(): void {
    const { state } = this.#verifier;
    const finding = this.#finding();
    if (state.status === "running") return;
    if (!finding) return void this.#verifier.begin();
    if (this.#isShown) this.#at = (this.#at + 1) % state.findings.length;
    this.#isShown = true;
    this.draw();
    const id = this.#finding()?.cell?.id;
    if (id) this.#show(id);
  }
}

const clock = (time: number): string =>
  new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
