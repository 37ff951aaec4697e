// What JSX becomes when it is built: `h(name, props, ...children)` is a fifth shorter than the automatic form.
export { Fragment, h } from "preact";
