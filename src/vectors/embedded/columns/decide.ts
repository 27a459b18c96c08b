import type { Condition, Filter } from '../../filter/filter.ts';
import type { KeyPath } from '../../filter/key-path.ts';
import type { PointId } from '../../point.ts';
import type { Column } from './column.ts';
import { addSlot, type SlotSet, without } from './slot-set.ts';
import { bothHold, countHold, exactly, oneHolds, opposite, type Verdict } from './verdict.ts';

/** Input of a filter's decision. */
export interface Known {
  live: SlotSet;
  slotEnd: number;
  /** Null when the key has no column: then any row may pass. */
  column(key: KeyPath): Column | null;
  slotOf(id: PointId): number | null;
  withVector(name: string): Iterable<number>;
}

/** Key paths that `decide` asks columns of. */
export function keysOf(filter: Filter): KeyPath[] {
  return conditionsOf(filter).flatMap((condition) => {
    switch (condition.kind) {
      case 'filter':
        return keysOf(condition.filter);
      case 'nested':
        return necessaryOf(condition).map((field) => field.key);
      case 'field':
      case 'is-empty':
      case 'is-null':
        return [condition.key];
      default:
        return [];
    }
  });
}

/** Rows that pass, as far as columns know. */
export function decide(filter: Filter, known: Known): Verdict {
  const of = (condition: Condition) => decideCondition(condition, known);
  let verdict = exactly(known.live);
  for (const condition of filter.must) verdict = bothHold(verdict, of(condition));
  for (const condition of filter.mustNot) verdict = bothHold(verdict, opposite(of(condition), known.live));
  if (filter.should.length > 0) verdict = bothHold(verdict, filter.should.map(of).reduce(oneHolds));
  if (filter.minShould === null) return verdict;
  const { conditions, count } = filter.minShould;
  return bothHold(verdict, countHold(conditions.map(of), count, known.live));
}

function decideCondition(condition: Condition, known: Known): Verdict {
  const { live, slotEnd } = known;
  switch (condition.kind) {
    case 'filter':
      return decide(condition.filter, known);
    case 'has-id': {
      const slots = Array.from(condition.ids, (id) => known.slotOf(id)).filter((slot) => slot !== null);
      return exactly(setOf(slots, live.length));
    }
    case 'has-vector':
      return exactly(setOf(known.withVector(condition.name), live.length));
    case 'nested': {
      const necessary = necessaryOf(condition).map((field) => decideCondition(field, known).possible);
      const possible = necessary.map(exactly).reduce(bothHold, exactly(live)).possible;
      return { sure: new Uint32Array(live.length), possible };
    }
    case 'is-empty':
    case 'is-null':
    case 'field': {
      const column = known.column(condition.key);
      if (column === null) return { sure: new Uint32Array(live.length), possible: live };
      if (condition.kind === 'is-null') return exactly(column.nulls(slotEnd));
      if (condition.kind === 'is-empty') return exactly(without(live, column.filled(slotEnd)));
      return column.passing(condition.tests, slotEnd);
    }
  }
}

function setOf(slots: Iterable<number>, words: number): SlotSet {
  const set = new Uint32Array(words);
  for (const slot of slots) addSlot(set, slot);
  return set;
}

/** Conditions on a row of whose array an element is to pass: each `must` of the inner filter, by some element. */
function necessaryOf(nested: Extract<Condition, { kind: 'nested' }>): Extract<Condition, { kind: 'field' }>[] {
  const each = nested.key.steps.at(-1)?.kind === 'each';
  const array: KeyPath = each
    ? nested.key
    : { text: `${nested.key.text}[]`, steps: [...nested.key.steps, { kind: 'each' }] };
  return nested.filter.must.flatMap((inner) => {
    if (inner.kind !== 'field' || inner.tests.some((test) => test.kind === 'values-count')) return [];
    const key = { text: `${array.text}.${inner.key.text}`, steps: [...array.steps, ...inner.key.steps] };
    return [{ ...inner, key }];
  });
}

function conditionsOf(filter: Filter): readonly Condition[] {
  return [...filter.must, ...filter.should, ...filter.mustNot, ...(filter.minShould?.conditions ?? [])];
}
