// The functions that built JSX calls: `h(name, props, ...children)` is a fifth shorter than the automatic form.
export { Fragment, h } from "preact";
