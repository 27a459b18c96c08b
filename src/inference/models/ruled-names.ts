import type { Principal } from '../../books/auth/principal.ts';
import type { RouteConfig } from '../../config/schema.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import type { RuleFacts } from '../../rules/rule-facts.ts';
import type { Alias } from './alias.ts';
import { onlyLooks, type RouteRule } from './route-rules.ts';
import type { Snapshot } from './snapshot.ts';

type Models = Pick<Snapshot, 'models' | 'rules'>;

/** Maximum number of names of rules in a list. */
const namesMax = 500;

/** All models that this key may use, and behind them the names for which only rules have models. */
export function listedModels(snapshot: Models, principal: Principal): readonly Alias[] {
  const { models, rules } = snapshot;
  const listed = models.list(principal);
  if (rules === null) return listed;
  const taken = new Set(listed.map(({ id }) => id));
  const names = namesOf(rules).filter((name) => !taken.has(name));
  return [...listed, ...names.flatMap((name) => madeByRules(snapshot, rules, name, principal) ?? [])];
}

/** The model of this name for a GET of it: one of the configuration, or a name for which only rules have models. */
export function describedModel(snapshot: Models, name: string, principal: Principal): Alias | Failure {
  const { models, rules } = snapshot;
  const alias = models.resolve(name, principal);
  if (!isFailure(alias) || rules === null) return alias;
  return madeByRules(snapshot, rules, name, principal) ?? alias;
}

function namesOf(rules: readonly RouteRule[]): string[] {
  return [...new Set(rules.flatMap(({ models }) => models))].slice(0, namesMax);
}

/**
 * The model that callers of this key see under a name that rules send elsewhere: it has the targets of all models to
 * which they may send it, as far as the key may use those. Null: they send it to none.
 */
function madeByRules(
  { models }: Models,
  rules: readonly RouteRule[],
  name: string,
  principal: Principal,
): Alias | null {
  if (!isFailure(models.resolve(name, principal))) return null;
  const given = modelsGiven(rules, name, principal);
  // Without its name in a condition, only a rule that surely applies makes a name one that exists.
  if (!given.isSure && !rules.some((rule) => rule.models.includes(name))) return null;
  const aliases = [...new Set(given.models)].flatMap((id) => {
    const alias = models.resolve(id, principal);
    return isFailure(alias) ? [] : [alias];
  });
  const [first, ...others] = aliases;
  if (first === undefined) return null;
  // A name for several types is shown as the first, since an entry has one type.
  return asOne(name, first, [first, ...others.filter(({ listedAs }) => listedAs === first.listedAs)]);
}

function asOne(id: string, first: Alias, aliases: readonly Alias[]): Alias {
  const shared = <K extends 'tier' | 'dimensions' | 'listedDimensions'>(name: K) =>
    aliases.every((alias) => alias[name] === first[name]) ? first[name] : null;
  return {
    ...first,
    id,
    ownedBy: 'culvert',
    tier: shared('tier'),
    dimensions: shared('dimensions'),
    listedDimensions: shared('listedDimensions'),
    candidates: aliases.flatMap(({ candidates }) => candidates),
    ...(new Set(aliases.map(firstPrice)).size > 1 && { pricesDiffer: true as const }),
  };
}

function firstPrice({ candidates }: Alias): string {
  return JSON.stringify(candidates[0]?.target.price ?? null);
}

/** Models that a request for this name may get by the rules. `isSure`: each request gets one of them. */
function modelsGiven(
  rules: readonly RouteRule[],
  name: string,
  caller: Principal,
): { models: string[]; isSure: boolean } {
  const facts = factsOf(name, caller);
  const models: string[] = [];
  let isSure = false;
  for (const rule of rules) {
    const applies = judged(rule, facts);
    if (applies === false) continue;
    const { config } = rule;
    if (config.refuse !== undefined) {
      // Each request that comes to this rule is refused: what earlier rules have surely given is too.
      if (applies === true) return isSure ? { models: [], isSure: false } : { models, isSure };
      continue;
    }
    // Of two rules that give a model, the first counts.
    if (!isSure) models.push(...modelsOf(config));
    if (applies === undefined) continue;
    isSure ||= config.model !== undefined || config.classify?.otherwise !== undefined;
    if (!config.continue && !onlyLooks(config)) break;
  }
  return { models, isSure };
}

function modelsOf({ model, ladder, classify }: RouteConfig): string[] {
  if (model !== undefined) return [model];
  if (ladder !== undefined) return ladder.steps.map((step) => step.model);
  if (classify === undefined || classify.observe) return [];
  const { classes, otherwise } = classify;
  return [...classes.map((one) => one.model), ...(otherwise === undefined ? [] : [otherwise])];
}

/** Whether a rule applies to this caller's requests for a name; undefined: their other facts decide. */
function judged({ parts }: RouteRule, facts: Partial<RuleFacts>): boolean | undefined {
  let applies: boolean | undefined = true;
  for (const part of parts) {
    const holds = part.judge(facts);
    if (holds === false) return false;
    if (holds === undefined) applies = undefined;
  }
  return applies;
}

function factsOf(model: string, { account, keyName, plan }: Principal): Partial<RuleFacts> {
  return { model, account, key: `${account}/${keyName}`, key_name: keyName, plan };
}
