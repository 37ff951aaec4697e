/** An agent's additional context, and offers of more. Fetched when there is something to show. */
export { Uses } from "./view/uses";
