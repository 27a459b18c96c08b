import type { Config, RouteConfig } from '../../config/schema.ts';
import { type Condition, isFault, readCondition } from '../../rules/condition.ts';
import type { LateFact, RuleFacts } from '../../rules/facts.ts';

/** A rule of the configuration, ready to be asked. */
export interface RouteRule {
  name: string;
  condition: Condition;
  config: RouteConfig;
  /** By the part of the condition that does not hold: what a record says of it. */
  unmet: readonly UnmetRule[];
}

/** A rule that was tried and did not apply. */
export interface UnmetRule {
  rule: string;
  /** The first part of its condition that was not true. */
  because: string;
}

/** The rules in force, in their order. */
export interface RouteRules {
  all: readonly RouteRule[];
}

const always: Condition = { parts: [] };
/** Longest part of a condition in records. */
const shownCharsMax = 160;

/** The rules of a configuration; null: there are none, and no code of theirs is entered. */
export function routeRules(routes: Config['routes']): RouteRules | null {
  const entries = Object.entries(routes).filter(([, { enabled }]) => enabled);
  if (entries.length === 0) return null;
  const sorted = entries.sort(([, a], [, b]) => a.order - b.order);
  return { all: sorted.map(([name, config]) => ruleOf(name, config)) };
}

function ruleOf(name: string, config: RouteConfig): RouteRule {
  const read = config.when === undefined ? always : readCondition(config.when);
  // The check of the configuration has refused it before.
  if (isFault(read)) throw new Error(`routes.${name}.when: ${read.message}`);
  const unmet = read.parts.map(({ text }) => ({
    rule: name,
    because: text.length > shownCharsMax ? `${text.slice(0, shownCharsMax)}…` : text,
  }));
  return { name, condition: read, config, unmet };
}

/** How a rule takes a request: it applies, a part of it does not hold, or a fact must be looked up first. */
export type Tried = 'applies' | { unmet: UnmetRule } | { late: LateFact };

const applies = 'applies' as const;

/** Tries one rule. `looked`: late facts that were looked up, with an answer or without. */
export function tryRule(rule: RouteRule, facts: RuleFacts, looked: ReadonlySet<LateFact>): Tried {
  const { parts } = rule.condition;
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index]!;
    const late = part.late.length === 0 ? undefined : part.late.find((fact) => !looked.has(fact));
    if (late !== undefined) return { late };
    if (!part.holds(facts)) return { unmet: rule.unmet[index]! };
  }
  return applies;
}
