import { isTarget } from '../../config/cross-check-routes.ts';
import { type DataRule, dataBar, unknownData } from '../../config/data-rules.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { Verdict } from '../../routing/route.ts';
import type { Target } from '../../routing/target.ts';
import type { Alias, AliasCache } from './alias.ts';

/** Why a target may not answer, in words that follow `not allowed: `; null: it may. */
export type BarOf = (target: Target) => string | null;

/**
 * The alias without the targets that may not answer, wherever it has some: among its own, its fallbacks', its variants'
 * and its shadow's. They stay as verdicts. The same alias where all may.
 */
export function narrowed(alias: Alias, barOf: BarOf): Alias {
  const barred: Verdict[] = [];
  const candidates = alias.candidates.filter(({ target }) => {
    const why = barOf(target);
    if (why !== null) barred.push({ target: target.id, verdict: `not allowed: ${why}` });
    return why === null;
  });
  const { variants, shadow, ...others } = alias;
  const all = variants?.all.map((variant) => ({ ...variant, alias: narrowed(variant.alias, barOf) }));
  const shadowed = shadow === undefined ? undefined : narrowed(shadow.alias, barOf);
  const isSame =
    barred.length === 0 &&
    shadowed === shadow?.alias &&
    all?.every((variant, index) => variant.alias === variants?.all[index]?.alias) !== false;
  if (isSame) return alias;
  const able = all?.filter((variant) => variant.alias.candidates.length > 0) ?? [];
  return {
    ...others,
    candidates,
    ...(barred.length > 0 && { barred }),
    ...(variants !== undefined && able.length > 0 && { variants: { ...variants, all: able } }),
    ...(shadow !== undefined &&
      shadowed !== undefined &&
      shadowed.candidates.length > 0 && { shadow: { ...shadow, alias: shadowed } }),
  };
}

/** An alias with the targets that data rules allow; the failure where they allow none. */
export function withinData(alias: Alias, rules: readonly DataRule[]): Alias | Failure {
  const { semantic: _, ...cache } = alias.cache ?? {};
  // The model that embeds questions for the cache is asked for the operator, so no rule of a caller would hold there.
  const plain = alias.cache?.semantic === undefined ? alias : { ...alias, cache: cache as AliasCache };
  const within = narrowed(plain, ({ data }) => dataBar(rules, data ?? unknownData));
  if (within.candidates.length > 0 || alias.candidates.length === 0) return within;
  const bars = alias.candidates.flatMap(({ target }) => dataBar(rules, target.data ?? unknownData) ?? []);
  return dataRefused(`model '${alias.id}'`, [...new Set(bars)]);
}

/** `bars`: as `dataBar` gives them. */
export function dataRefused(what: string, bars: readonly string[]): Failure {
  const [first = ''] = bars;
  const rule = /\((.+)\)$/.exec(first)?.[1] ?? '';
  const message = `The data rule of the ${rule} lets no target of the ${what} take this request: not allowed: ${bars.join(', ')}. Use another model, or ask the operator.`;
  return { kind: 'rule-refused', rule: `data of ${rule}`, status: 403, message };
}

/** An alias with the targets that a rule names; the failure where it has none of them. */
export function withinTargets(alias: Alias, targets: readonly string[], rule: string): Alias | Failure {
  const within = narrowed(alias, ({ id }) => (targets.some((named) => isTarget(named, id)) ? null : `rule ${rule}`));
  if (within.candidates.length > 0 || alias.candidates.length === 0) return within;
  const message = `The rule '${rule}' of this server lets none of the targets of the model '${alias.id}' answer. Use another model.`;
  return { kind: 'rule-refused', rule, status: 403, message };
}
