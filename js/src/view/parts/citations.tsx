/** What a research found in a package's source: each finding with its place, which opens to the line. */
import type { ToolCallCitation, ToolCallResearch } from "../../state/types.gen";
import { usePlace, useView } from "../context";
import { Fold } from "../fold";
import { Markdown } from "../markdown/markdown";
import { inFolder, line, plain } from "../plain";

export function Citations({ id, research }: { id: string; research: ToolCallResearch }) {
  const { root } = useView();
  const { session } = research;
  const open = () => root.host.dispatchEvent(new CustomEvent("agentnb-open", { detail: session }));
  return (
    <div class="citations">
      <p class="dim small">
        Found in the source of {line(research.package, 80)} {line(research.version, 40)}
        {session && (
          <button type="button" class="button small" onClick={open}>
            Open conversation
          </button>
        )}
      </p>
      <ol>
        {research.citations.map((citation, index) => (
          <li key={index}>
            <Markdown text={citation.text} />
            {citation.place && <Cited id={`${id} c${index}`} citation={citation} />}
          </li>
        ))}
      </ol>
    </div>
  );
}

function Cited({ id, citation: { place, path, line: number, excerpt } }: { id: string; citation: ToolCallCitation }) {
  const { store } = useView();
  const { session } = usePlace();
  const folder = store.session(session).peek()?.summary.workingDirectory;
  const openFile = store.notebook?.openFile;
  const inside = path && folder ? inFolder(path, folder) : path;
  return (
    <Fold id={id} className="citation" head={<code>{line(place, 200)}</code>}>
      <pre>
        <code>
          {number}: {plain(excerpt)}
        </code>
      </pre>
      <span class="dim small">{plain(path)}</span>
      {inside && inside !== path && openFile && (
        <button type="button" class="button small" onClick={() => openFile(inside, folder)}>
          Open
        </button>
      )}
    </Fold>
  );
}
