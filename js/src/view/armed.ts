/** Buttons that do nothing for a moment after they appear: a click or a key meant for something else cannot answer. */
import { useState } from "preact/hooks";
import { INERT_FOR } from "./permission-answer";
import { useAfter } from "./use-work";

/** False for the first half second after `what` has appeared in this place. */
export function useArmed(what: string): boolean {
  const [armedFor, arm] = useState<string>();
  useAfter(INERT_FOR, () => arm(what), [what]);
  return armedFor === what;
}
