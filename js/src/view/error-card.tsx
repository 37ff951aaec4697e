/** Says what went wrong, and what can be done. */
import type { ComponentChildren } from "preact";
import { Icon } from "./icons";
import { LongText } from "./parts/long-text";
import { plain } from "./plain";

interface ErrorCardProps {
  title: string;
  message: string;
  action?: ComponentChildren;
}

export function ErrorCard({ title, message, action }: ErrorCardProps) {
  return (
    <div class="error-card" role="note">
      <Icon name="alert" />
      <div>
        <strong>{title}</strong>
        <div class="plain">
          <LongText text={message} draw={plain} />
        </div>
        {action}
      </div>
    </div>
  );
}
