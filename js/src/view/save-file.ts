/** Saves files on the user's machine. */
import { line } from "./plain";

export function fileName(title: string): string {
  const name = line(title, 60)
    .replace(/[^\p{L}\p{N}._ -]+/gu, "")
    .trim()
    .replace(/\s+/g, "-");
  return `${name || "conversation"}.md`;
}

/** Saves a file through the browser; the page opens no part of it. */
export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
