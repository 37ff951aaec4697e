/** The history panel, which is fetched when it is opened first. It has its own copy of Preact. */
export { mountHistory as default } from "./view/history/panel";
