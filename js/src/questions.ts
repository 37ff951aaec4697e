/** The form of an agent's questions. Fetched when an agent asks some. */
import { FetchedStyles } from "./fetched-styles";
import css from "./questions.css";

export { InputForm } from "./view/input-request";
export const styles = new FetchedStyles(css);
