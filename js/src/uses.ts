/** What an agent is given besides the conversation, and what is offered. Fetched where there is something to say. */
export { Uses } from "./view/uses";
