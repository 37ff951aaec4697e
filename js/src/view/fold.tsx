/** A part that opens and closes; the view remembers the user's choice. */
import type { ComponentChildren } from "preact";
import { useMemory } from "./context";
import { Icon } from "./icons";

interface HeadProps {
  isOpen: boolean;
  onToggle: () => void;
  children: ComponentChildren;
}

/** The line that opens and closes the content below it. */
export function FoldHead({ isOpen, onToggle, children }: HeadProps) {
  return (
    <button type="button" class="row fold-head" aria-expanded={isOpen} onClick={onToggle}>
      <Icon name="chevron" className="fold-mark" />
      {children}
    </button>
  );
}

interface Props {
  id: string;
  /** True if it is open until the user chooses. */
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
      <FoldHead isOpen={isOpen} onToggle={() => choose(!isOpen)}>
        {head}
      </FoldHead>
      {isOpen && <div class="fold-body">{children}</div>}
    </div>
  );
}
