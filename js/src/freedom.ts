/** *Custom…* of the freedom, which is fetched when it is opened first. It has its own copy of Preact. */
export { mountFreedom as default } from "./view/freedom/panel";
