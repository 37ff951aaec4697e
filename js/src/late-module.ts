/**
 * anywidget gives a module two seconds to load. One that takes longer, on a busy machine or while JupyterLab starts, still
 * runs, but its model then drops every message: it waits for a promise that was rejected for good (anywidget 0.11).
 */
type Received = (message: object) => Promise<unknown>;

/** What is read here of ipywidgets' model; other front ends have less. */
export interface JupyterModel {
  readonly comm?: { on_msg(received: Received): void; send?(data: object): void };
  readonly _handle_comm_msg?: Received;
}

/** Has messages handled as ipywidgets does, where anywidget's model would drop them; the result is true where it would. */
export async function hearThoughLate(model: JupyterModel | undefined): Promise<unknown> {
  // Without a method it changes nothing: it only tells whether messages are dropped.
  return model?._handle_comm_msg?.({ content: { data: {} } }).catch(() => {
    const { _handle_comm_msg: received } = Object.getPrototypeOf(Object.getPrototypeOf(model)) as JupyterModel;
    if (received) model.comm?.on_msg(received.bind(model));
    return true;
  });
}
