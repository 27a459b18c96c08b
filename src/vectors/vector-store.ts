import type { JsonObject } from '../kernel/json.ts';
import type { CollectionInfo, CollectionSpec, PayloadType } from './collection.ts';
import type { SettingsChange } from './collection-settings.ts';
import type { Filter } from './filter/filter.ts';
import type { Formula } from './formula.ts';
import type { PointBatch, PointId, ScoredPoint, StoredPoint, VectorBatch, VectorValue, Want } from './point.ts';

/**
 * The port of an engine that keeps vectors. Drivers: embedded/ (this machine), qdrant/. Each method is scoped by its
 * tenant, and another tenant's collection counts as missing. `collection` may be an alias. Rejects with a FailureError:
 * `not-found` for an unknown collection, `conflict` for an existing one, `invalid-request` for input that does not fit
 * the collection, `unsupported` (501) for what the driver cannot do, `overloaded` (503) when nothing can be written or
 * read right now. A write that resolves is durable, visible to the next read, and was done whole; one that rejects did
 * nothing.
 */
export interface VectorStore {
  create(owner: Owner, spec: CollectionSpec, place?: 'new' | 'moved'): Promise<void>;
  /** False when there was none. Its aliases go with it. */
  drop(tenant: string, collection: string): Promise<boolean>;
  /** By name. */
  list(tenant: string): Promise<readonly CollectionSpec[]>;
  /** Null when there is none; cheap: looked at before every call. */
  find(tenant: string, collection: string): Promise<CollectionSpec | null>;
  inspect(tenant: string, collection: string): Promise<CollectionInfo>;
  /** Changes settings, which change nothing else. */
  configure(tenant: string, collection: string, change: SettingsChange): Promise<void>;
  /** In order, in one transaction; resolves to the number of the last operation. */
  write(tenant: string, collection: string, operations: readonly WriteOperation[]): Promise<number>;
  /** In the order of `ids`; unknown ones are left out. */
  retrieve(tenant: string, collection: string, ids: readonly PointId[], want: Want): Promise<readonly StoredPoint[]>;
  /** One list for each query, best first. */
  query(tenant: string, collection: string, queries: readonly PointQuery[]): Promise<readonly ScoredPoint[][]>;
  /** Best points for each value of a payload key, groups by their best point. */
  queryGroups(tenant: string, collection: string, query: GroupQuery): Promise<readonly PointGroup[]>;
  /** The nearest of each of some points taken by chance, among these: exact, best first. */
  neighbours(tenant: string, collection: string, query: NeighbourQuery): Promise<Neighbours>;
  /** In order of ids, or of `orderBy`. */
  scroll(tenant: string, collection: string, query: ScrollQuery): Promise<Page>;
  count(tenant: string, collection: string, filter: Filter | null): Promise<number>;
  /** Values of a key with the points that have them, most first, then by value. */
  facet(tenant: string, collection: string, query: FacetQuery): Promise<readonly FacetHit[]>;
  /**
   * `type: null` removes the index; both do nothing when it is so already. `params`: as the API has them; those of a text
   * index say how `match.text` takes texts apart.
   */
  indexPayload(
    tenant: string,
    collection: string,
    key: string,
    type: PayloadType | null,
    params?: JsonObject,
  ): Promise<number>;
  /** All of the tenant's, or those of one collection; by alias. */
  aliases(tenant: string, collection: string | null): Promise<readonly { alias: string; collection: string }[]>;
  /** All or none. An alias with a collection's name is refused. */
  changeAliases(tenant: string, changes: readonly AliasChange[]): Promise<void>;
  /** Tenants that have collections, for the operator. */
  tenants(): Promise<readonly TenantSummary[]>;
  /** Everything of `from` becomes `to`'s; conflicts (same name) refuse the whole. */
  adopt(from: string, to: Owner): Promise<{ collections: number }>;
  /** Everything of the tenant is gone. */
  purge(tenant: string): Promise<{ collections: number }>;
  /** Why it cannot serve right now, for /readyz; null when it can. */
  trouble(): Promise<string | null>;
  close(): Promise<void>;
}

/** Owner of vectors: the key's identity, and the account whose limit on collections counts. */
export interface Owner {
  tenant: string;
  account: string;
}

export interface TenantSummary extends Owner {
  collections: number;
  points: number;
}

/** Points of an operation. */
export type Selection = { ids: readonly PointId[] } | { filter: Filter };

export interface UpdateCondition {
  /** An existing point that does not match stays unchanged; absent: all match. Checked when the operation begins. */
  updateFilter?: Filter;
  /** Points that exist, or those that do not, are left alone; absent: none. */
  updateMode?: 'insert_only' | 'update_only';
}

