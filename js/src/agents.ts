/** The list of more agents, which is fetched when it is opened first. It has its own copy of Preact. */
export { mountAgents as default } from "./view/agents/panel";
