/** Model, mode, effort: what the agent itself says it can be set to (ACP config options and modes). */
import { isObject } from "../state/guard";
import type { SessionState } from "../state/types.gen";
import { usePlace, useView } from "./context";
import { line } from "./plain";

interface Choice {
  value: string;
  name: string;
  description?: string | undefined;
}

interface Option {
  id: string;
  name: string;
  category: string;
  value: string | boolean;
  groups: { name: string; choices: Choice[] }[];
}

type Loose = Record<string, unknown>;
const ORDER = ["model", "mode", "thought_level", "model_config"];

/** The agent's options in the order model, mode, effort, others; odd ones are passed over. */
export function readOptions(raw: readonly Loose[] | undefined): Option[] {
  const options = (raw ?? []).flatMap((one): Option[] => {
    const { id, name, type, currentValue, category } = one;
    if (typeof id !== "string") return [];
    const base = { id, name: line(name ?? id, 40), category: typeof category === "string" ? category : "" };
    if (type === "boolean" || typeof currentValue === "boolean") {
      return [{ ...base, value: currentValue === true, groups: [] }];
    }
    const groups = readGroups(one.options);
    return typeof currentValue === "string" && groups.length > 0 ? [{ ...base, value: currentValue, groups }] : [];
  });
  const rank = ({ category }: Option) => (ORDER.includes(category) ? ORDER.indexOf(category) : ORDER.length);
  return options.toSorted((a, b) => rank(a) - rank(b));
}

function readGroups(raw: unknown): Option["groups"] {
  if (!Array.isArray(raw)) return [];
  const single = raw.flatMap(readChoice);
  const grouped = raw.flatMap((one: Loose) => {
    const choices = Array.isArray(one?.options) ? one.options.flatMap(readChoice) : [];
    return choices.length > 0 ? [{ name: line(one.name ?? one.group ?? "", 40), choices }] : [];
  });
  return single.length > 0 ? [{ name: "", choices: single }, ...grouped] : grouped;
}

function readChoice(raw: Loose | null): Choice[] {
  if (typeof raw?.value !== "string") return [];
  return [{ value: raw.value, name: line(raw.name ?? raw.value, 60), description: line(raw.description ?? "", 200) }];
}

/** The models of `agent` that the user wants in no list, by id; else those named as `agent/id`. */
function hiddenModels(look: unknown, agent: string): ReadonlySet<unknown> {
  const names = isObject(look) && Array.isArray(look.models_hidden) ? look.models_hidden : [];
  const own = `${agent}/`;
  return new Set(names.map((one) => (typeof one === "string" && one.startsWith(own) ? one.slice(own.length) : one)));
}

/** `option` with less to choose from; what is chosen stays. */
function without(option: Option, hidden: ReadonlySet<unknown>): Option {
  const isOffered = ({ value }: Choice) => value === option.value || !hidden.has(value);
  const groups = option.groups.map((group) => ({ ...group, choices: group.choices.filter(isOffered) }));
  return { ...option, groups: groups.filter(({ choices }) => choices.length > 0) };
}

export function Selectors({ session, disabled }: { session: SessionState; disabled: boolean }) {
  const { store } = useView();
  const place = usePlace();
  const hidden = hiddenModels(store.root.value?.config?.values.look, session.provider);
  const options = readOptions(session.configOptions).map((one) =>
    one.category === "model" ? without(one, hidden) : one,
  );
  const choose = (configId: string, value: string | boolean) =>
    store.dispatch(place.session, { type: "x-agentnb/configOptionChosen", configId, value });
  const modes = (session.modes?.availableModes ?? []).map(({ id, name, description }) => ({
    value: id,
    name: line(name, 60),
    description: line(description ?? "", 200),
  }));
  const hasMode = options.some((option) => option.category === "mode");
  return (
    <div class="row wraps selectors">
      {options.map((option) =>
        typeof option.value === "boolean" ? (
          <label class="selector" key={option.id}>
            <input
              type="checkbox"
              checked={option.value}
              disabled={disabled}
              onChange={(event) => choose(option.id, event.currentTarget.checked)}
            />
            {option.name}
          </label>
        ) : (
          <Select
            key={option.id}
            name={option.name}
            value={option.value}
            groups={option.groups}
            disabled={disabled}
            onChoose={(value) => choose(option.id, value)}
          />
        ),
      )}
      <KernelSettings session={session} disabled={disabled} />
      {!hasMode && modes.length > 0 && (
        <Select
          name="Mode"
          value={session.modes?.currentModeId ?? ""}
          choices={modes}
          disabled={disabled}
          onChoose={(modeId) => store.dispatch(place.session, { type: "x-agentnb/modeChanged", modeId })}
        />
      )}
      {session.agentProcess?.actsUnasked && (
        <span class="acts-unasked" role="note" title={line(session.agentProcess.actsUnasked, 400)}>
          Doesn't ask
        </span>
      )}
    </div>
  );
}

