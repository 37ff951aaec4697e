/** The settings, which are fetched when they are opened first. They have their own copy of Preact. */
export { mountSettings as default } from "./view/settings/panel";
