import { isTarget } from '../../config/cross-check-routes.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { Verdict } from '../../routing/route.ts';
import type { Target } from '../../routing/target.ts';
import type { Alias } from './alias.ts';

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
  const { variants, shadow, ...own } = alias;
  const all = variants?.all.map((variant) => ({ ...variant, alias: narrowed(variant.alias, barOf) }));
  const shadowed = shadow === undefined ? undefined : narrowed(shadow.alias, barOf);
  const isSame =
    barred.length === 0 &&
    shadowed === shadow?.alias &&
    all?.every((variant, index) => variant.alias === variants?.all[index]?.alias) !== false;
  if (isSame) return alias;
  const able = all?.filter((variant) => variant.alias.candidates.length > 0) ?? [];
  return {
    ...own,
    candidates,
    ...(barred.length > 0 && { barred }),
    ...(variants !== undefined && able.length > 0 && { variants: { ...variants, all: able } }),
    ...(shadow !== undefined &&
      shadowed !== undefined &&
      shadowed.candidates.length > 0 && { shadow: { ...shadow, alias: shadowed } }),
  };
}

/** An alias with the targets that a rule names; the failure where it has none of them. */
export function withinTargets(alias: Alias, targets: readonly string[], rule: string): Alias | Failure {
  const within = narrowed(alias, ({ id }) => (targets.some((named) => isTarget(named, id)) ? null : `rule ${rule}`));
  if (within.candidates.length > 0 || alias.candidates.length === 0) return within;
  const message = `The rule '${rule}' of this server lets none of the targets of the model '${alias.id}' answer. Use another model.`;
  return { kind: 'rule-refused', rule, status: 403, message };
}
