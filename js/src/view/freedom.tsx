/** How freely the agent works: what answers permission requests, and what it may do with the kernel. */
import type { SessionState } from "../state/types.gen";
import { usePlace, useView } from "./context";
import { line } from "./plain";
import { type Choice, Select } from "./select";

const PERMISSION_MODES: readonly Choice[] = [
  { value: "ask", name: "Ask", description: "Ask unless a rule decides." },
  {
    value: "allow",
    name: "Allow",
    description: "Ask only for critical commands, sensitive files, and anything outside the workspace.",
  },
  { value: "deny", name: "Deny", description: "Deny everything your rules don't allow." },
];

/** When the user reviews a change of a cell: the kernel's own setting (`Agentnb.cell_review`). */
const REVIEWS: readonly Choice[] = [
  { value: "first", name: "Review first", description: "A cell shows a change until you accept or reject it." },
  {
    value: "after",
    name: "Apply, review after",
    description: "A change is made at once. The cell shows what changed, with Keep and Undo.",
  },
];

const ACCESS: Choice[] = [
  { value: "off", name: "Off", description: "The agent can't use the kernel." },
  { value: "look", name: "Look", description: "The agent sees variables and cells, and changes nothing." },
  {
    value: "run",
    name: "Run with approval",
    description: "The agent also runs code and changes cells, as Permissions say.",
  },
];

export function Freedom({ session, disabled }: { session: SessionState | undefined; disabled: boolean }) {
  const { store } = useView();
  const { session: uri } = usePlace();
  const values = session?.config?.values ?? {};
  const { permissions, kernel, cellReview } = values;
  if (typeof permissions !== "string") return null;
  const access = permissions === "ask" ? ACCESS : ACCESS.with(2, { ...(ACCESS[2] as Choice), name: "Run" });
  const select = (
    field: "permissions" | "kernel" | "cellReview",
    name: string,
    choices: readonly Choice[],
    className = "",
  ) => (
    <Select
      name={name}
      className={className}
      value={typeof values[field] === "string" ? values[field] : "off"}
      groups={[{ name: "", choices }]}
      disabled={disabled}
      onChoose={(chosen) => store.dispatch(uri, { type: "session/configChanged", config: { [field]: chosen } })}
    />
  );
  return (
    <div class="row wraps selectors">
      {select("permissions", "Permissions", PERMISSION_MODES, `is-${line(permissions, 9)}`)}
      {select("kernel", "Kernel", access)}
      {kernel === "run" && typeof cellReview === "string" && select("cellReview", "Cell edits", REVIEWS)}
    </div>
  );
}
