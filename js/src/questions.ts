/** What an agent asks in a form. Fetched when one asks. */
import { FetchedStyles } from "./fetched-styles";
import css from "./questions.css";

export { InputForm } from "./view/input-request";
export const styles = new FetchedStyles(css);
