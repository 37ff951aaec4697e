/** A part that opens and closes; what the reader chose is remembered by the view. */
import type { ComponentChildren } from "preact";
import { useMemory } from "./context";
import { Icon } from "./icons";

interface HeadProps {
  isOpen: boolean;
  onToggle: () => void;
  children: ComponentChildren;
}

/** The line that opens and closes what stands below it. */
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
      <FoldHead isOpen={isOpen} onToggle={() => choose(!isOpen)}>
        {head}
      </FoldHead>
      {isOpen && <div class="fold-body">{children}</div>}
    </div>
  );
}
