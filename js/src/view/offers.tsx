/** The list of completions above the box; the box keeps the focus and says which one is meant. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { table } from "../state/object";
import type { Offer } from "./completion";
import { Icon, type IconName } from "./icons";

const ICONS: Record<string, IconName> = table({
  variable: "variable",
  file: "file",
  folder: "folder",
  cell: "execute",
  command: "chat",
});

interface Props {
  id: string;
  offers: readonly Offer[];
  at: number;
  onChoose: (at: number) => void;
}

export function Offers({ id, offers, at, onChoose }: Props) {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const box = list.current;
    const item = box?.children[at] as HTMLElement | undefined;
    if (!box || !item) return;
    if (item.offsetTop < box.scrollTop) box.scrollTop = item.offsetTop;
    else box.scrollTop = Math.max(box.scrollTop, item.offsetTop + item.offsetHeight - box.clientHeight);
  }, [at, offers]);
  return (
    <div class="offers" role="listbox" id={id} aria-label="Completions" ref={list}>
      {offers.map((offer, index) => (
        <div
          key={offer.name}
          role="option"
          id={`${id}-${index}`}
          class="row offer"
          tabIndex={-1}
          aria-selected={index === at}
          // The mouse must not take the focus out of the box.
          onPointerDown={(event) => {
            event.preventDefault();
            onChoose(index);
          }}
        >
          <Icon name={ICONS[offer.kind] ?? "other"} />
          <span class="cut offer-name">{offer.name}</span>
          <span class="dim small cut">{offer.detail}</span>
        </div>
      ))}
    </div>
  );
}
