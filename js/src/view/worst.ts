/** The worst thing about a request. */
import { kernelText } from "./kernel-text";
import { line } from "./plain";

/** The first sentence: reasons are sorted, the worst one first. */
export function worstOf(reason: string): string {
  return kernelText(line(reason, 600).match(/^.+?[.!?](?=\s+[A-Z“]|$)/)?.[0] ?? line(reason, 600));
}
