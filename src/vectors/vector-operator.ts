import { type ExportedCollection, type ExportedPoint, exportLines } from './export-lines.ts';
import { importCollection, importPoints } from './import-points.ts';
import type { Owner, TenantSummary, VectorStore } from './vector-store.ts';

/** Operations of an operator on all data of a tenant. Rejects with a FailureError, as the store does. */
export type VectorOperator = ReturnType<typeof createVectorOperator>;

export function createVectorOperator(store: Omit<VectorStore, 'trouble' | 'close'>) {
  return {
    /** Tenants that have collections, by name. */
    tenants: (): Promise<readonly TenantSummary[]> => store.tenants(),
    /**
     * Everything of the tenant as JSON lines: an `ExportHead`, and for each collection `{collection}` and a line for
     * each of its points; `{end}` last, without which it is not whole. A point that is written or deleted meanwhile may
     * be missing or shown as it was.
     */
    export: (tenant: string): AsyncIterable<string> => exportLines(store, tenant),
    /** Makes the collection with its payload indexes and aliases, unless it is there: `conflict` when it is another. */
    importCollection: (owner: Owner, collection: ExportedCollection): Promise<void> =>
      importCollection(store, owner, collection),
    /** Writes points with their old ids. All of them or none. */
    importPoints: (tenant: string, collection: string, points: readonly ExportedPoint[]): Promise<void> =>
      importPoints(store, tenant, collection, points),
    /** The same as `VectorStore.adopt` and `purge`. */
    adopt: (from: string, to: Owner): Promise<{ collections: number }> => store.adopt(from, to),
    purge: (tenant: string): Promise<{ collections: number }> => store.purge(tenant),
  };
}
