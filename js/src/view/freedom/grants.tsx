/** Every grant (conversation, folders, user), with its permissions and a button that revokes it. */
import type { ReadonlySignal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import type { Grant } from "../../state/requests.gen";
import { coded, TextButton, Trouble } from "../controls";
import { useSettingsChanges } from "../fetched-panel";
import { line, plain, reason } from "../plain";

interface Props {
  /** The conversation whose grants come first; empty if none is shown. */
  channel?: string;
  readonly request: Request;
  readonly settingsChanged?: ReadonlySignal<unknown> | undefined;
  announce(sentence: string): void;
}

export function Grants({ channel = "", request, settingsChanged, announce }: Props) {
  const [grants, setGrants] = useState<readonly Grant[]>();
  const [trouble, setTrouble] = useState("");
  const [message, say] = useState("");
  const load = () =>
    request("listGrants", {}).then(
      (answer) => setGrants(answer.grants),
      (error) => setTrouble(reason(error)),
    );
  useSettingsChanges(request, settingsChanged, load);
  const revoke = async ({ id }: Grant) => {
    try {
      const { message } = await request("revokeGrant", { id });
      say(plain(message));
      announce(plain(message));
      setTrouble("");
    } catch (error) {
      setTrouble(reason(error));
    }
    await load();
  };
  const own = ({ session }: Grant) => Number(session !== channel);
  const listed = (grants ?? []).toSorted((a, b) => own(a) - own(b));
  return (
    <div class="grants" role="group" aria-label="Allowed without asking">
      <h4>Allowed without asking</h4>
      {grants?.length === 0 && <p class="dim small">Nothing beyond its freedom.</p>}
      <ul class="list grants-list">
        {listed.map((grant) => (
          <li key={grant.id} class="row grant">
            <span>
              <span class="grant-text">{coded(line(plain(grant.text), 400))}</span>
              <span class="dim small">{where(grant, channel)}</span>
            </span>
            <TextButton
              aria-label={`Revoke: ${line(plain(grant.text), 200).replaceAll("`", "")}`}
              onClick={() => void revoke(grant)}
            >
              Revoke
            </TextButton>
          </li>
        ))}
      </ul>
      <p class="small" role="status">
        {message}
      </p>
      <Trouble text={trouble} />
    </div>
  );
}

function where({ scope, session, title }: Grant, channel: string): string {
  const conversation = session === channel ? "this conversation" : `“${line(title, 60)}”`;
  if (scope === "turn") return session === channel ? "This turn" : `This turn of ${conversation}`;
  if (scope === "conversation") return session === channel ? "This conversation" : `Conversation ${conversation}`;
  return scope === "folder" ? "In that folder, until you revoke it" : "In every trusted folder, until you revoke it";
}
