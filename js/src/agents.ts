/** The list of more agents, fetched when the user first opens it. It has its own copy of Preact. */
export { mountAgents as default } from "./view/agents/panel";
