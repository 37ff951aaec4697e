/** The settings, fetched when the user first opens them. They have their own copy of Preact. */
export { mountSettings as default } from "./view/settings/panel";
