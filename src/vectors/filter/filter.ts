import type { PointId } from '../point.ts';
import type { TextOptions } from '../text/text-terms.ts';
import type { KeyPath } from './key-path.ts';

/** A checked filter, every clause a list. Semantics: Qdrant 1.19's (design §12). */
export interface Filter {
  must: readonly Condition[];
  should: readonly Condition[];
  mustNot: readonly Condition[];
  minShould: { conditions: readonly Condition[]; count: number } | null;
}

export function filterOf(clause: 'must' | 'should' | 'mustNot', conditions: readonly Condition[]): Filter {
  return { must: [], should: [], mustNot: [], minShould: null, [clause]: conditions };
}

/** One filter that passes what all of them do; null for none. */
export function allOf(filters: readonly Filter[]): Filter | null {
  const conditions = filters.map((filter) => ({ kind: 'filter', filter }) as const);
  return filters.length <= 1 ? (filters[0] ?? null) : filterOf('must', conditions);
}

export type Condition =
  | { kind: 'filter'; filter: Filter }
  | { kind: 'has-id'; ids: ReadonlySet<PointId> }
  /** '' is the unnamed one. */
  | { kind: 'has-vector'; name: string }
  | { kind: 'is-empty'; key: KeyPath }
  | { kind: 'is-null'; key: KeyPath }
  | { kind: 'nested'; key: KeyPath; filter: Filter }
  /** Several tests in one condition are OR-ed. */
  | { kind: 'field'; key: KeyPath; tests: readonly FieldTest[] };

export type Scalar = string | number | boolean;

export type FieldTest =
  | { kind: 'value'; value: Scalar }
  | { kind: 'any'; values: ReadonlySet<Scalar> }
  | { kind: 'except'; values: ReadonlySet<Scalar> }
  /** Case-sensitive substring, as Qdrant without a text index; `mode`: its meaning with one. */
  | { kind: 'text'; text: string; mode?: 'phrase' | 'substring' }
  /** Strings that begin so, exactly. */
  | { kind: 'prefix'; prefix: string }
  /** Terms of a text, as a text index takes it apart: all of them, or one after another. */
  | { kind: 'terms'; terms: readonly string[]; together: 'anywhere' | 'phrase'; options: TextOptions }
  /** Numbers; infinite where a side is open. */
  | { kind: 'range'; gt: number; gte: number; lt: number; lte: number }
  /** Ms since 1970, of RFC 3339 times. */
  | { kind: 'datetime'; gt: number; gte: number; lt: number; lte: number }
  | { kind: 'geo-box'; top: number; left: number; bottom: number; right: number }
  /** Metres. */
  | { kind: 'geo-radius'; lat: number; lon: number; radius: number }
  | { kind: 'geo-polygon'; exterior: readonly GeoPoint[]; interiors: readonly (readonly GeoPoint[])[] }
  | { kind: 'values-count'; gt: number; gte: number; lt: number; lte: number };

export interface GeoPoint {
  lat: number;
  lon: number;
}
