import type { Entry, Limit, Scope } from './counters.ts';
import type { RollingScope } from './rolling-scope.ts';
import type { RollingScopes } from './rolling-scopes.ts';
import type { RollingSum } from './rolling-sum.ts';
import { type Span, spans } from './window.ts';

/** A limit and where it is counted. */
export interface BoundLimit {
  limit: Limit;
  scope: RollingScope;
  sum: RollingSum;
  span: Span;
  /** No earlier one of the list looks at the same scope. */
  first: boolean;
}

/** A place among the running requests, and where it is counted. */
export interface BoundPlace {
  id: string;
  scope: Scope;
  allowed: number;
  counted: RollingScope;
  first: boolean;
}

/**
 * What lists of limits, places and scopes are counted by; null where one of a list is not loaded. The same lists come
 * with every request of a caller, so each is looked up once. All is dropped when a scope is forgotten: nothing
 * forgotten is kept, or counted in.
 */
export interface ScopeBindings {
  limits(list: readonly Limit[]): readonly BoundLimit[] | null;
  places(list: Entry['places']): readonly BoundPlace[] | null;
  scopes(list: readonly Scope[]): readonly RollingScope[] | null;
}

export function createScopeBindings(table: Pick<RollingScopes, 'get' | 'forgotten'>): ScopeBindings {
  let known = new WeakMap<readonly unknown[], readonly unknown[]>();
  let forgotten = table.forgotten();

  function bound<Item, Bound>(
    list: readonly Item[],
    bind: (item: Item, at: number, list: readonly Item[]) => Bound | null,
  ): readonly Bound[] | null {
    if (forgotten !== table.forgotten()) {
      known = new WeakMap();
      forgotten = table.forgotten();
    }
    const there = known.get(list);
    if (there !== undefined) return there as readonly Bound[];
    const made: Bound[] = [];
    for (let i = 0; i < list.length; i++) {
      const one = bind(list[i]!, i, list);
      if (one === null) return null;
      made.push(one);
    }
    known.set(list, made);
    return made;
  }

  function limitOf(limit: Limit, at: number, limits: readonly Limit[]): BoundLimit | null {
    const scope = table.get(limit.scope);
    if (scope === undefined) return null;
    const sum = scope.sumOf(limit.measure, limit.span);
    return { limit, scope, sum, span: spans[limit.span], first: !isRepeated(limits, at) };
  }

  function placeOf(place: Entry['places'][number], at: number, places: Entry['places']): BoundPlace | null {
    const counted = table.get(place.scope);
    return counted === undefined ? null : { ...place, counted, first: !isRepeated(places, at) };
  }

  const scopeOf = (name: Scope): RollingScope | null => table.get(name) ?? null;

  return {
    limits: (list) => bound(list, limitOf),
    places: (list) => bound(list, placeOf),
    scopes: (list) => bound(list, scopeOf),
  };
}

/** Whether an earlier one of the list looks at the same scope. Lists are short. */
function isRepeated(list: readonly { scope: Scope }[], at: number): boolean {
  const { scope } = list[at]!;
  for (let i = 0; i < at; i++) if (list[i]!.scope === scope) return true;
  return false;
}
