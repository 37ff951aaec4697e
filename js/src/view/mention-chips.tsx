/** Shows what the mentions in a draft attach: a chip each, with its size and cuts, and its whole content on demand. */

import { useState } from "preact/hooks";
import { table } from "../state/object";
import type { MentionPreview } from "../state/requests.gen";
import { usePlace, useView } from "./context";
import { onEscape, Trouble } from "./controls";
import { Icon, type IconName } from "./icons";
import { imageSource } from "./links";
import { line, plain, short } from "./plain";
import { useAnswer } from "./use-work";

const ASK_AFTER = 300;
const LONGEST_DRAFT = 100_000;
const MENTION = /(?<![^\s([{"'“‘,;:>*])@(?:"[^"\n]+"|[^\W\d][^\s`"'()[\]{}<>,;!?*]*|[.~/][^\s`"'()[\]{}<>,;!?*]+)/gu;
const ICONS: Record<string, IconName> = table({ image: "image", symbol: "variable", directory: "folder" });

export function MentionChips({ draft, box }: { draft: string; box: { current: HTMLTextAreaElement | null } }) {
  const { store } = useView();
  const { chat } = usePlace();
  const [open, setOpen] = useState<string>();
  const text = draft.slice(0, LONGEST_DRAFT);
  const mentioned = text.includes("@") ? (text.match(MENTION) ?? []).join("\n") : "";
  // An older agentnb in the kernel has no previews.
  const { answer } = useAnswer(
    () => (mentioned ? store.request("previewMentions", { channel: chat, text }) : undefined),
    [mentioned, chat, store],
    mentioned ? ASK_AFTER : 0,
  );
  const items = (mentioned && answer?.items) || [];
  if (items.length === 0) return null;
  const current = items.find((one) => one.label === open);
  return (
    <div class="mentioned">
      <ul class="list" aria-label="Attached by mentions">
        {items.map(({ label, kind, tokens, leftOut, isTaken }) => (
          <li key={label}>
            <button
              type="button"
              class="mention-chip"
              aria-expanded={label === open}
              onClick={() => setOpen(open === label ? undefined : label)}
              onKeyDown={onEscape(() => {
                setOpen(undefined);
                box.current?.focus();
              })}
            >
              <Icon name={ICONS[kind] ?? "file"} />
              <span class="cut">{line(label, 60)}</span>
              {tokens !== undefined && <span class="chip-note">{`~${short(tokens)} tokens`}</span>}
              {leftOut.length > 0 && <span class="chip-note">cut</span>}
              {!isTaken && <span class="chip-note">not accepted</span>}
            </button>
          </li>
        ))}
      </ul>
      {current && <Preview key={current.label} of={current} text={text} />}
    </div>
  );
}

/** Shows what is sent for one of the mentions in `text`. */
function Preview({ of: { label, isTaken, leftOut }, text }: { of: MentionPreview; text: string }) {
  const { store } = useView();
  const { chat } = usePlace();
  const { answer, trouble } = useAnswer(() => store.request("previewMentions", { channel: chat, text, label }), []);
  const item = answer?.items.find((one) => one.label === label);
  return (
    <section class="mention-preview" aria-label={`Sent for ${line(label, 60)}`}>
      {!isTaken && <p class="note">This agent doesn't accept this, so it gets a sentence instead.</p>}
      {leftOut.map((sentence) => (
        <p class="note" key={sentence}>
          {line(sentence, 300)}
        </p>
      ))}
      <Trouble text={line(trouble, 300)} />
      {item && <Content of={item} />}
    </section>
  );
}

function Content({ of: { label, text, data, contentType } }: { of: MentionPreview }) {
  const source = data && imageSource(contentType, data);
  if (source) return <img src={source} alt={line(label, 60)} />;
  if (text !== undefined)
    return (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      <pre tabIndex={0}>{plain(text)}</pre>
    );
  return <p class="note">The agent gets the path and reads the file itself.</p>;
}
