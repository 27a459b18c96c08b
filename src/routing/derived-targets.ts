import type { Target } from './target.ts';

/** Id by which health knows a target in one use, such as at an endpoint, whose failures say nothing of the others. */
export function healthIdOf({ id }: Pick<Target, 'id'>, use: string): string {
  return `${id} (${use})`;
}

/** Id of the target that a health id is of, in whatever use. */
export function targetIdIn(healthId: string): string {
  return healthId.replace(/ \([^()]*\)$/, '');
}

/**
 * Targets made of others, such as by one endpoint's own view of them. Each is made once by key, and kept as long as the one
 * it is made of: health knows targets by identity.
 */
export function derivedTargets(): (target: Target, key: string, make: () => Target) => Target {
  const derivedByTarget = new WeakMap<Target, Map<string, Target>>();
  return (target, key, make) => {
    let byKey = derivedByTarget.get(target);
    if (byKey === undefined) {
      byKey = new Map();
      derivedByTarget.set(target, byKey);
    }
    let derived = byKey.get(key);
    if (derived === undefined) {
      derived = make();
      byKey.set(key, derived);
    }
    return derived;
  };
}
