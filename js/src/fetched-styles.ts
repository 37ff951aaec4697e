/** The style sheet of a module that is fetched when it is needed: added to each view that uses the module, once. */
export class FetchedStyles {
  readonly #css: string;
  #sheet: CSSStyleSheet | undefined;

  constructor(css: string) {
    this.#css = css;
  }

  /** `root`: of the node that the module draws into. */
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
