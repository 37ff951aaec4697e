/**
 * Pairs a phone: shows the ways to reach the kernel, the code to scan and the paired phones, and can unpair them;
 * fetched when the user chooses *Phone*. Nothing listens before the user chooses a way.
 */
import type { ReadonlySignal } from "@preact/signals";
import { encode } from "uqr";
import { button, element, renew } from "./element";
import { FetchedStyles } from "./fetched-styles";
import css from "./phone.css";
import { isObject } from "./state/object";
import type { RootState } from "./state/types.gen";
import { line, reason } from "./view/plain";

export interface PhoneContext {
  readonly root: ReadonlySignal<RootState | undefined>;
  /** Sends a request to the kernel, for a plug-in (agentnb/plugins/phone). */
  request(method: string, params: unknown): Promise<unknown>;
  close(): void;
}

interface Code {
  readonly name: string;
  readonly address: string;
}

const LOOPBACK = "127.0.0.1";
const LOCAL = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
/** The quiet zone that readers need, in modules. */
const QUIET = 4;
const SVG = "http://www.w3.org/2000/svg";
const styles = new FetchedStyles(css);

/** Shows the panel in `into`; the result removes it. */
export default function mount(into: HTMLElement, context: PhoneContext): () => void {
  styles.addTo(into.getRootNode());
  const panel = new Panel(context);
  into.append(panel.element);
  const unsubscribe = context.root.subscribe(() => void panel.look());
  return () => {
    unsubscribe();
    panel.element.remove();
  };
}

class Panel {
  readonly element = element("section", { class: "card phone", label: "Phone" });
  readonly #context: PhoneContext;
  #code: Code | undefined;
  #isOn = false;
  #phones: readonly string[] = [];
  #addresses: readonly string[] = [];
  #trouble = "";
  #drawnState = "";

  constructor(context: PhoneContext) {
    this.#context = context;
  }

