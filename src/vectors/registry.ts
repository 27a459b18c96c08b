import type { JsonObject } from '../kernel/json.ts';
import type { CollectionSpec, NamedSpecs, PayloadType } from './collection.ts';
import type { CollectionSettings } from './collection-settings.ts';
import type { AliasChange, Owner } from './vector-store.ts';

/**
 * Ownership of collections, for drivers that keep many tenants' points together elsewhere. It is the truth: points of a
 * generation without a row belong to nobody. Its store, in the accounts' database, is in stores/vectors;
 * `registry-link` carries it into a thread. Each method is one transaction. Rejects with a FailureError (503) while the
 * database cannot be used.
 */
export interface VectorRegistry {
  /** By name or alias. Never from a cache: a collection made again must not see the points of the earlier one. */
  find(tenant: string, collection: string): Promise<RegisteredCollection | null>;
  /** By name. */
  list(tenant: string): Promise<readonly RegisteredCollection[]>;
  /** `exists`: the tenant has a collection or an alias of that name. `full`: the account has `collectionsMax` of them. */
  create(row: RegisteredCollection, collectionsMax: number): Promise<'created' | 'exists' | 'full'>;
  /**
   * By its own name: deleting an alias does not delete its collection. Aliases and payload indexes go, and the same
   * transaction notes the deletion of the points. Null when there was none.
   */
  drop(tenant: string, collection: string, nowMs: number): Promise<Deletion | null>;
  /**
   * Settings of a generation, `undefined` for none. `changed`: they are no longer `before`, or the generation has gone;
   * nothing was done.
   */
  configure(
    generation: string,
    before: CollectionSettings | undefined,
    after: CollectionSettings | undefined,
  ): Promise<'done' | 'changed'>;
  indexes(generation: string): Promise<readonly PayloadIndex[]>;
  /** `full`: the generation has `indexesMax` of them; nothing was changed. */
  index(generation: string, index: PayloadIndex, indexesMax: number): Promise<'done' | 'full'>;
  forgetIndex(generation: string, key: string): Promise<void>;
  /** All of the tenant's, or those of one collection (by name or alias); by alias. */
  aliases(tenant: string, collection: string | null): Promise<readonly { alias: string; collection: string }[]>;
  /** All or none; `aliasesMax` is the tenant's. */
  changeAliases(tenant: string, changes: readonly AliasChange[], aliasesMax: number): Promise<AliasesChanged>;
  /** Every tenant's, by generation, from the one after `after`: pages for the operator. */
  all(after: string | null, limit: number): Promise<readonly RegisteredCollection[]>;
  /** All of `from` becomes `to`'s, or nothing where a name of one is a name of the other. */
  adopt(from: string, to: Owner): Promise<{ kind: 'done'; collections: number } | { kind: 'exists'; name: string }>;
  /** The same as `drop` of each of the tenant's. */
  purge(tenant: string, nowMs: number): Promise<readonly Deletion[]>;
  /** Due deletions, oldest first, each to one caller: nobody else gets it before `leaseUntilMs`. */
  dueDeletions(nowMs: number, leaseUntilMs: number, limit: number): Promise<readonly Deletion[]>;
  /** Its points are gone. */
  deleted(generation: string): Promise<void>;
  /** To be done again then. */
  deleteLater(generation: string, tries: number, nextMs: number): Promise<void>;
}

export interface RegisteredCollection extends CollectionSpec, Owner {
  /** A UUID, another one each time a collection is made: what its points are kept under. */
  generation: string;
}

/** Points that have no owner any more. */
export interface Deletion {
  generation: string;
  size: number;
  distance: CollectionSpec['distance'];
  named?: NamedSpecs;
  /** Wall-clock ms at which the collection was dropped. */
  droppedMs: number;
  /** How often it failed. */
  tries: number;
}

export interface PayloadIndex {
  key: string;
  type: PayloadType;
  /** Parameters in the API's form; absent when only its type was named. */
  params?: JsonObject;
}

export type AliasesChanged =
  | { kind: 'done' }
  | { kind: 'no-collection'; name: string }
  | { kind: 'no-alias'; name: string }
  | { kind: 'is-collection'; name: string }
  | { kind: 'full' };
