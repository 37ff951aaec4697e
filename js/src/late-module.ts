/**
 * anywidget gives a module two seconds to load. A module that takes longer, on a busy machine or while JupyterLab
 * starts, still runs, but its model then drops every message: it waits for a rejected promise (anywidget 0.11).
 */
type Received = (message: object) => Promise<unknown>;

/** The part of ipywidgets' model that this module reads; other front ends have less. */
export interface JupyterModel {
  readonly comm?: { on_msg(received: Received): void; send?(data: object): void };
  readonly _handle_comm_msg?: Received;
}

/** Handles messages as ipywidgets does if anywidget's model would drop them; then resolves to true. */
export async function hearThoughLate(model: JupyterModel | undefined): Promise<unknown> {
  // A message without a method changes nothing: it only shows whether messages are dropped.
  return model?._handle_comm_msg?.({ content: { data: {} } }).catch(() => {
    const { _handle_comm_msg: received } = Object.getPrototypeOf(Object.getPrototypeOf(model)) as JupyterModel;
    if (received) model.comm?.on_msg(received.bind(model));
    return true;
  });
}
