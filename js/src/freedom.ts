/** *Custom…* of the freedom, fetched when the user first opens it. It has its own copy of Preact. */
export { mountFreedom as default } from "./view/freedom/panel";
