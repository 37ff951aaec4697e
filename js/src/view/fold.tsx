/** A part that opens and closes; what the reader chose is remembered by the view. */
import type { ComponentChildren } from "preact";
import { useMemory } from "./context";
import { Icon } from "./icons";

interface Props {
  id: string;
  /** Whether it is open as long as the reader has not chosen. */
  open?: boolean;
  className?: string;
  head: ComponentChildren;
  children: ComponentChildren;
}

export function Fold({ id, open = false, className = "", head, children }: Props) {
  const [chosen, choose] = useMemory<boolean | undefined>(`fold ${id}`, undefined);
  const isOpen = chosen ?? open;
  return (
    <div class={`fold ${className}`} data-open={isOpen}>
      <button type="button" class="row fold-head" aria-expanded={isOpen} onClick={() => choose(!isOpen)}>
        <Icon name="chevron" className="fold-mark" />
        {head}
      </button>
      {isOpen && <div class="fold-body">{children}</div>}
    </div>
  );
}
