import type { Random } from '../../../kernel/random.ts';
import { readKeyPath } from '../../filter/read-key-path.ts';
import { firstLook, groupPoints, nextLook } from '../../group-points.ts';
import type { ScoredPoint } from '../../point.ts';
import type { GroupQuery, PointGroup, PointQuery } from '../../vector-store.ts';
import { mappedInSteps, type Steps } from '../index/resumable-steps.ts';
import type { OpenCollection } from '../open-collection.ts';
import type { VectorTables } from '../vector-rows.ts';
import type { AnswerBudget } from './answer-budget.ts';
import { orderByValue } from './order-points.ts';
import { candidateSlots, rank, unscored } from './rank-points.ts';
import type { Lookups } from './resolve-input.ts';
import { pointReader } from './stored-points.ts';

/** Options of a search, without the query. `budget`: of the whole call. */
export interface SearchParts extends Lookups {
  random: Random;
  budget: AnswerBudget;
}

/** Best first, in steps, between which the collection may not change. Throws a FailureError when it does not fit. */
export function* searchPoints(
  tables: VectorTables,
  collection: OpenCollection,
  query: PointQuery,
  { random, budget, lookUp }: SearchParts,
): Steps<ScoredPoint[]> {
  const open = { ...collection, lookUp };
  const { target, offset, limit } = query;
  const read = pointReader(open.memory.row, open.vectors, query.want, budget);
  if (target.kind === 'order-by') {
    const slots = yield* candidateSlots({ tables, open, random }, query);
    const ordered = orderByValue(open, target.order, slots, offset + limit).slice(offset);
    return yield* mappedInSteps(ordered, ({ slot, value }) => ({ ...read(slot), score: unscored, orderValue: value }));
  }
  const k = Math.min(offset + limit, open.row.points);
  const { slots, scores } = yield* rank({ tables, open, random }, query, k);
  let at = offset;
  return yield* mappedInSteps(slots.subarray(offset, k), (slot) => ({ ...read(slot), score: scores[at++]! }));
}

/**
 * Groups by their best point, in steps as `searchPoints`. A point with several values of the key is in several groups;
 * one without is in none.
 */
export function* searchGroups(
  tables: VectorTables,
  collection: OpenCollection,
  query: GroupQuery,
  { random, budget, lookUp }: SearchParts,
): Steps<PointGroup[]> {
  const open = { ...collection, lookUp };
  const key = readKeyPath(query.groupBy, 'group_by');
  const all = query.filter === null ? open.row.points : (yield* open.memory.selecting(query.filter)).length;
  const read = pointReader(open.memory.row, open.vectors, query.want, budget);
  for (let limit = query.groups * query.groupSize * firstLook; ; limit *= nextLook) {
    const k = Math.min(limit, all);
    const ranked = yield* rank({ tables, open, random }, { ...query, limit: k }, k);
    const values = yield* open.memory.columns().groupValues(key, ranked.slots);
    const { groups, whole } = groupPoints(values, query);
    if (!whole && limit < all) continue;
    const shown: PointGroup[] = [];
    for (const [id, found] of groups) {
      const hits = found.map((i) => ({ ...read(ranked.slots[i]!), score: ranked.scores[i]! }));
      shown.push({ id, hits });
      yield;
    }
    return shown;
  }
}
