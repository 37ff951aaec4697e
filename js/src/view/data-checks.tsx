/** Shows, below a turn, what may be wrong with the tables that it changed: a line each, with actions when opened. */
import type { DataCheck } from "../state/types.gen";
import { useMemory, usePlace, useView } from "./context";
import { coded, TextButton } from "./controls";
import { byTable, lineOf } from "./data-check-lines";
import { Fold } from "./fold";
import { Icon } from "./icons";
import { line, plain } from "./plain";

/** Number of lines shown at first. */
const SHOWN = 2;

export function DataChecks({ id, checks }: { id: string; checks: readonly DataCheck[] }) {
  const [isOpen, open] = useMemory(`${id} checks`, false);
  const tables = byTable(checks);
  const left = tables.length - SHOWN;
  return (
    <section class="data-checks" aria-label="Data checks">
      {tables.slice(0, isOpen ? tables.length : SHOWN).map((checks) => (
        <Fold
          key={checks[0]?.table}
          id={`${id} checks ${checks[0]?.table}`}
          head={
            <>
              <Icon name="alert" className="warn" />
              <span class="label data-check-line">{coded(lineOf(checks))}</span>
            </>
          }
        >
          <ul class="list">
            {checks.map((check) => (
              <li key={check.text}>
                <One check={check} isAlone={checks.length === 1} />
              </li>
            ))}
          </ul>
        </Fold>
      ))}
      {left > 0 && !isOpen && (
        <TextButton onClick={() => open(true)}>
          {left} more table{left > 1 ? "s" : ""}
        </TextButton>
      )}
    </section>
  );
}

/** One finding; a single one is already shown in the line. */
function One({ check, isAlone }: { check: DataCheck; isAlone: boolean }) {
  const { store, drafts, root, announce } = useView();
  const { chat } = usePlace();
  const { notebook } = store;
  const does = (what: () => void, announcement: string) => () => {
    what();
    announce(announcement);
  };
  const ask = () => {
    const written = drafts.of(chat).peek().trimEnd();
    drafts.set(chat, written === "" ? plain(check.question) : `${written}\n${plain(check.question)}`);
    root.querySelector<HTMLElement>(".prompt textarea")?.focus();
  };
  const { show = "", assertion = "" } = check;
  return (
    <>
      {!isAlone && <p>{coded(line(check.text, 300))}</p>}
      <div class="row wraps">
        {notebook && show && (
          <TextButton title={plain(show)} onClick={does(() => notebook.run(show), "Showing them in a new cell.")}>
            Show them
          </TextButton>
        )}
        <TextButton title="Put the question in the message box" onClick={ask}>
          Ask the agent
        </TextButton>
        {notebook && assertion && (
          <TextButton
            title={plain(assertion)}
            onClick={does(() => notebook.insertBelow(assertion), "Inserted in a new cell.")}
          >
            Make it an assertion
          </TextButton>
        )}
        {check.isSampled && <span class="dim">Found in a sample of the rows</span>}
      </div>
    </>
  );
}
