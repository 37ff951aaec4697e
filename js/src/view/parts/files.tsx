/** The files that a turn changed: each with its change to unfold, and a download button. */
import { useMemo } from "preact/hooks";
import type { Turn } from "../../state/types.gen";
import { usePlace, useView, useWorkspace } from "../context";
import { Trouble } from "../controls";
import { Fold } from "../fold";
import { IconButton } from "../icons";
import { memo } from "../memo";
import { splitPath } from "../plain";
import { save } from "../save-file";
import { isOver } from "../store";
import { useWork } from "../use-work";
import { changes } from "./changes";
import { Changed } from "./diff";

const OPEN = 5;

export const Files = memo(({ turn }: { turn: Turn }) => {
  const cwd = useWorkspace();
  const files = useMemo(() => changes(turn.responseParts, cwd), [turn.responseParts, cwd]);
  const id = `${turn.id} files`;
  if (files.length === 0) return null;
  return (
    <section class="files" aria-label="Files">
      <Fold id={id} open={files.length <= OPEN} head={<span>Files ({files.length})</span>}>
        {files.map((file) => (
          <div key={file.path} class="file">
            <Changed id={`${id} ${file.path}`} label="Show change of " {...file} />
            {file.kind !== "deleted" && <Download path={file.path} />}
          </div>
        ))}
      </Fold>
    </section>
  );
});

/** Downloads a file of the workspace, or shows the reason why not. */
export function Download({ path }: { path: string }) {
  const { store } = useView();
  const { chat } = usePlace();
  const { isBusy, trouble, run } = useWork();
  const { name } = splitPath(path);
  const download = () => void run(async () => save(name, await store.file(chat, path)));
  return (
    <>
      <IconButton
        name={`Download ${name}`}
        icon="save"
        disabled={isBusy || isOver(store.connection.value)}
        onClick={download}
      />
      <Trouble text={trouble} class="note" />
    </>
  );
}
