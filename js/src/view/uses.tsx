/** Shows what the agent gets besides the conversation: components in their order, packages with skills, MCP servers. */
import { isObject } from "../state/object";
import type { SessionState } from "../state/types.gen";
import { useView } from "./context";
import { Button, TextButton } from "./controls";
import { Fold } from "./fold";
import { showPanel } from "./host-events";
import { isNews } from "./news";
import { count, line } from "./plain";
import { aboutOf, readOffers, SkillOffers, skillsOf, useSkillTrust } from "./skill-offers";

const MOST = 50;

interface Given {
  readonly id: string;
  readonly name: string;
  readonly about: string;
  readonly skills: readonly string[];
  /** The package whose skills the user has trusted; undefined if there is nothing to revoke. */
  readonly trusted: string | undefined;
}

/** Shows a line of used items and one of offered items, if there are any. */
export function Uses({ session }: { session: SessionState }) {
  const customizations = (session.customizations ?? []).filter(isObject);
  const offers = readOffers(customizations);
  const used = customizations.filter(({ id }) => !String(id).startsWith("offer:"));
  return (
    <>
      <Used all={used.slice(0, MOST).map(usedItem)} />
      {offers.length > 0 && <SkillOffers offers={offers} />}
    </>
  );
}

/** Lists the used items, each with its cost in tokens. */
function Used({ all }: { all: readonly Given[] }) {
  const { root } = useView();
  const { choose, said: trouble } = useSkillTrust();
  if (!all.some(isNews)) return null;
  const of = (kind: string) => all.filter((one) => one.id.startsWith(kind) && isNews(one));
  const components = of("component:");
  const news = of("package:");
  const skills = news.reduce((sum, one) => sum + one.skills.length, 0);
  const named = news.map(({ name }) => name);
  const parts = [
    components.map(({ name }) => name).join(" → "),
    named.length > 0 ? `${named.join(", ")}: ${skillsOf(skills)}` : "",
    of("mcp:")
      .map(({ name }) => name)
      .join(", "),
  ];
  return (
    <Fold
      id="uses"
      className="uses"
      head={<span class="cut">{line(`Uses ${parts.filter(Boolean).join(" · ")}`, 160)}</span>}
    >
      <ul>
        {all.map((one) => (
          <li key={one.id}>
            <b>{one.name}</b> {one.about}{" "}
            {one.trusted !== undefined && (
              <TextButton
                aria-label={`Revoke the skills of ${one.name}`}
                onClick={() => void choose("revoke", one.name, { package: one.trusted as string }, "revoked.")}
              >
                Revoke
              </TextButton>
            )}
            {one.skills.length > 0 && <small>{one.skills.join(", ")}</small>}
          </li>
        ))}
      </ul>
      {trouble}
      {components.length > 0 && (
        <p>
          Components run between you and the agent in this order. New conversations use the ones in the settings.{" "}
          <Button onClick={() => showPanel(root, "settings")}>Settings</Button>
        </p>
      )}
    </Fold>
  );
}

function usedItem(one: Record<string, unknown>): Given {
  const meta = aboutOf(one);
  const children = Array.isArray(one.children) ? one.children.slice(0, MOST).filter(isObject) : [];
  const tools = Array.isArray(meta.tools) ? meta.tools.length : 0;
  const [turn, once] = [meta.tokensPerTurn, meta.tokensOnce].map((number) => (typeof number === "number" ? number : 0));
  const facts = [
    line(meta.about ?? "", 200),
    tools > 0 ? `${count(tools)} ${tools === 1 ? "tool" : "tools"}` : "",
    turn ? `about ${count(turn)} tokens a turn` : "",
    once ? `about ${count(once)} tokens at the start` : "",
  ];
  return {
    id: String(one.id),
    name: line(one.name, 80),
    about: facts.filter(Boolean).join(" · "),
    skills: children.map(({ name }) => line(name, 80)),
    trusted: meta.isRevocable === true ? String(one.id).replace(/^package:/, "") : undefined,
  };
}
