/** A folder on the kernel's machine, chosen among those in the home folder and in the kernel's folder. */
import { useRef, useState } from "preact/hooks";
import type { Answer, Request } from "../../state/answers";
import { Button, onEscape, TextButton } from "../controls";
import { line, plain, reason } from "../plain";

interface Props {
  /** A label for screen readers. */
  label: string;
  /** The folder to begin in; if empty, the kernel's folder. */
  from: string;
  request: Request;
  onChoose: (path: string) => void;
}

/** *Choose…*, and the folders below it once the user has pressed it. */
export function FolderChooser({ label, from, request, onChoose }: Props) {
  const [listing, setListing] = useState<Answer<"listFolders">>();
  const [trouble, setTrouble] = useState("");
  const list = useRef<HTMLDivElement>(null);
  const look = async (path: string) => {
    try {
      setListing(await request("listFolders", { path }));
      setTrouble("");
      list.current?.focus();
    } catch (error) {
      if (path !== "") return look(""); // missing or not listed: begin in the kernel's folder
      setTrouble(reason(error));
    }
  };
  const join = (name: string) => {
    const path = listing?.path ?? "";
    const separator = path.includes("\\") ? "\\" : "/";
    return path.endsWith(separator) ? path + name : path + separator + name;
  };
  if (!listing) {
    return (
      <>
        <Button aria-label={`Choose ${label}`} onClick={() => void look(from)}>
          Choose…
        </Button>
        {trouble && <span class="error-text">{plain(trouble)}</span>}
      </>
    );
  }
  return (
    <div
      class="setting-folders"
      role="group"
      aria-label={`Choose ${label}`}
      ref={list}
      tabIndex={-1}
      onKeyDown={onEscape(() => setListing(undefined))}
    >
      <code>{line(listing.path, 400)}</code>
      <ul>
        {listing.parent !== undefined && (
          <li>
            <TextButton onClick={() => void look(listing.parent as string)}>Parent folder</TextButton>
          </li>
        )}
        {listing.folders.map((name) => (
          <li key={name}>
            <TextButton onClick={() => void look(join(name))}>{line(name, 100)}</TextButton>
          </li>
        ))}
      </ul>
      {listing.folders.length === 0 && <p class="dim small">No folders here.</p>}
      {listing.isCut && <p class="dim small">Too many to list: type the path.</p>}
      <Button
        class="primary"
        onClick={() => {
          onChoose(listing.path);
          setListing(undefined);
        }}
      >
        Use this folder
      </Button>{" "}
      <Button onClick={() => setListing(undefined)}>Cancel</Button>
      {trouble && <p class="error-text">{plain(trouble)}</p>}
    </div>
  );
}
