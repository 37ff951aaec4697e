/** Mentions and outputs from the notebook for messages; loaded at first use. */
export { addition } from "./add-to-chat";
export { outputsOf } from "./outputs";
