/** A page that streams: `stream(perSecond, seconds)` writes an answer into the real view, through the real reducers. */
import { type Signal, signal } from "@preact/signals";
import { reduceChat } from "../src/state/reduce";
import type { Action, ChatState } from "../src/state/types.gen";
import { mount } from "../src/view/mount";
import { SCENES } from "./scenes";
import { ANSWER } from "./texts";

const scene = (SCENES.empty as () => ReturnType<(typeof SCENES)[string]>)();
const CHAT = "claude:/analysis/chat";
const chat = scene.store.chat(CHAT) as Signal<ChatState>;
mount(document.querySelector("main") as HTMLElement, scene.store, scene.what);
const apply = (action: Action) => {
  chat.value = reduceChat(chat.peek(), action);
};
const done = signal(false);

function stream(perSecond: number, seconds: number): Promise<number> {
  apply({ type: "chat/turnStarted", turnId: "s", message: { text: "Go", origin: { kind: "user" } } });
  apply({ type: "chat/responsePart", turnId: "s", part: { kind: "markdown", id: "p", content: "" } });
  const words = ANSWER.repeat(40).match(/\S+\s*/g) ?? [];
  const start = performance.now();
  let sent = 0;
  return new Promise((resolve) => {
    const tick = () => {
      const due = Math.min(perSecond * seconds, ((performance.now() - start) / 1000) * perSecond);
      while (sent < due) {
        apply({ type: "chat/delta", turnId: "s", partId: "p", content: words[sent % words.length] as string });
        sent += 1;
      }
      if (sent < perSecond * seconds) return void setTimeout(tick, 40);
      done.value = true;
      resolve(performance.now() - start);
    };
    tick();
  });
}
Object.assign(globalThis, { stream });
