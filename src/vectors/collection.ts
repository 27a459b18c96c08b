export const distances = ['Cosine', 'Dot', 'Euclid', 'Manhattan'] as const;
export type Distance = (typeof distances)[number];

/** Most components of a vector. */
export const vectorSizeMax = 65_536;

/** Letters, digits, `_`, `-`, `.`; names of collections and of their aliases. */
export const collectionNamePattern = /^[A-Za-z0-9_.-]{1,255}$/;

/** What a payload index says its key holds. */
export const payloadTypes = ['keyword', 'integer', 'float', 'bool', 'geo', 'datetime', 'text', 'uuid'] as const;
export type PayloadType = (typeof payloadTypes)[number];

/** What never changes about a collection. */
export interface CollectionSpec {
  name: string;
  size: number;
  distance: Distance;
  /** Alias that embeds its texts; null: vectors only. */
  embeddingModel: string | null;
}

/** A collection as `inspect` shows it. */
export interface CollectionInfo extends CollectionSpec {
  points: number;
  /** Points that an index in memory serves, as of now; the others are read from disk. */
  indexed: number;
  /** Payload indexes by key path, with the points that have the key. */
  payloadSchema: Readonly<Record<string, { type: PayloadType; points: number }>>;
}
