/** Possible problems in the tables that a turn changed. Fetched when there are some. */
import css from "./data-checks.css";
import { FetchedStyles } from "./fetched-styles";

export { DataChecks } from "./view/data-checks";
export const styles = new FetchedStyles(css);
