import type { Config, RouteConfig } from '../../config/schema.ts';
import { type Condition, type ConditionPart, isFault, readCondition } from '../../rules/condition.ts';
import type { LateFact, RuleFacts } from '../../rules/rule-facts.ts';

/** A rule of the configuration, ready to be asked. */
export interface RouteRule {
  name: string;
  parts: readonly RulePart[];
  /** Names that its condition compares the model of a request with. */
  models: readonly string[];
  config: RouteConfig;
}

/** A part of a condition, and what a record says where it is not true. */
interface RulePart extends ConditionPart {
  unmet: { unmet: UnmetRule };
}

/** A rule that was tried and did not apply. */
export interface UnmetRule {
  rule: string;
  /** The first part of its condition that was not true. */
  because: string;
}

const always: Condition = { parts: [], models: [] };
/** Longest part of a condition in records. */
const shownCharsMax = 160;

/** The rules of a configuration, in their order; null: there are none, and no code of theirs is entered. */
export function routeRules(routes: Config['routes']): readonly RouteRule[] | null {
  const entries = Object.entries(routes).filter(([, { enabled }]) => enabled);
  if (entries.length === 0) return null;
  const sorted = entries.sort(([, a], [, b]) => a.order - b.order);
  return sorted.map(([name, config]) => ruleOf(name, config));
}

function ruleOf(name: string, config: RouteConfig): RouteRule {
  const read = config.when === undefined ? always : readCondition(config.when);
  // The check of the configuration has refused it before.
  if (isFault(read)) throw new Error(`routes.${name}.when: ${read.message}`);
  const parts = read.parts.map((part) => {
    const { text } = part;
    const because = text.length > shownCharsMax ? `${text.slice(0, shownCharsMax)}…` : text;
    return { ...part, unmet: { unmet: { rule: name, because } } };
  });
  return { name, parts, models: read.models, config };
}

/** Whether a rule has no effect on the request, so that later ones are tried. */
export function onlyLooks({ classify, targets, parameters, tag }: RouteConfig): boolean {
  return classify?.observe === true && targets === undefined && parameters === undefined && tag === undefined;
}

/** How a rule takes a request: it applies, a part of it does not hold, or a fact must be looked up first. */
export type Tried = 'applies' | { unmet: UnmetRule } | { late: LateFact };

const applies = 'applies' as const;

/** Tries one rule. `available`: late facts that were looked up, with an answer or without. */
export function tryRule({ parts }: RouteRule, facts: RuleFacts, available: ReadonlySet<LateFact>): Tried {
  for (const part of parts) {
    const late = part.late.length === 0 ? undefined : part.late.find((fact) => !available.has(fact));
    if (late !== undefined) return { late };
    if (!part.holds(facts)) return part.unmet;
  }
  return applies;
}