const PERMISSION_MODES: Choice[] = [
  { value: "ask", name: "Ask", description: "Ask unless a rule decides." },
  {
    value: "allow",
    name: "Allow",
    description: "Ask only for critical commands, sensitive files, and anything outside the workspace.",
  },
  { value: "deny", name: "Deny", description: "Deny everything your rules don't allow." },
];

/** What the kernel itself sets of a conversation, for every agent: what answers permission requests, and what the agent may do. */
function KernelSettings({ session, disabled }: { session: SessionState; disabled: boolean }) {
  const { store } = useView();
  const { session: uri } = usePlace();
  const values = session.config?.values ?? {};
  const { permissions, kernel, cellReview } = values;
  if (typeof permissions !== "string") return null;
  const access = permissions === "ask" ? ACCESS : ACCESS.with(2, { ...(ACCESS[2] as Choice), name: "Run" });
  const select = (field: "permissions" | "kernel" | "cellReview", name: string, choices: Choice[], className = "") => (
    <Select
      name={name}
      className={className}
      value={typeof values[field] === "string" ? values[field] : "off"}
      choices={choices}
      disabled={disabled}
      onChoose={(chosen) => store.dispatch(uri, { type: "session/configChanged", config: { [field]: chosen } })}
    />
  );
  return (
    <>
      {select("permissions", "Permissions", PERMISSION_MODES, `is-${line(permissions, 9)}`)}
      {select("kernel", "Kernel", access)}
      {kernel === "run" && typeof cellReview === "string" && select("cellReview", "Cell edits", REVIEWS)}
    </>
  );
}

/** When the user reviews a change of a cell: the kernel's own setting (`Agentnb.cell_review`). */
const REVIEWS: Choice[] = [
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

/** The switch of a conversation that is yet to begin, and a line that explains what is chosen. */
export function StartAccess(props: Pick<SelectProps, "value" | "disabled" | "onChoose">) {
  return (
    <div class="row wraps selectors start-access">
      <Select name="Kernel" choices={ACCESS} {...props} />
      <span class="dim small">{ACCESS.find(({ value }) => value === props.value)?.description}</span>
    </div>
  );
}

interface SelectProps {
  name: string;
  className?: string;
  value: string;
  choices?: Choice[];
  groups?: Option["groups"];
  disabled: boolean;
  onChoose: (value: string) => void;
}

function Select({ name, className = "", value, choices = [], groups = [], disabled, onChoose }: SelectProps) {
  const all = [...choices, ...groups.flatMap((group) => group.choices)];
  const current = all.find((choice) => choice.value === value);
  const options = (choices: Choice[]) =>
    choices.map((choice) => (
      <option key={choice.value} value={choice.value} title={choice.description}>
        {choice.name}
      </option>
    ));
  return (
    <label
      class={`selector ${className}`}
      title={[`${name}: ${current?.name ?? value}`, current?.description].filter(Boolean).join("\n")}
    >
      <span class="selector-name">{name}</span>
      <select
        aria-label={name}
        value={value}
        disabled={disabled}
        onChange={(event) => onChoose(event.currentTarget.value)}
        onKeyDown={(event) => event.stopPropagation()}
      >
        {!current && <option value={value}>{line(value, 40)}</option>}
        {options(choices)}
        {groups.map((group) =>
          group.name ? (
            <optgroup key={group.name} label={group.name}>
              {options(group.choices)}
            </optgroup>
          ) : (
            options(group.choices)
          ),
        )}
      </select>
    </label>
  );
}