export type WriteOperation =
  | ({ kind: 'upsert'; points: PointBatch } & UpdateCondition)
  | { kind: 'delete'; which: Selection }
  /**
   * Keys of `payload` are set (merged at the top level, or under the path `key`). `payload`: JSON text of an object.
   */
  | { kind: 'set-payload'; which: Selection; payload: string; key: string | null }
  | { kind: 'overwrite-payload'; which: Selection; payload: string }
  | { kind: 'delete-payload'; which: Selection; keys: readonly string[] }
  | { kind: 'clear-payload'; which: Selection }
  /** Vectors alone of points that exist, those that are given; an unknown id refuses the whole with 404. */
  | ({ kind: 'update-vectors' } & VectorBatch & Pick<UpdateCondition, 'updateFilter'>)
  /** Vectors of these names go; '' is the unnamed one. */
  | { kind: 'delete-vectors'; which: Selection; names: readonly string[] };

/** A vector, or the one of a point: of the collection, or of another of the tenant's (`from`). */
export type VectorInput = VectorValue | { id: PointId; from?: Lookup };

export interface Lookup {
  /** Name or alias. */
  collection: string;
  /** Name of the vector there; '' is the unnamed one. */
  vector: string;
}

export type RecommendStrategy = 'average_vector' | 'best_score' | 'sum_scores';

/** Target of a search. Points named by id are left out of the answer, as in Qdrant. */
export type Target =
  | { kind: 'nearest'; vector: VectorInput; mmr: { diversity: number; candidates: number } | null }
  | {
      kind: 'recommend';
      positive: readonly VectorInput[];
      negative: readonly VectorInput[];
      strategy: RecommendStrategy;
    }
  /** Nearest to the target among those that the context prefers: by how many pairs' better half is the nearer one. */
  | { kind: 'discover'; target: VectorInput; context: readonly ContextPair[] }
  /** Points in the better half of every pair score 0; others by how far they are from it. */
  | { kind: 'context'; context: readonly ContextPair[] }
  /** Results of the prefetches, scored by a formula. */
  | { kind: 'formula'; formula: Formula }
  /** Results of the prefetches, merged. */
  | { kind: 'fusion'; method: Fusion }
  | { kind: 'order-by'; order: OrderBy }
  | { kind: 'sample' }
  /** In order of ids. */
  | { kind: 'all' };

export interface ContextPair {
  positive: VectorInput;
  negative: VectorInput;
}

export type Fusion =
  /** Reciprocal ranks; `weights`: one for each prefetch. */
  | { kind: 'rrf'; k: number; weights: readonly number[] | null }
  /** Scores, those of each prefetch brought onto one scale by their mean and deviation. */
  | { kind: 'dbsf' };

/** A search whose result another one works on. Its filter, and those of searches around it, all hold. */
export type Prefetch = Omit<PointQuery, 'offset' | 'want'>;

export interface PointQuery {
  target: Target;
  /** Sources that the target is searched in, or that it merges; absent or empty: all points. */
  prefetch?: readonly Prefetch[];
  /** Name of the vector that is compared; absent: the unnamed one. */
  using?: string;
  filter: Filter | null;
  limit: number;
  offset: number;
  /** The worst score that is answered. */
  scoreThreshold: number | null;
  /** `params.exact`: no approximate tier. */
  exact: boolean;
  want: Want;
}

export interface GroupQuery extends Omit<PointQuery, 'limit' | 'offset'> {
  groupBy: string;
  groups: number;
  groupSize: number;
}

export interface NeighbourQuery {
  /** Filter of the points that may be taken; null: all that have such a vector. */
  filter: Filter | null;
  /** Number of points taken, at most. */
  sample: number;
  /** Number of nearest others for each. */
  limit: number;
  /** Name of the vector that is compared, '' the unnamed one. */
  using: string;
}

export interface Neighbours {
  /** Points taken, in order; none where fewer than two are there. */
  ids: readonly PointId[];
  /** For each of them. */
  nearest: readonly (readonly ScoredPoint[])[];
}

export interface PointGroup {
  id: string | number;
  hits: readonly ScoredPoint[];
}

export interface OrderBy {
  key: string;
  direction: 'asc' | 'desc';
  /** Number, or RFC 3339 time; null: from the first. */
  startFrom: number | string | null;
}

export interface ScrollQuery {
  filter: Filter | null;
  limit: number;
  /** The first id of the page (inclusive); null: from the first. */
  offset: PointId | null;
  orderBy: OrderBy | null;
  want: Want;
  /** The page ends early once its payloads and vectors hold so much; absent: one that is too large is refused (400). */
  pageBytes?: number;
}

export interface Page {
  points: readonly (StoredPoint & { orderValue?: number | string })[];
  /** The first id of the next page; null at the end. */
  next: PointId | null;
}

export interface FacetQuery {
  key: string;
  filter: Filter | null;
  limit: number;
}

export interface FacetHit {
  value: string | number | boolean;
  count: number;
}

export type AliasChange =
  | { kind: 'create'; alias: string; collection: string }
  | { kind: 'delete'; alias: string }
  | { kind: 'rename'; from: string; to: string };
