/** One conversation of the history: what it is, where a search found it, its preview, and what can be done with it. */

import { useRef, useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import type { SearchHit } from "../../state/requests.gen";
import { Button, Trouble, useFocused } from "../controls";
import { Icon, IconButton, Spinner } from "../icons";
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
  /** Whether the Tab key comes to this row; the arrow keys go from row to row. */
  isCurrent: boolean;
  /** What went wrong with it. */
  trouble: string | undefined;
  busy: boolean;
  /** Whether it is among those that are chosen; undefined where none are being chosen. */
  isChosen: boolean | undefined;
  request: Request;
  doings: Doings;
}

/** What can be done with a conversation. */
export interface Doings {
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
  const [isAsking, setAsking] = useState(false);
  const [isRenaming, setRenaming] = useState(false);
  const main = useRef<HTMLButtonElement>(null);
  const title = line(conversation.title, 120) || agent;
  const canOpen = !conversation.isElsewhere;
  const canDelete = canOpen && !isOpen;
  const tabIndex = isCurrent ? 0 : -1;
  const keep = () => {
    setAsking(false);
    setRenaming(false);
    main.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && (isAsking || isRenaming)) keep();
    else if (event.key === "Delete" && canDelete && event.target === main.current) setAsking(true);
    else if (event.key === "F2" && canOpen && event.target === main.current) setRenaming(true);
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && canOpen) onOpen();
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
  const items: MenuItem[] = [
    ...(canOpen ? [{ name: "Rename", onSelect: () => setRenaming(true) }] : []),
    { name: isPinned ? "Unpin" : "Pin", onSelect: () => onChange({ pinned: !isPinned }) },
    { name: isArchived ? "Unarchive" : "Archive", onSelect: () => onChange({ archived: !isArchived }) },
    { name: "Duplicate", onSelect: () => doings.duplicate(conversation) },
    ...FORMS.map((form) => ({ name: `Export: ${form[1]}`, onSelect: () => keepFile(form) })),
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
          aria-expanded={isPreviewed}
          title="Preview"
          onClick={() => setPreviewed(!isPreviewed)}
        >
          <Icon name="chevron" />
          <span class="column history-about">
            <span class="cut history-title">{title}</span>
            <span class="dim small">
              {line(agent, 40)} · {count(conversation.turns ?? 0)} {conversation.turns === 1 ? "turn" : "turns"} ·{" "}
              {new Date(conversation.modifiedAt).toLocaleTimeString([], { timeStyle: "short" })}
              <Where conversation={conversation} scope={scope} />
            </span>
          </span>
          {isOpen && <span class="chip">Open</span>}
          {conversation.isElsewhere && <span class="chip">Open in another kernel</span>}
        </button>
        {canOpen && (
          <Button
            tabIndex={tabIndex}
            disabled={busy}
            aria-label={`${isOpen ? "Go to" : "Open"} ${title}`}
            onClick={onOpen}
          >
            {isOpen ? "Go to" : "Open"}
          </Button>
        )}
        {canDelete && (
          <IconButton
            name={`Delete ${title}`}
            title="Delete"
            icon="delete"
            tabIndex={tabIndex}
            disabled={busy}
            onClick={() => setAsking(true)}
          />
        )}
        <Menu label={`More: ${title}`} items={items} placement="in-flow" disabled={busy} tabIndex={tabIndex}>
          <Icon name="more" />
        </Menu>
      </div>
      {isRenaming && (
        <RenameForm
          class="row wraps history-ask"
          title={conversation.title}
          onRename={(title) => onChange({ title })}
          onDone={keep}
          cancel={<Button onClick={keep}>Cancel</Button>}
        />
      )}
      {conversation.hits.length > 0 && (
        <ul class="list history-hits">
          {conversation.hits.map((hit) => (
            <Found key={`${hit.number} ${hit.where}`} hit={hit} />
          ))}
        </ul>
      )}
      {isAsking && <Ask title={title} onDelete={() => doings.remove(conversation)} onKeep={keep} />}
      <Trouble text={line(trouble, 600)} class="history-trouble small" />
      {isPreviewed && <PreviewOf conversation={conversation} title={title} request={request} />}
    </li>
  );
}

/** The notebook and the folder, as far as the scope does not say them. */
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

/** The end of a path says most. */
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

function Ask({ title, onDelete, onKeep }: { title: string; onDelete: () => void; onKeep: () => void }) {
  const button = useFocused<HTMLButtonElement>();
  return (
    <div class="row wraps history-ask" role="group" aria-label={`Delete ${title}?`}>
      <span class="small">Delete this conversation and what is kept of its changes?</span>
      <Button ref={button} class="danger" onClick={onDelete}>
        Delete
      </Button>
      <Button onClick={onKeep}>Cancel</Button>
    </div>
  );
}

function PreviewOf({ conversation, title, request }: { conversation: Conversation; title: string; request: Request }) {
  const { uri, modifiedAt } = conversation;
  const { answer: preview, trouble } = useAnswer(() => request("previewSession", { channel: uri }), [uri, modifiedAt]);
  if (trouble) return <Trouble text={`Couldn't be read: ${trouble}`} class="history-trouble small" />;
  if (!preview) return <Spinner />;
  const shown = preview.turns.length;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="history-preview" aria-label={`Preview of ${title}`} tabIndex={0}>
      {shown < preview.total && (
        <p class="dim small">
          The last {count(shown)} of {count(preview.total)} turns
        </p>
      )}
      {preview.turns.map((turn) => (
        <div key={turn.number} class="history-turn">
          <p class="plain history-prompt">{plain(turn.prompt)}</p>
          {turn.answer && <p class="plain">{plain(turn.answer)}</p>}
          {turn.cut && <p class="dim small">Shortened: open the conversation to read all of it.</p>}
        </div>
      ))}
      {shown === 0 && <p class="dim small">No turn of it has finished yet.</p>}
    </section>
  );
}
