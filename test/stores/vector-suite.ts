import assert from 'node:assert/strict';
import { FailureError } from '../../src/kernel/failure.ts';
import type { JsonObject } from '../../src/kernel/json.ts';
import type { Distance } from '../../src/vectors/collection.ts';
import type { Filter } from '../../src/vectors/filter/filter.ts';
import { readFilter } from '../../src/vectors/filter/read-filter.ts';
import type { PointId } from '../../src/vectors/point.ts';
import type { PointQuery, VectorStore, WriteOperation } from '../../src/vectors/vector-store.ts';

/** Points and questions that the suites over every driver of `VectorStore` share. */

export interface TestPoint {
  id: PointId;
  vector: readonly number[];
  payload: JsonObject | null;
}

export const everything = { payload: true, vector: true } as const;
export const idsOnly = { payload: false, vector: false } as const;

export function upsert(points: readonly TestPoint[]): WriteOperation {
  return {
    kind: 'upsert',
    points: {
      ids: points.map(({ id }) => id),
      vectors: Float32Array.from(points.flatMap(({ vector }) => vector)),
      payloads: points.map(({ payload }) => (payload === null ? null : JSON.stringify(payload))),
    },
  };
}

export function query(vector: readonly number[], given: Partial<PointQuery> = {}): PointQuery {
  return {
    target: { kind: 'nearest', vector: Float32Array.from(vector), mmr: null },
    filter: null,
    limit: 10,
    offset: 0,
    scoreThreshold: null,
    exact: false,
    want: idsOnly,
    ...given,
  };
}

export function where(json: unknown): Filter {
  return readFilter(json, 'filter');
}

/** Every point's id, by pages of `limit`. */
export async function scrolledIds(
  store: VectorStore,
  tenant: string,
  collection: string,
  limit: number,
): Promise<PointId[]> {
  const ids: PointId[] = [];
  let offset: PointId | null = null;
  do {
    const asked = { filter: null, limit, offset, orderBy: null, want: idsOnly };
    const page: Awaited<ReturnType<VectorStore['scroll']>> = await store.scroll(tenant, collection, asked);
    assert.ok(page.points.length <= limit);
    ids.push(...page.points.map(({ id }) => id));
    offset = page.next;
  } while (offset !== null);
  return ids;
}

/** Integers first, both ascending, as text. */
export function sorted(ids: Iterable<PointId>): string[] {
  return [...ids].map(String).sort();
}

export async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof FailureError) return error.failure.kind;
    throw error;
  }
  return 'nothing was refused';
}

/** Qdrant's documentation of each distance, plainly. */
export function plainScore(distance: Distance, a: readonly number[], b: readonly number[]): number {
  const sum = (of: (x: number, y: number) => number) => a.reduce((total, x, at) => total + of(x, b[at]!), 0);
  const dot = sum((x, y) => x * y);
  switch (distance) {
    case 'Dot':
      return dot;
    case 'Cosine':
      return dot / (Math.hypot(...a) * Math.hypot(...b));
    case 'Euclid':
      return Math.sqrt(sum((x, y) => (x - y) ** 2));
    case 'Manhattan':
      return sum((x, y) => Math.abs(x - y));
  }
}

export function nearerFirst(distance: Distance): (a: number, b: number) => number {
  return distance === 'Dot' || distance === 'Cosine' ? (a, b) => b - a : (a, b) => a - b;
}
