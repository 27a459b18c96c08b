import type { Condition, FieldTest, Filter, Scalar } from '../filter/filter.ts';
import type { KeyPath } from '../filter/key-path.ts';
import { keyInPayload, type Partition, type QdrantCondition } from './partition.ts';

/** One condition without a filter around it, in a formula. */
export function writeLoneCondition(partition: Partition, condition: Condition): QdrantCondition {
  return writeCondition(partition, condition, keyInPayload);
}

/** Matches points of the partition alone. */
export type WrittenFilter = QdrantCondition & { must: readonly QdrantCondition[] };

/** A filter as Qdrant takes it, over the points of the partition alone. */
export function writeFilter(partition: Partition, filter: Filter | null): WrittenFilter {
  if (filter === null) return { must: [partition.mine] };
  // Added to the caller's own conditions, not around them: filters must not nest deeper than the caller's.
  const written = clauses(partition, filter, keyInPayload);
  return { ...written, must: [partition.mine, ...((written.must as QdrantCondition[] | undefined) ?? [])] };
}

/** Points of the partition with these ids, whether they exist or not. */
export function idsFilter(partition: Partition, ids: readonly string[]): QdrantCondition {
  return { must: [partition.mine, { has_id: ids }] };
}

/** Values that may still come in an order: numbers and times (microseconds since 1970) on one scale. */
export interface OrderBounds {
  direction: 'asc' | 'desc';
  /** The first, itself included; null: any. */
  from: number | null;
  /** None that comes behind it, nor itself; null: any. */
  before: number | null;
}

/** Points whose key has a number or a time between the bounds. */
export function writeBetween({ text }: KeyPath, { direction, from, before }: OrderBounds): QdrantCondition {
  const key = keyInPayload(text);
  const [first, last] = direction === 'asc' ? (['gte', 'lt'] as const) : (['lte', 'gt'] as const);
  const sides = { gt: -Infinity, gte: -Infinity, lt: Infinity, lte: Infinity };
  const numbers = { ...sides, ...(from !== null && { [first]: from }), ...(before !== null && { [last]: before }) };
  return {
    should: [
      { key, range: bounds(numbers, (side) => side) },
      { key, range: timesBetween(numbers) },
    ],
  };
}

function timesBetween({ gt, gte, lt, lte }: Bounds): object {
  // A side beyond all times is open, and no range is without a time: it would be one of numbers.
  const after = (side: number) => (side / 1_000 < firstTimeMs ? -Infinity : side / 1_000);
  const until = (side: number) => (side / 1_000 > lastTimeMs ? Infinity : side / 1_000);
  const range = { gt: after(gt), gte: after(gte), lt: until(lt), lte: until(lte) };
  const isOpen = !Object.values(range).some(Number.isFinite);
  return bounds(isOpen ? { ...range, gte: firstTimeMs } : range, timeText);
}

/** `keyOf`: inside a nested condition, paths begin at the element. */
type KeyOf = (path: string) => string;

function clauses(partition: Partition, filter: Filter, keyOf: KeyOf): QdrantCondition {
  const all = (conditions: readonly Condition[]) => conditions.map((one) => writeCondition(partition, one, keyOf));
  const { must, should, mustNot, minShould } = filter;
  return {
    ...(must.length > 0 && { must: all(must) }),
    ...(should.length > 0 && { should: all(should) }),
    ...(mustNot.length > 0 && { must_not: all(mustNot) }),
    ...(minShould !== null && { min_should: { conditions: all(minShould.conditions), min_count: minShould.count } }),
  };
}

function writeCondition(partition: Partition, condition: Condition, keyOf: KeyOf): QdrantCondition {
  switch (condition.kind) {
    case 'filter':
      // An empty one is no condition.
      return { must: [], ...clauses(partition, condition.filter, keyOf) };
    case 'has-id':
      return { has_id: [...condition.ids].map(partition.pointIdOf) };
    case 'has-vector':
      return { has_vector: condition.name };
    case 'is-empty':
      return { is_empty: { key: keyOf(condition.key.text) } };
    case 'is-null':
      return { is_null: { key: keyOf(condition.key.text) } };
    case 'nested':
      return {
        nested: { key: keyOf(condition.key.text), filter: clauses(partition, condition.filter, (path) => path) },
      };
    case 'field': {
      const key = keyOf(condition.key.text);
      const tests = condition.tests.flatMap(writeTest).map((test) => ({ key, ...test }));
      const [only, second] = tests;
      return only !== undefined && second === undefined ? only : { should: tests };
    }
  }
}

/** Several are OR-ed. */
function writeTest(test: FieldTest): QdrantCondition[] {
  switch (test.kind) {
    case 'value':
      return [{ match: { value: test.value } }];
    case 'any':
      return [{ match: { any: scalars(test.values) } }];
    case 'except':
      return [{ match: { except: scalars(test.values) } }];
    case 'text':
      return [{ match: { text: test.text } }];
    case 'prefix':
      return [{ match: { prefix: test.prefix } }];
    case 'terms':
      return [{ match: { text: test.terms.join(' ') } }];
    case 'range':
      return [{ range: bounds(test, (side) => side) }];
    case 'datetime':
      return [{ range: bounds(test, timeText) }];
    case 'values-count':
      return [{ values_count: bounds(test, (side) => side) }];
    case 'geo-box': {
      const { top, left, bottom, right } = test;
      return [{ geo_bounding_box: { top_left: { lat: top, lon: left }, bottom_right: { lat: bottom, lon: right } } }];
    }
    case 'geo-radius':
      return [{ geo_radius: { center: { lat: test.lat, lon: test.lon }, radius: test.radius } }];
    case 'geo-polygon': {
      const interiors = test.interiors.map((points) => ({ points }));
      return [{ geo_polygon: { exterior: { points: test.exterior }, ...(interiors.length > 0 && { interiors }) } }];
    }
  }
}

function scalars(values: ReadonlySet<Scalar>): Scalar[] {
  return [...values];
}

type Bounds = Record<'gt' | 'gte' | 'lt' | 'lte', number>;

/** Open sides are left out. */
function bounds<Side>(range: Bounds, sideOf: (value: number) => Side): Partial<Record<keyof Bounds, Side>> {
  const sides = (['gt', 'gte', 'lt', 'lte'] as const).filter((side) => Number.isFinite(range[side]));
  return Object.fromEntries(sides.map((side) => [side, sideOf(range[side])]));
}

/** Years 0000 to 9999, which is what RFC 3339 can say. */
const firstTimeMs = -62_167_219_200_000;
const lastTimeMs = 253_402_300_799_999;

/** RFC 3339, with microseconds (as exact as Qdrant is) where there are any. */
function timeText(ms: number): string {
  const inYears = Math.min(lastTimeMs, Math.max(firstTimeMs, ms));
  const wholeMs = Math.floor(inYears);
  const text = new Date(wholeMs).toISOString();
  const microseconds = Math.min(999, Math.round((inYears - wholeMs) * 1_000));
  return microseconds === 0 ? text : `${text.slice(0, -1)}${String(microseconds).padStart(3, '0')}Z`;
}
