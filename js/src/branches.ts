/** Tries side by side. Fetched when there are some. */
import css from "./branches.css";
import { FetchedStyles } from "./fetched-styles";

export { Branches } from "./view/branches/branches";
export const styles = new FetchedStyles(css);
