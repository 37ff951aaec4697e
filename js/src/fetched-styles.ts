/** The style sheet of a module that is fetched on demand: added once to each view that uses the module. */
export class FetchedStyles {
  readonly #css: string;
  #sheet: CSSStyleSheet | undefined;

  constructor(css: string) {
    this.#css = css;
  }

  /** @param root The root of the node that the module draws into. */
  addTo(root: Node): void {
    if (!(root instanceof ShadowRoot) || !("adoptedStyleSheets" in root)) return;
    if (!this.#sheet) {
      this.#sheet = new CSSStyleSheet();
      this.#sheet.replaceSync(this.#css);
    }
    if (!root.adoptedStyleSheets.includes(this.#sheet))
      root.adoptedStyleSheets = [...root.adoptedStyleSheets, this.#sheet];
  }
}
