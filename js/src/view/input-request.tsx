/** A question from the agent to the user (ACP elicitation): a form with its fields, or an address to visit. */

import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { own } from "../state/object";
import type { ChatInputCompleted, ChatInputRequest } from "../state/types.gen";
import { type Answers, answersOf, type Given, initial, trouble } from "./answers";
import { useMemory, usePlace, useView } from "./context";
import { Form } from "./controls";
import { Icon } from "./icons";
import { safeHref } from "./links";
import { LongText } from "./parts/long-text";
import { line, plain } from "./plain";
import { Field } from "./question";

const BUDGET = "budget";

/** Returns the answers to agentnb's own question at a turn's budget limit: a button each. */
function choicesOf({ id, questions }: ChatInputRequest) {
  const only = questions?.[0];
  return id.startsWith(`${BUDGET}-`) && only?.kind === "single-select" ? only.options : undefined;
}

export function InputForm({ request, agent }: { request: ChatInputRequest; agent: string }) {
  const { store, memory } = useView();
  const { chat } = usePlace();
  const title = useId();
  const questions = request.questions ?? [];
  const key = `input ${request.id}`;
  const [answers, setAnswers] = useMemory<Answers>(key, initial(questions));
  // Reads the memory, since two fields may change before the form is redrawn.
  const give = (id: string, value: Given) => setAnswers({ ...((memory.get(key) as Answers) ?? answers), [id]: value });
  const [tried, setTried] = useState(0);
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => {
    form.current?.querySelector("[role=alert]")?.parentElement?.querySelector("input")?.focus();
  }, [tried]);
  const troubles = Object.fromEntries(questions.map((one) => [one.id, trouble(one, own(answers, one.id))]));
  const complete = (response: "accept" | "decline" | "cancel", answers?: ChatInputCompleted["answers"]) =>
    store.dispatch(chat, {
      type: "chat/inputCompleted",
      requestId: request.id,
      response,
      ...(answers && { answers }),
    });
  const choices = choicesOf(request);
  if (choices) {
    const choose = (value: string) =>
      complete("accept", { [BUDGET]: { state: "submitted", value: { kind: "selected", value } } });
    return (
      <div class="input-request" role="group" aria-labelledby={title}>
        <div class="permission-head">
          <Icon name="question" />
          <strong id={title}>{line(request.message ?? "", 500)}</strong>
        </div>
        <div class="permission-options">
          {choices.map(({ id, label }, at) => (
            <button key={id} type="button" class={at === 0 ? "button primary" : "button"} onClick={() => choose(id)}>
              {line(label, 80)}
            </button>
          ))}
        </div>
      </div>
    );
  }
  const submit = () => {
    setTried(tried + 1);
    if (Object.values(troubles).every((one) => one === "")) complete("accept", answersOf(questions, answers));
  };
  return (
    <Form
      ref={form}
      class="input-request"
      aria-labelledby={title}
      noValidate
      onSubmit={submit}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <div class="permission-head">
        <Icon name="question" />
        <strong id={title}>{agent} asks</strong>
      </div>
      {request.message && (
        <div class="plain">
          <LongText text={request.message} draw={plain} />
        </div>
      )}
      {request.url && <Address url={request.url} />}
      {questions.map((question) => (
        <Field
          key={question.id}
          question={question}
          answer={own(answers, question.id)}
          trouble={tried ? (own(troubles, question.id) ?? "") : ""}
          onGive={(value) => give(question.id, value)}
        />
      ))}
      <div class="permission-options">
        <button type="submit" class="button primary">
          {request.url && questions.length === 0 ? "Done" : request.questions ? "Send" : "I've signed in"}
        </button>
        <button
          type="button"
          class="button"
          onClick={() => complete(request.questions || request.url ? "decline" : "cancel")}
        >
          Skip
        </button>
      </div>
    </Form>
  );
}

/** Shows the full address and its host. The agent chose the address, so it never opens by itself. */
function Address({ url }: { url: string }) {
  const href = safeHref(url);
  const host = href && hostOf(href);
  return (
    <div class="address">
      <code>
        <LongText text={url} draw={plain} />
      </code>
      {host ? (
        <p class="note">
          <Icon name="alert" /> The agent asks you to visit <strong>{host}</strong>. Continue only if you know this
          site, and enter only the password that belongs to it.{" "}
          <a href={href} target="_blank" rel="noopener noreferrer nofollow">
            Open in a new tab
          </a>
        </p>
      ) : (
        <p class="note">This address can't be opened here: it isn't a web address.</p>
      )}
    </div>
  );
}

function hostOf(href: string): string | undefined {
  try {
    const { protocol, host } = new URL(href);
    return protocol === "https:" || protocol === "http:" ? host : undefined;
  } catch {
    return undefined;
  }
}