  /** Requests the state from the kernel and redraws the panel if it changed. */
  async look(): Promise<void> {
    try {
      const answer = await this.#context.request("phone/look", {});
      if (!isObject(answer)) return;
      this.#isOn = answer.isOn === true;
      this.#phones = texts(answer.phones);
      this.#addresses = texts(answer.addresses);
      // A code is useless once its phone has connected.
      if (!this.#isOn || this.#phones.includes(this.#code?.name ?? "")) this.#code = undefined;
    } catch (error) {
      this.#trouble = line(reason(error), 300);
    }
    this.#draw();
  }

  #draw(): void {
    const now = JSON.stringify([this.#code, this.#isOn, this.#phones, this.#addresses, this.#trouble]);
    if (now === this.#drawnState) return;
    const isFirst = this.#drawnState === "";
    this.#drawnState = now;
    const waits = this.#code !== undefined;
    const buttons = element("div", "row wraps");
    if (this.#isOn) buttons.append(button("Unpair", () => void this.#unpair(), "button small"));
    const close = button("Close", this.#context.close, "button small");
    buttons.append(close);
    renew(
      this.element,
      element("strong", "", "Answer from your phone"),
      element(
        "p",
        "",
        "A paired phone sees the questions of this kernel's agents. It can allow each once, reject it, or stop the agent; nothing else.",
      ),
      ...(this.#trouble ? [element("p", { class: "error-text", role: "alert" }, this.#trouble)] : []),
      element("p", { class: "note", role: "status" }, this.#status(waits)),
      ...(waits && this.#code ? [codeElement(this.#code)] : []),
      ...(waits ? [] : this.#ways()),
      buttons,
    );
    if (isFirst) close.focus();
  }

  #status(waits: boolean): string {
    if (this.#phones.length > 0 && !waits)
      return `Connected: ${this.#phones.map((each) => line(each, 40)).join(", ")}. It ends with the kernel, or when you unpair it.`;
    if (waits) return "Scan the code with the phone's camera. It works for one phone, within five minutes.";
    return this.#isOn
      ? "No phone is connected now. A phone that was paired comes back by itself."
      : "No phone is paired.";
  }

  /** The ways for a phone to reach the kernel. */
  #ways(): Node[] {
    const server =
      LOCAL.test(location.hostname) || jupyterBase() === undefined
        ? []
        : [this.#way(`Through ${line(location.host, 60)}`, throughServer(), () => this.#throughServer())];
    const direct = this.#addresses.map((address) =>
      this.#way(
        address === LOOPBACK ? "On this machine only" : `Over the network, at ${line(address, 60)}`,
        address === LOOPBACK
          ? "For a phone connected by cable or through a tunnel to this machine's ports."
          : "Not encrypted: others on this network can read the questions and use the code. Use it only if you trust everyone on it.",
        () => this.#direct(address),
      ),
    );
    const more = this.#isOn ? "Pair another phone:" : "How does the phone reach this kernel?";
    return [element("p", "", more), element("div", "phone-ways", ...server, ...direct)];
  }

  #way(name: string, about: string, pair: () => Promise<void>): HTMLElement {
    return element(
      "div",
      "",
      button(name, () => void this.#pair(pair), "button small"),
      element("p", "note", about),
    );
  }

  async #pair(pair: () => Promise<void>): Promise<void> {
    this.#trouble = "";
    try {
      await pair();
    } catch (error) {
      this.#trouble = line(reason(error), 300);
    }
    await this.look();
  }

  async #direct(address: string): Promise<void> {
    const { name, token, port } = await this.#newCode({ address });
    this.#code = { name, address: `http://${address}:${port}/#${token}` };
  }

  async #throughServer(): Promise<void> {
    const { name, token, port } = await this.#newCode({ origin: location.origin });
    const address = new URL(`${jupyterBase()}proxy/${port}/`, location.origin);
    const answer = await fetch(address, { cache: "no-store" }).catch(() => undefined);
    if (!answer?.ok || !(await answer.text()).includes("<title>agentnb</title>")) {
      await this.#context.request("phone/unpair", {});
      throw new Error(
        "This Jupyter server doesn't forward requests to the kernel. Install jupyter-server-proxy in its environment and restart it.",
      );
    }
    this.#code = { name, address: `${address}#${token}` };
  }

  async #newCode(params: object): Promise<{ name: string; token: string; port: number }> {
    const answer = await this.#context.request("phone/pair", params);
    if (isObject(answer) && typeof answer.name === "string" && typeof answer.token === "string")
      return { name: answer.name, token: answer.token, port: Number(answer.port) };
    throw new Error("The kernel's answer doesn't follow the protocol. Update agentnb and restart the kernel.");
  }

  async #unpair(): Promise<void> {
    this.#code = undefined;
    await this.#pair(async () => void (await this.#context.request("phone/unpair", {})));
  }
}

/** The code, a button to copy its address, and a warning if one applies. */
function codeElement({ address }: Code): HTMLElement {
  const { protocol, hostname } = new URL(address);
  const copy = button("Copy link", () => void navigator.clipboard?.writeText(address), "button small");
  const warning = LOCAL.test(hostname)
    ? "Only this machine can reach this address."
    : protocol === "http:"
      ? "Not encrypted: others on this network can read the questions and use the code."
      : "";
  return element(
    "div",
    "phone-scan",
    picture(address),
    ...(warning ? [element("p", "phone-warning", warning)] : []),
    copy,
  );
}

function picture(text: string): SVGElement {
  const { size, data } = encode(text, { ecc: "M", border: 0 });
  const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  const svg = made("svg", {
    viewBox: `${-QUIET} ${-QUIET} ${size + 2 * QUIET} ${size + 2 * QUIET}`,
    class: "phone-code",
    role: "img",
    "aria-label": "The code to scan",
    "shape-rendering": "crispEdges",
  });
  const whole = { x: -QUIET, y: -QUIET, width: size + 2 * QUIET, height: size + 2 * QUIET, fill: "#fff" };
  svg.append(made("rect", whole), made("path", { d: dark.join(""), fill: "#000" }));
  return svg;
}

function made(name: string, attributes: Record<string, string | number>): SVGElement {
  const one = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, String(value));
  return one;
}

/** The Jupyter server's base URL, from the page's configuration; undefined on other pages. */
function jupyterBase(): string | undefined {
  try {
    const { baseUrl } = JSON.parse(document.getElementById("jupyter-config-data")?.textContent ?? "") as {
      baseUrl?: unknown;
    };
    return typeof baseUrl === "string" ? baseUrl : undefined;
  } catch {
    return undefined;
  }
}

function throughServer(): string {
  const isSafe = location.protocol === "https:";
  return `The server's jupyter-server-proxy forwards it. Sign in there on the phone first.${isSafe ? "" : " Not encrypted: others on the network can read along."}`;
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
