/** A button that copies text and says so. */
import { useState } from "preact/hooks";
import { Icon } from "./icons";
import { useAfter } from "./use-work";

const SAID_FOR = 1600;

interface Props {
  text: string | (() => string);
  label: string;
  /** Words beside the icon, if the icon alone could be mistaken for another button. */
  words?: string;
}

export function CopyButton({ text, label, words }: Props) {
  const [outcome, say] = useState<"" | "Copied" | "Couldn't copy">("");
  useAfter(outcome ? SAID_FOR : undefined, () => say(""), [outcome]);
  const copy = () =>
    copyText(typeof text === "string" ? text : text()).then((done) => say(done ? "Copied" : "Couldn't copy"));
  return (
    <button
      type="button"
      class={words ? "row copy worded" : "icon-button copy"}
      aria-label={outcome || label}
      title={outcome || label}
      onClick={copy}
    >
      <Icon name={outcome === "Copied" ? "check" : "copy"} />
      {words && <span>{outcome || words}</span>}
    </button>
  );
}

/** The clipboard API exists only in secure contexts; the old command also works on a hub over plain http. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.style.cssText = "position:fixed;opacity:0";
  document.body.append(area);
  area.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    area.remove();
  }
}
