/** Buttons that do nothing for a moment after they appear: a click or a key meant for something else cannot answer. */
import { useEffect, useState } from "preact/hooks";
import { INERT_FOR } from "./permission-answer";

/** False for the first half second after `what` has appeared in this place. */
export function useArmed(what: string): boolean {
  const [armedFor, arm] = useState<string>();
  useEffect(() => {
    const timer = setTimeout(() => arm(what), INERT_FOR);
    return () => clearTimeout(timer);
  }, [what]);
  return armedFor === what;
}
