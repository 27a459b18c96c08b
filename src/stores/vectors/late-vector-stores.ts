import type { JobWorker } from '../../kernel/leased-jobs.ts';
import type { Stores } from '../opened-stores.ts';
import type { ClosableTables } from '../sql-tables.ts';

/** Vector stores in these tables; their statements are loaded now. */
export async function lateVectorStores(tables: ClosableTables, worker: JobWorker): ReturnType<Stores['vectorStores']> {
  const { createVectorStoreRows } = await import('./vector-store-rows.ts');
  return { rows: createVectorStoreRows(tables), worker };
}
