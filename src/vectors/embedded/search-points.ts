import type { Random } from '../../kernel/random.ts';
import type { Distance } from '../collection.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import type { ScoredPoint } from '../point.ts';
import type { GroupQuery, PointGroup, PointQuery } from '../store.ts';
import type { AnswerBudget } from './answer-budget.ts';
import type { Ranked } from './index/vector-index.ts';
import type { OpenCollection } from './open-collection.ts';
import { idOrder, orderByValue, sampleSlots } from './order-points.ts';
import type { PointTable } from './point-table.ts';
import { averageOf, diversified, resolveExamples, resolveInput, scoreByExamples } from './similar-points.ts';
import { pointReader } from './stored-points.ts';

/** Besides what is looked for. `budget`: of the whole call. */
export interface SearchParts {
  random: Random;
  budget: AnswerBudget;
}

/** Best first. Throws a FailureError for what does not fit the collection. */
export function searchPoints(
  points: PointTable,
  open: OpenCollection,
  query: PointQuery,
  { random, budget }: SearchParts,
): ScoredPoint[] {
  const slots = query.filter === null ? null : open.memory.select(query.filter);
  const { target, offset, limit } = query;
  if (target.kind === 'order-by') {
    const read = pointReader(points, open, query.want, budget);
    const ordered = orderByValue(open, target.order, slots, offset + limit).slice(offset);
    return ordered.map(({ slot, value }) => ({ ...read(slot), score: unscored, orderValue: value }));
  }
  const { slots: found, scores } = page(rank(points, open, query, slots, random), query, open.row.spec.distance);
  const read = pointReader(points, open, query.want, budget);
  return Array.from(found, (slot, i) => ({ ...read(slot), score: scores[i]! }));
}

/** Groups by their best point. A point with several values of the key is in several groups; one without is in none. */
export function searchGroups(
  points: PointTable,
  open: OpenCollection,
  query: GroupQuery,
  { random, budget }: SearchParts,
): PointGroup[] {
  const slots = query.filter === null ? null : open.memory.select(query.filter);
  const key = readKeyPath(query.groupBy, 'group_by');
  const all = slots?.length ?? open.row.points;
  const read = pointReader(points, open, query.want, budget);
  for (let limit = query.groups * query.groupSize * firstLook; ; limit *= nextLook) {
    const wanted = { ...query, limit: Math.min(limit, all), offset: 0 };
    const ranked = page(rank(points, open, wanted, slots, random), wanted, open.row.spec.distance);
    const values = open.memory.columns().groupValues(key, ranked.slots);
    const groups = new Map<string | number, number[]>();
    ranked.slots.forEach((_, i) => {
      for (const value of values[i]!) {
        const hits = groups.get(value) ?? [];
        // A group that comes after the last one that is wanted is not kept.
        if (hits.length === 0 && groups.size >= query.groups) continue;
        groups.set(value, hits);
        if (hits.length < query.groupSize) hits.push(i);
      }
    });
    const whole = groups.size === query.groups && [...groups.values()].every((hits) => hits.length === query.groupSize);
    if (!whole && limit < all) continue;
    return [...groups].map(([id, hits]) => ({
      id,
      hits: hits.map((i) => ({ ...read(ranked.slots[i]!), score: ranked.scores[i]! })),
    }));
  }
}

/** How many times the points wanted are looked at first, and how much more each time they were not enough. */
const firstLook = 4;
const nextLook = 8;

/** All that may stand on the page asked for, and before it; ids that the query names are left out. */
function rank(
  points: PointTable,
  open: OpenCollection,
  query: PointQuery,
  slots: Uint32Array | null,
  random: Random,
): Ranked {
  const { target, exact } = query;
  const k = Math.min(query.offset + query.limit, open.row.points);
  switch (target.kind) {
    case 'nearest': {
      const { vector, slot } = resolveInput(points, open, target.vector, 'query');
      const leaveOut = new Set(slot === null ? [] : [slot]);
      if (target.mmr === null) return nearest(open, vector, k, { slots, exact, leaveOut });
      const { candidates, diversity } = target.mmr;
      const ranked = nearest(open, vector, Math.min(candidates, open.row.points), { slots, exact, leaveOut });
      return diversified(points, open, vector, ranked, { limit: k, diversity });
    }
    case 'recommend': {
      const examples = resolveExamples(points, open, target);
      const named = [...examples.positive, ...examples.negative].map(({ slot }) => slot);
      const leaveOut = new Set(named.filter((slot) => slot !== null));
      if (target.strategy !== 'average_vector') {
        return scoreByExamples(points, open, examples, target.strategy, { k, slots, leaveOut });
      }
      return nearest(open, averageOf(examples, open.size), k, { slots, exact, leaveOut });
    }
    case 'order-by':
      return withoutScores(orderByValue(open, target.order, slots, k).map(({ slot }) => slot));
    case 'sample':
      return withoutScores(sampleSlots(points, open, slots, k, random));
    case 'all':
      return withoutScores(idOrder(points, open, slots, null, k).map(({ slot }) => slot));
  }
}

/** The score that Qdrant gives where nothing is scored. */
const unscored = 1;

function withoutScores(slots: readonly number[]): Ranked {
  return { slots: Uint32Array.from(slots), scores: new Float64Array(slots.length).fill(unscored) };
}

function nearest(
  open: OpenCollection,
  vector: Float32Array,
  k: number,
  options: { slots: Uint32Array | null; exact: boolean; leaveOut: ReadonlySet<number> },
): Ranked {
  const { slots, exact, leaveOut } = options;
  if (k === 0 || slots?.length === 0) return withoutScores([]);
  const ranked = open.memory.search(vector, k + leaveOut.size, { slots, exact });
  if (leaveOut.size === 0) return ranked;
  const kept = [...ranked.slots.keys()].filter((i) => !leaveOut.has(ranked.slots[i]!)).slice(0, k);
  return {
    slots: Uint32Array.from(kept, (i) => ranked.slots[i]!),
    scores: Float64Array.from(kept, (i) => ranked.scores[i]!),
  };
}

/** What of the ranking is answered: from `offset` on, and no score worse than the threshold. */
function page({ slots, scores }: Ranked, query: PointQuery, distance: Distance): Ranked {
  let end = Math.min(slots.length, query.offset + query.limit);
  const threshold = query.scoreThreshold;
  if (threshold !== null && isScored(query)) {
    const lessIsNearer = isDistance(query, distance);
    const passes = (score: number) => (lessIsNearer ? score <= threshold : score >= threshold);
    let kept = 0;
    // Re-ranked by diversity, scores are in no order: those that pass are kept, wherever they stand.
    const keptSlots = new Uint32Array(end);
    const keptScores = new Float64Array(end);
    for (let i = 0; i < end; i++) {
      if (!passes(scores[i]!)) continue;
      keptSlots[kept] = slots[i]!;
      keptScores[kept++] = scores[i]!;
    }
    end = kept;
    return { slots: keptSlots.slice(query.offset, end), scores: keptScores.slice(query.offset, end) };
  }
  return { slots: slots.slice(query.offset, end), scores: scores.slice(query.offset, end) };
}

function isScored({ target }: PointQuery): boolean {
  return target.kind === 'nearest' || target.kind === 'recommend';
}

function isDistance({ target }: PointQuery, distance: Distance): boolean {
  if (distance === 'Cosine' || distance === 'Dot') return false;
  return target.kind === 'nearest' || (target.kind === 'recommend' && target.strategy === 'average_vector');
}
