/** What is attached to messages from the notebook: loaded when something is. */
export { addition } from "./add-to-chat";
export { outputsOf } from "./outputs";
