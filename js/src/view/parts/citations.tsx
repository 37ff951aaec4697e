/** What a research found in a package's source: each finding with its place, which opens to the line. */
import type { ToolCallCitation, ToolCallResearch } from "../../state/types.gen";
import { useOpenFile, useView, useWorkspace } from "../context";
import { Button } from "../controls";
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
        {session && <Button onClick={open}>Open conversation</Button>}
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

function Cited({ id, citation }: { id: string; citation: ToolCallCitation }) {
  const { place, path } = citation;
  const folder = useWorkspace();
  const openFile = useOpenFile();
  return (
    <Fold id={id} className="citation" head={<code>{line(place, 200)}</code>}>
      <pre>
        <code>
          <Excerpt citation={citation} />
        </code>
      </pre>
      <span class="dim small">{plain(path)}</span>
      {path && openFile && (
        <Button onClick={() => openFile(folder ? inFolder(path, folder) : path, citation.line)}>Open</Button>
      )}
    </Fold>
  );
}

/** The lines around the place, each with its number; its own is marked. */
function Excerpt({ citation: { line: number = 1, excerpt, lines, firstLine } }: { citation: ToolCallCitation }) {
  const shown = lines !== undefined && firstLine !== undefined ? lines.split("\n") : [excerpt ?? ""];
  const first = shown.length > 1 ? (firstLine ?? number) : number;
  const width = String(first + shown.length).length;
  return shown.map((text, index) => {
    const told = `${String(first + index).padStart(width)}: ${plain(text)}`;
    const end = index < shown.length - 1 ? "\n" : "";
    return first + index === number ? <mark key={index}>{told + end}</mark> : told + end;
  });
}
