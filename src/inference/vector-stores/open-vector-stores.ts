import type { LastingCallers } from '../../books/auth/caller-note.ts';
import type { VectorStoreRows } from '../../books/metering/vector-store-rows.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, failureIn } from '../../kernel/failure.ts';
import type { JobWorker } from '../../kernel/leased-jobs.ts';
import { OpenedOnce } from '../../kernel/opened-once.ts';
import type { Sealer } from '../../kernel/seal.ts';
import type { ExtractPool } from '../../tools/extract/extract-pool.ts';
import type { Uploads } from '../batches/uploads.ts';
import type { VectorEndpoint } from '../families/vectors/endpoint.ts';
import type { ServeServices } from '../spine/answer-cache.ts';
import type { StoreCaller } from './passages.ts';

export interface VectorStoresOptions {
  services: ServeServices;
  stores: StoredVectorStores;
  uploads: Pick<Uploads, 'open' | 'leftOut'>;
  endpoint: VectorEndpoint;
  /** Reads HTML and PDFs. */
  extracting: Pick<ExtractPool, 'extract'>;
  sealer: Sealer;
  clock: Clock;
  config(): Config;
  ring: LastingCallers;
  /** For the operator's log. */
  onTrouble(message: string): void;
}

/** Vector stores, in tables that are opened when they are first asked for. */
export interface StoredVectorStores {
  vectorStores(): Promise<{ rows: VectorStoreRows; worker: JobWorker }>;
  /** Whether there may be some already: then a start continues them. */
  mayHaveVectorStores(): boolean;
}

export type OpenedVectorStores = ReturnType<typeof openVectorStores>;

/** Vector stores: taken up at the start where there are any, otherwise loaded and opened from the first call on. */
export function openVectorStores(options: VectorStoresOptions) {
  const { services, stores: storedRows, uploads, endpoint, extracting, config, onTrouble, ...parts } = options;

  async function begin() {
    const [{ createVectorStores }, { createPassages }, { createFileReader }] = await Promise.all([
      import('./vector-stores.ts'),
      import('./passages.ts'),
      import('./read-file.ts'),
    ]);
    const { rows, worker } = await storedRows.vectorStores();
    const passages = createPassages(services, endpoint);
    const stores = createVectorStores({
      ...parts,
      rows,
      worker,
      passages,
      onTrouble,
      leftOut: uploads.leftOut,
      files: async () => (await uploads.open()).files,
      filesMax: () => config().vectors.stores.files,
      readText: createFileReader(extracting),
    });
    await stores.start();
    return { stores, passages };
  }

  const once = new OpenedOnce(begin);
  const { open } = once;
  if (storedRows.mayHaveVectorStores()) once.continue('vector stores', onTrouble);
  return {
    open,
    /** A store is about to be searched for a model. Why it cannot be; null: it can. */
    async used(tenant: string, id: string): Promise<Failure | null> {
      const { stores } = await open();
      try {
        await stores.touch(await stores.usable(tenant, id));
        return null;
      } catch (error) {
        return failureIn(error);
      }
    },
    /** The file was deleted: every store of its key loses it. */
    async removeFile(caller: StoreCaller, id: string): Promise<void> {
      if (storedRows.mayHaveVectorStores()) await (await open()).stores.removeFromAll(caller, id);
    },
    async close(): Promise<void> {
      await (await once.close())?.stores.stop();
    },
  };
}
