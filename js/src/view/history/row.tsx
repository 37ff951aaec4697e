/** One conversation of the history: its title, search hits, preview, and a menu of actions. */

import { useRef, useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import type { SearchHit } from "../../state/requests.gen";
import { Button, Trouble } from "../controls";
import { Icon, Spinner } from "../icons";
import { Menu, type MenuItem } from "../menu";
import { count, line, plain, reason } from "../plain";
import { RenameForm } from "../rename";
import { fileName, save } from "../save-file";
import { useAnswer } from "../use-work";
import { type Change, type Conversation, FORMS, type Scope } from "./list";

interface Props {
  conversation: Conversation;
  agent: string;
  scope: Scope;
  isOpen: boolean;
  /** True if the Tab key reaches this row; the arrow keys move from row to row. */
  isCurrent: boolean;
  /** The reason why the last action failed. */
  trouble: string | undefined;
  busy: boolean;
  /** True if the user has selected it; undefined outside the selection. */
  isChosen: boolean | undefined;
  request: Request;
  doings: RowHandlers;
}

export interface RowHandlers {
  focus(one: Conversation): void;
  choose(one: Conversation, isChosen: boolean): void;
  open(one: Conversation): unknown;
  remove(one: Conversation): void;
  change(one: Conversation, change: Change): unknown;
  duplicate(one: Conversation): unknown;
  trouble(uri: string, why: string): void;
}

export function Row(props: Props) {
  const { conversation, agent, scope, isOpen, isCurrent, trouble, busy, isChosen, request, doings } = props;
  const onOpen = () => doings.open(conversation);
  const onChange = (change: Change) => doings.change(conversation, change);
  const [isPreviewed, setPreviewed] = useState(false);
  const [isRenaming, setRenaming] = useState(false);
  const main = useRef<HTMLButtonElement>(null);
  const title = line(conversation.title, 120) || agent;
  const canOpen = !conversation.isElsewhere;
  const canDelete = canOpen && !isOpen;
  const tabIndex = isCurrent ? 0 : -1;
  const remove = () => doings.remove(conversation);
  const endRenaming = () => {
    setRenaming(false);
    main.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const isMain = event.target === main.current;
    if (event.key === "Escape" && isRenaming) endRenaming();
    else if (event.key === "Delete" && canDelete && isMain) remove();
    else if (event.key === "F2" && canOpen && isMain) setRenaming(true);
    else if (event.key === "ArrowRight" && isMain) setPreviewed(true);
    else if (event.key === "ArrowLeft" && isMain) setPreviewed(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const keepFile = ([form, , type]: (typeof FORMS)[number]) =>
    void request("exportSession", { channel: conversation.uri, form }).then(
      ({ text }) => save(fileName(title).replace(/md$/, form), new Blob([text], { type })),
      (error: unknown) => doings.trouble(conversation.uri, `Couldn't be exported: ${reason(error)}`),
    );
  const { pinned: isPinned, archived: isArchived } = conversation;
  const preview = () => setPreviewed(!isPreviewed);
  const items: MenuItem[] = [
    { name: isPreviewed ? "Hide preview" : "Preview", detail: isPreviewed ? "←" : "→", onSelect: preview },
    ...(canOpen ? [{ name: "Rename", detail: "F2", onSelect: () => setRenaming(true) }] : []),
    { name: isPinned ? "Unpin" : "Pin", onSelect: () => onChange({ pinned: !isPinned }) },
    { name: isArchived ? "Unarchive" : "Archive", onSelect: () => onChange({ archived: !isArchived }) },
    { name: "Duplicate", onSelect: () => doings.duplicate(conversation) },
    ...FORMS.map((form) => ({ name: `Export as ${form[1]}`, onSelect: () => keepFile(form) })),
    ...(canDelete ? [{ name: "Delete", detail: "Del", onSelect: remove }] : []),
  ];
  return (
    <li class="history-row" onKeyDown={onKeyDown} onFocusIn={() => doings.focus(conversation)}>
      <div class="row history-line">
        {isChosen !== undefined && (
          <input
            type="checkbox"
            aria-label={`Select ${title}`}
            checked={isChosen}
            disabled={!canDelete}
            onChange={(event) => doings.choose(conversation, event.currentTarget.checked)}
          />
        )}
        <button
          ref={main}
          type="button"
          class="row history-main"
          tabIndex={tabIndex}
          title={canOpen ? (isOpen ? "Go to this conversation" : "Open") : "Preview"}
          disabled={busy}
          onClick={canOpen ? onOpen : preview}
        >
          <span class="column history-about">
            <span class="cut history-title">{title}</span>
            <span class="dim small">
              {line(agent, 40)} · {new Date(conversation.modifiedAt).toLocaleTimeString([], { timeStyle: "short" })}
              {isOpen && " · open"}
              {conversation.isElsewhere && " · open in another kernel"}
              <Where conversation={conversation} scope={scope} />
            </span>
          </span>
        </button>
        <Menu label={`More: ${title}`} items={items} placement="in-flow" disabled={busy} tabIndex={tabIndex}>
          <Icon name="more" />
        </Menu>
      </div>
      {isRenaming && (
        <RenameForm
          class="row wraps history-ask"
          title={conversation.title}
          onRename={(title) => onChange({ title })}
          onDone={endRenaming}
          cancel={<Button onClick={endRenaming}>Cancel</Button>}
        />
      )}
      {conversation.hits.length > 0 && (
        <ul class="list history-hits">
          {conversation.hits.map((hit) => (
            <Found key={`${hit.number} ${hit.where}`} hit={hit} />
          ))}
        </ul>
      )}
      <Trouble text={line(trouble, 600)} class="history-trouble small" />
      {isPreviewed && <PreviewOf conversation={conversation} title={title} request={request} />}
    </li>
  );
}

/** The notebook and the folder, unless the scope implies them. */
function Where({ conversation: { place, cwd }, scope }: { conversation: Conversation; scope: Scope }) {
  const parts = scope === "everywhere" ? [place, cwd] : scope === "folder" ? [place] : [];
  return (
    <>
      {parts
        .filter((part): part is string => Boolean(part))
        .map((part) => (
          <span key={part} title={plain(part)}>
            {" · "}
            {shortened(part)}
          </span>
        ))}
    </>
  );
}

/** Keeps the end of a path, which says most. */
function shortened(path: string): string {
  const clean = line(path, 4000);
  return clean.length > 60 ? `…${clean.slice(-59)}` : clean;
}

function Found({ hit }: { hit: SearchHit }) {
  return (
    <li class="small">
      <span class="dim">
        {hit.where === "prompt" ? "Prompt" : "Answer"} {count(hit.number + 1)}:{" "}
      </span>
      {plain(hit.before)}
      <mark>{plain(hit.text)}</mark>
      {plain(hit.after)}
    </li>
  );
}

function PreviewOf({ conversation, title, request }: { conversation: Conversation; title: string; request: Request }) {
  const { uri, modifiedAt } = conversation;
  const { answer: preview, trouble } = useAnswer(() => request("previewSession", { channel: uri }), [uri, modifiedAt]);
  if (trouble) return <Trouble text={`Couldn't be read: ${trouble}`} class="history-trouble small" />;
  if (!preview) return <Spinner />;
  const turnCount = preview.turns.length;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="history-preview" aria-label={`Preview of ${title}`} tabIndex={0}>
      {turnCount < preview.total && (
        <p class="dim small">
          The last {count(turnCount)} of {count(preview.total)} turns
        </p>
      )}
      {preview.turns.map((turn) => (
        <div key={turn.number} class="history-turn">
          <p class="plain history-prompt">{plain(turn.prompt)}</p>
          {turn.answer && <p class="plain">{plain(turn.answer)}</p>}
          {turn.cut && <p class="dim small">Shortened. Open the conversation to read it in full.</p>}
        </div>
      ))}
      {turnCount === 0 && <p class="dim small">No finished turns yet.</p>}
    </section>
  );
}
