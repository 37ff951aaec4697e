/** What may be wrong with the tables that a turn changed. Fetched where there is something to say. */
import css from "./data-checks.css";
import { FetchedStyles } from "./fetched-styles";

export { DataChecks } from "./view/data-checks";
export const styles = new FetchedStyles(css);
