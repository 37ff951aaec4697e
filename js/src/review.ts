/** The list of a set's changes, and the choice between versions. Fetched when the user opens one. */
import { FetchedStyles } from "./fetched-styles";
import css from "./review.css";

export { ChangeList } from "./view/parts/change-list";
export { ConflictChoices } from "./view/parts/conflicts";
export const styles = new FetchedStyles(css);
