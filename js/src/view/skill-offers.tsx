/**
 * Asks the user once whether the agent may get the skills of packages that the kernel has imported. All text of a skill
 * is a stranger's: shown plain, on one line and cut. The user trusts exactly the text shown, identified by its digest.
 */
import { isObject } from "../state/object";
import { useView } from "./context";
import { Button, Trouble } from "./controls";
import { Fold } from "./fold";
import { count, line, plain } from "./plain";
import { useArmed, useWork } from "./use-work";

const MOST_PACKAGES = 20;
/** The kernel's own limit for one package, so that a user who trusts it has seen all. */
const MOST_SKILLS = 200;
const MOST_LINES = 10;

interface Skill {
  readonly name: string;
  readonly description: string;
  readonly folder: string;
  readonly suspicious: readonly string[];
  readonly more: number;
  readonly files: number;
}

export interface SkillOffer {
  readonly name: string;
  readonly package: string;
  readonly digest: string;
  readonly skills: readonly Skill[];
}

type Action = "trust" | "refuse" | "revoke";

/** Returns a function that trusts or refuses a package's skills, and its error. */
export function useSkillTrust() {
  const { store, announce } = useView();
  const { trouble, run } = useWork();
  const choose = async (action: Action, name: string, offer: { package: string; digest?: string }, done: string) => {
    const { package: of, digest = "" } = offer;
    await run(async () => {
      await store.request("changeSkillTrust", { action, package: of, digest });
      announce(`${name}: ${done}`);
    });
  };
  return { choose, said: <Trouble text={line(trouble, 400)} /> };
}

export const skillsOf = (number: number) => `${count(number)} ${number === 1 ? "skill" : "skills"}`;

/** One line for all packages; opened, it shows each package with its skills and the two answers. */
export function SkillOffers({ offers }: { offers: readonly SkillOffer[] }) {
  const { choose, said: trouble } = useSkillTrust();
  const first = offers[0] as SkillOffer;
  const number = offers.reduce((sum, { skills }) => sum + skills.length, 0);
  const others = offers.length - 1;
  const who =
    others === 0
      ? `${first.name} brings`
      : `${first.name} and ${count(others)} more ${others === 1 ? "package" : "packages"} bring`;
  return (
    <Fold
      id="skill offers"
      className="uses"
      head={
        <>
          <span class="cut">{`${who} ${skillsOf(number)}: `}</span>
          <span class="uses-look">Look…</span>
        </>
      }
    >
      <p>
        Instructions for agents, written by the authors of the packages. Agents get them if you trust them. To read one
        in full: <code>{`agentnb skills --show ${line(first.package, 60)}/${first.skills[0]?.name}`}</code>
      </p>
      <Answers offers={offers} choose={choose} />
      {trouble}
    </Fold>
  );
}

function Answers({
  offers,
  choose,
}: Pick<ReturnType<typeof useSkillTrust>, "choose"> & { offers: readonly SkillOffer[] }) {
  // All at once: when one package disappears, the next one's buttons move under the mouse.
  const armed = useArmed(offers.map(({ digest }) => digest).join());
  const answer = (action: Action, offer: SkillOffer, done: string) => () => {
    if (armed) void choose(action, offer.name, offer, done);
  };
  return (
    <>
      {offers.map((offer) => (
        <section key={offer.package} aria-label={offer.name}>
          <b>{offer.name}</b>
          <ul>
            {offer.skills.map((skill) => (
              <SkillText key={skill.folder} skill={skill} />
            ))}
          </ul>
          <div class="row">
            <Button
              aria-disabled={!armed}
              aria-label={`Trust ${offer.name}`}
              onClick={answer("trust", offer, "trusted.")}
            >
              Trust
            </Button>
            <Button
              aria-disabled={!armed}
              aria-label={`Not now: ${offer.name}`}
              onClick={answer("refuse", offer, "won't be offered again for this version.")}
            >
              Not now
            </Button>
          </div>
        </section>
      ))}
    </>
  );
}

function SkillText({ skill }: { skill: Skill }) {
  return (
    <li>
      {skill.suspicious.length > 0 && (
        <>
          <strong>Check these lines:</strong>
          <ul class="uses-suspicious">
            {skill.suspicious.map((text, at) => (
              <li key={at}>{text}</li>
            ))}
            {skill.more > 0 && <li>{`and ${count(skill.more)} more`}</li>}
          </ul>
        </>
      )}
      <b>{skill.name}</b> {skill.description}
      <small>
        <code>{skill.folder}</code>
        {skill.files > 0 &&
          ` and ${count(skill.files)} more ${skill.files === 1 ? "file" : "files"} that agents can read`}
      </small>
    </li>
  );
}

/** Returns the offers among a session's customizations, without invalid ones. */
export function readOffers(customizations: readonly Record<string, unknown>[]): readonly SkillOffer[] {
  return customizations
    .filter(({ id }) => String(id).startsWith("offer:"))
    .slice(0, MOST_PACKAGES)
    .flatMap((one) => {
      const about = aboutOf(one);
      const children = Array.isArray(one.children) ? one.children.filter(isObject) : [];
      if (typeof about.package !== "string" || typeof about.digest !== "string" || children.length === 0) return [];
      return {
        name: line(one.name, 80),
        package: about.package,
        digest: about.digest,
        skills: children.slice(0, MOST_SKILLS).map(readSkill),
      };
    });
}

function readSkill(child: Record<string, unknown>): Skill {
  const about = aboutOf(child);
  const lines = Array.isArray(about.suspicious) ? about.suspicious : [];
  return {
    name: line(child.name, 80),
    description: line(child.description, 1200),
    folder: plain(String(about.folder ?? "").slice(0, 1000)),
    suspicious: lines.slice(0, MOST_LINES).map((text) => line(text, 400)),
    more: numberOf(about.moreSuspicious) + Math.max(0, lines.length - MOST_LINES),
    files: numberOf(about.otherFiles),
  };
}

const numberOf = (value: unknown) => (typeof value === "number" ? value : 0);

/** Returns agentnb's own data on a customization, beyond AHP's. */
export function aboutOf({ _meta }: Record<string, unknown>): Record<string, unknown> {
  return isObject(_meta) && isObject(_meta.agentnb) ? _meta.agentnb : {};
}
