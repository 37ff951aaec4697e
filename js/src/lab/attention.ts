/** Shows in JupyterLab that an agent needs the user, and takes the user to the conversation. */
import type { Application } from "@jupyterlab/application";
import type { NotebookPanel } from "@jupyterlab/notebook";
import { addStyles } from "../element";
import styles from "./attention.css";
import type { Sidebar } from "./sidebar";

let isStyled = false;

/** Marks the sidebar's icon (Notebook 7: the toolbar's button) and the notebook's tab, or removes the marks. */
export function markNotebook(sidebar: Sidebar, panel: NotebookPanel): void {
  if (!isStyled) addStyles(styles);
  isStyled = true;
  if (sidebar.attention) document.body.dataset.agentnbAttention = sidebar.attention;
  else delete document.body.dataset.agentnbAttention;
  if (!panel.isDisposed) panel.title.dataset = { ...panel.title.dataset, agentnb: sidebar.attentionOf(panel) };
}

/** Brings a notebook and its chat to the front, with one of its conversations. */
export function showConversation(
  app: Application,
  sidebar: Sidebar,
  panel: NotebookPanel,
  reveal: () => void,
  resource: string,
): void {
  if (panel.isDisposed) return;
  app.shell.activateById(panel.id);
  reveal();
  sidebar.follow();
  sidebar.sessionOf(panel)?.open("The conversation", resource, "agentnb-open");
}
