/** The user's message as typed, with its attachments. */
import { useState } from "preact/hooks";
import { isObject } from "../../state/object";
import type { Message, MessageAttachment } from "../../state/types.gen";
import { TextButton } from "../controls";
import { Icon } from "../icons";
import { imageSource } from "../links";
import { line } from "../plain";
import { LongText } from "./long-text";
import { Whole } from "./whole";

const LONG = 1200;

export function UserMessage({ message }: { message: Message }) {
  return (
    <div class="user-message">
      <span class="sr-only">You said:</span>
      <Whole of={message} field="text">
        {(text = "") => {
          const words = wordsIn(message, text);
          return (
            <>
              <UserText text={text.slice(0, words)} />
              {words < text.length && (
                <details class="for-agent">
                  <summary>Instructions for the agent</summary>
                  <UserText text={text.slice(words).trim()} />
                </details>
              )}
            </>
          );
        }}
      </Whole>
      {message.attachments && message.attachments.length > 0 && (
        <div class="attachments">
          {message.attachments.map((attachment, index) => (
            <Attachment key={index} attachment={attachment} />
          ))}
        </div>
      )}
    </div>
  );
}

/** Returns the length of the user's own part of a message: a notebook command adds instructions for the agent. */
export function wordsIn({ _meta }: Message, text: string): number {
  const meta = _meta?.agentnb;
  return isObject(meta) && typeof meta.words === "number" ? meta.words : text.length;
}

export function UserText({ text }: { text: string }) {
  const [whole, show] = useState(false);
  const long = text.length > LONG + 300;
  return (
    <>
      <div class="user-text">{long && !whole ? `${text.slice(0, LONG)}…` : <LongText text={text} whole />}</div>
      {long && (
        <TextButton aria-expanded={whole} onClick={() => show(!whole)}>
          {whole ? "Show less" : "Show all"}
        </TextButton>
      )}
    </>
  );
}

function Attachment({ attachment }: { attachment: MessageAttachment }) {
  const { label, contentType, data } = attachment as { label?: string; contentType?: string; data?: string };
  if (imageSource(contentType, data || "AAAA"))
    return (
      <Whole of={attachment} field="data" atOnce>
        {(whole) => <img class="thumbnail" src={imageSource(contentType, whole)} alt={line(label ?? "Picture", 200)} />}
      </Whole>
    );
  return (
    <span class="content-chip">
      <Icon name="file" />
      <span>{line(label ?? "Attachment", 120)}</span>
    </span>
  );
}
