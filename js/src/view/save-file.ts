/** A file for the reader to keep. */
import { line } from "./plain";

export function fileName(title: string): string {
  const name = line(title, 60)
    .replace(/[^\p{L}\p{N}._ -]+/gu, "")
    .trim()
    .replace(/\s+/g, "-");
  return `${name || "conversation"}.md`;
}

/** Gives the reader a file to keep; nothing of it is opened in the page. */
export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
