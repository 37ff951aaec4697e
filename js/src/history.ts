/** The history panel, fetched when the user first opens it. It has its own copy of Preact. */
export { mountHistory as default } from "./view/history/panel";
