import type {
  FilesOf,
  RowPage,
  StoreBatchRow,
  StoreCounts,
  StoreRow,
  VectorStoreRows,
} from '../../books/metering/vector-store-rows.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, FailureError, invalid } from '../../kernel/failure.ts';
import type { Sealer } from '../../kernel/seal.ts';
import { type LeftOut, openable } from '../../kernel/unopenable.ts';
import { openFile, openStore, type StoreFile, type VectorStore } from './store-facts.ts';

export interface StoreBatch extends StoreBatchRow {
  counts: StoreCounts;
}

/** Query of a list: `after` and `before` are ids that callers see. */
export interface ListPage extends Pick<RowPage, 'order' | 'limit'> {
  after: string | null;
  before: string | null;
}

export type StoreReads = ReturnType<typeof createStoreReads>;

/** Reads of vector stores, for their tenant alone. Rejects with FailureErrors. */
export function createStoreReads({
  rows,
  sealer,
  leftOut,
  clock,
}: {
  rows: VectorStoreRows;
  sealer: Sealer;
  leftOut: LeftOut;
  clock: Pick<Clock, 'wallMs'>;
}) {
  async function opener(found: readonly StoreRow[]): Promise<(row: StoreRow) => VectorStore> {
    const ids = found.map(({ id }) => id);
    const counts = await rows.counts('store', ids);
    return (row) => openStore(sealer, row, counts.get(row.id) ?? noFiles, clock.wallMs());
  }

  async function store(tenant: string, id: string): Promise<VectorStore> {
    const row = await rows.findStore(tenant, id);
    if (row === null) throw notFound(`There is no vector store '${id}'. It may belong to another key.`);
    return (await opener([row]))(row);
  }

  return {
    store,
    /** One that has not expired. */
    async usable(tenant: string, id: string): Promise<VectorStore> {
      const found = await store(tenant, id);
      if (found.status === 'expired') throw new FailureError(storeExpired(id));
      return found;
    },
    async list(tenant: string, { after, before, ...page }: ListPage): Promise<VectorStore[]> {
      const read = (page: RowPage) => rows.listStores(tenant, page);
      return pageOf({ ...page, from: placeOf(after, before) }, { read, opener, leftOut });
    },
    async file(tenant: string, storeId: string, id: string): Promise<StoreFile> {
      await store(tenant, storeId);
      const row = await rows.findFile(storeId, id);
      if (row === null) throw notFound(`There is no file '${id}' in the vector store '${storeId}'.`);
      return openFile(sealer, row);
    },
    async listFiles(tenant: string, of: FilesOf, { after, before, ...page }: ListPage): Promise<StoreFile[]> {
      await store(tenant, of.store);
      const beyond = after ?? before;
      // Callers remove files as they list them: the last of a page may be gone when they ask for the next.
      const from = beyond === null ? null : await rows.findPlace(of.store, beyond);
      if (beyond !== null && from === null) {
        const param = after === null ? 'before' : 'after';
        throw new FailureError(invalid(param, `'${param}' names no file of this list: '${beyond}'.`));
      }
      return pageOf(
        { ...page, from: placeOf(after && from, before && from) },
        { read: (page) => rows.listFiles(of, page), opener: () => (row) => openFile(sealer, row), leftOut },
      );
    },
    async batch(tenant: string, storeId: string, id: string): Promise<StoreBatch> {
      await store(tenant, storeId);
      const row = await rows.findBatch(storeId, id);
      if (row === null) throw notFound(`There is no batch '${id}' in the vector store '${storeId}'.`);
      const counts = await rows.counts('batch', [id]);
      return { ...row, counts: counts.get(id) ?? noFiles };
    },
  };
}

/** The rows of a page that can be opened, in the order of the list. */
async function pageOf<Row extends { id: string }, Opened>(
  { from, ...page }: RowPage,
  {
    read,
    ...list
  }: Omit<Parameters<typeof openable<Row, Opened>>[1], 'read'> & { read(page: RowPage): Promise<readonly Row[]> },
): Promise<Opened[]> {
  const side = from?.side ?? 'after';
  // Before a place, the nearest row is the last.
  const ordered = <T>(rows: readonly T[]) => (side === 'before' ? rows.toReversed() : [...rows]);
  const found = await openable<Row, Opened>(page.limit, {
    ...list,
    read: async (behind, limit) =>
      ordered(await read({ ...page, limit, from: behind === null ? from : { id: behind.id, side } })),
  });
  return ordered(found);
}

const noFiles: StoreCounts = { in_progress: 0, completed: 0, failed: 0, cancelled: 0, bytes: 0 };

function placeOf(after: string | null, before: string | null): RowPage['from'] {
  if (after !== null) return { id: after, side: 'after' };
  return before === null ? null : { id: before, side: 'before' };
}

function storeExpired(id: string): Failure {
  return invalid('vector_store_id', `The vector store '${id}' expired, and its files are gone. Make a new one.`);
}

function notFound(message: string): FailureError {
  return new FailureError({ kind: 'not-found', message });
}
