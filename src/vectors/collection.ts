import type { JsonObject } from '../kernel/json.ts';
import { directMember } from '../kernel/known-entry.ts';
import type { CollectionSettings } from './collection-settings.ts';

export const distances = ['Cosine', 'Dot', 'Euclid', 'Manhattan'] as const;
export type Distance = (typeof distances)[number];

/** Most components of a vector. */
export const vectorSizeMax = 65_536;

/** Letters, digits, `_`, `-`, `.`; names of collections and of their aliases. */
export const collectionNamePattern = /^[A-Za-z0-9_.-]{1,255}$/;

/** Declared type of a payload key. */
export const payloadTypes = ['keyword', 'integer', 'float', 'bool', 'geo', 'datetime', 'text', 'uuid'] as const;
export type PayloadType = (typeof payloadTypes)[number];

/** One kind of vector that a collection's points may have. */
export type VectorSpec =
  | { kind: 'dense'; size: number; distance: Distance; embeddingModel: string | null }
  /** Several vectors a point, compared by MaxSim. */
  | { kind: 'multi'; size: number; distance: Distance }
  /** `idf`: search terms are weighted by how rare they are in the collection. `embeddingModel`: a built-in one. */
  | { kind: 'sparse'; modifier: 'none' | 'idf'; embeddingModel: string | null };

/**
 * Facts of a collection that never change, without its settings. `size`, `distance` and `embeddingModel` are its
 * unnamed vector's.
 */
export interface CollectionSpec {
  name: string;
  /** 0: it has no unnamed vector, or it is in `named` under ''. */
  size: number;
  distance: Distance;
  /** Alias that embeds its texts; null: vectors only. */
  embeddingModel: string | null;
  /** By name; absent where there are none. */
  named?: NamedSpecs;
  /** Absent where there are none, and on an engine that keeps none. */
  settings?: CollectionSettings;
}

export type NamedSpecs = Readonly<Record<string, VectorSpec>>;

/** Named vectors of one collection. */
export const namedVectorsMax = 32;
/** Number of components. */
export const vectorNameCharsMax = 255;

/** The spec of the vector of that name; '' is the unnamed one. Null when there is none. */
export function vectorSpecOf(spec: CollectionSpec, name: string): VectorSpec | null {
  if (name === '' && spec.size > 0) {
    return { kind: 'dense', size: spec.size, distance: spec.distance, embeddingModel: spec.embeddingModel };
  }
  return directMember(spec.named ?? {}, name) ?? null;
}

/** In the order in which they are shown: the unnamed one first. */
export function vectorNamesOf({ size, named = {} }: CollectionSpec): string[] {
  return size > 0 ? ['', ...Object.keys(named)] : Object.keys(named);
}

/** A collection as `inspect` shows it. */
export interface CollectionInfo extends CollectionSpec {
  points: number;
  /** Points that an index in memory serves, as of now; the others are read from disk. Callers do not see it. */
  indexed: number;
  /** Payload indexes by key path, with the points that have the key. */
  payloadSchema: Readonly<Record<string, { type: PayloadType; points: number; params?: JsonObject }>>;
}
