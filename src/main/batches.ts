import type { Config } from '../config/schema.ts';
import type { Route } from '../http/exchange.ts';
import { batchesRoutes } from '../http/routes/batches.ts';
import { shownPurposes } from '../http/routes/file-calls.ts';
import { filesRoutes } from '../http/routes/files.ts';
import { messageBatchesRoutes } from '../http/routes/message-batches.ts';
import type { UpstreamAccess } from '../inference/batches/batch-parts.ts';
import { type Batches, createBatches } from '../inference/batches/batches.ts';
import { contentsInFiles, contentsInRows } from '../inference/batches/file-contents.ts';
import { createLineCalls } from '../inference/batches/line-calls.ts';
import {
  createStoredFiles,
  type StoredFile,
  type StoredFiles,
  UnreadableFile,
} from '../inference/batches/stored-files.ts';
import { upstreamClient } from '../inference/batches/upstream/upstream-client.ts';
import type { Services } from '../inference/endpoints/services.ts';
import { createTurns } from '../kernel/sharing/turns.ts';
import type { Ledger } from '../metering/ledger.ts';
import type { StorageBook } from '../metering/storage-book.ts';
import { accountOfTenant } from '../stores/storage-sizes.ts';
import type { Books } from './books.ts';
import type { BucketParts } from './buckets.ts';
import type { Callers } from './callers.ts';
import { openBucketFolder } from './files.ts';

export interface BatchesOptions extends BucketParts {
  services: Services;
  /** That of the start. */
  config: Config;
  books: Pick<Books, 'stores' | 'secrets'>;
  callers: Pick<Callers, 'ring'>;
  storage: { book: StorageBook };
  /** Requests of callers that run. */
  running(): number;
  /** For the operator's log. */
  onTrouble(message: string): void;
  /** Called at once with how it is closed. */
  opened(close: () => Promise<void> | void): void;
}

interface Open {
  files: StoredFiles;
  batches: Batches;
}

/** Lines of batches that run at one time in this process. */
const linesAtOnce = 32;

/** Files and batches: taken up at the start where there are any, otherwise from the first on. */
export function openBatches(options: BatchesOptions): readonly Route[] {
  const { services, onTrouble } = options;
  const { stores, secrets } = options.books;
  const { clock, snapshot } = services;
  const sealer = secrets.sealer('batches');
  const bucket = openBucketFolder(options, '/uploads');
  const calls = createLineCalls(services, options.callers.ring.principalOf);
  const turns = createTurns({
    name: 'Lines of batches',
    places: linesAtOnce,
    waitingMax: 10_000,
    waitingBytesMax: Number.POSITIVE_INFINITY,
  });
  const holding = createTurns({
    name: 'Batches that hold what they will use',
    places: Number.POSITIVE_INFINITY,
    tenantPlaces: 1,
    waitingMax: Number.POSITIVE_INFINITY,
    waitingBytesMax: Number.POSITIVE_INFINITY,
  });
  const retentionMs = () => snapshot().config.storage.files_retention;
  let closed = false;
  let opening: Promise<Open> | null = null;

  async function open(): Promise<Open> {
    const { store, others } = await stores.batches();
    const contents = bucket === null ? contentsInRows(store) : contentsInFiles(bucket);
    const onKept = (tenant: string, bytes: number) => options.storage.book.add(accountOfTenant(tenant), 'files', bytes);
    const files = createStoredFiles({ store, contents, sealer, clock, retentionMs, onKept });
    const publicUrl = () => snapshot().config.server.public_url;
    const parts = {
      store,
      files,
      calls,
      turns,
      holding,
      sealer,
      clock,
      retentionMs,
      onKept,
      publicUrl,
      waiting: options.running,
      upstream: { ...upstreamAccess(services), taken: new Set<string>(), onTrouble },
      onTrouble,
    };
    const batches = createBatches({ ...parts, charged: (account, ids) => chargedOf(stores.ledger, account, ids) });
    await batches.start(others);
    return { files, batches };
  }

  function opened(): Promise<Open> {
    if (closed) return Promise.reject(new Error('the server is stopping'));
    opening ??= open().catch((error: unknown) => {
      opening = null;
      throw error;
    });
    return opening;
  }

  services.uploads.find = async (tenant, id) => {
    if (opening === null && !stores.batchesKept()) return null;
    const { files } = await opened();
    const file = await files.find(tenant, id);
    if (file === null || !shownPurposes.includes(file.purpose)) return null;
    return { name: file.name, bytes: file.bytes, content: () => contentOf(files, file) };
  };
  if (stores.batchesKept()) {
    opened().catch((error: unknown) => onTrouble(`batches could not be continued: ${String(error)}`));
  }
  const parts = {
    services,
    files: async () => (await opened()).files,
    batches: async () => (await opened()).batches,
  };
  options.opened(async () => {
    closed = true;
    await (await opening?.catch(() => null))?.batches.stop();
  });
  return [
    ...filesRoutes(parts),
    ...batchesRoutes({ ...parts, endpoints: calls.paths }),
    ...messageBatchesRoutes(parts),
  ];
}

function upstreamAccess({ transport, snapshot }: Services): Omit<UpstreamAccess, 'taken' | 'onTrouble'> {
  const connectionOf = (provider: string) => snapshot().providers.get(provider)?.connection;
  return {
    isUsed: () =>
      snapshot().config.batches.upstream === 'auto' &&
      [...snapshot().providers.values()].some(({ connection }) => connection.batches !== null),
    factsOf: (provider) => connectionOf(provider)?.batches ?? null,
    clientOf: (provider, credential) => upstreamClient(transport, connectionOf(provider), credential),
  };
}

/** Null when it was deleted meanwhile, or was sealed with another secret. */
async function contentOf(files: StoredFiles, file: StoredFile): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of files.read(file)) chunks.push(chunk);
  } catch (error) {
    if (error instanceof UnreadableFile) return null;
    throw error;
  }
  return Buffer.concat(chunks);
}

/** A request that died with its process is charged when somebody notices: until then its reservation is open. */
async function chargedOf(
  ledger: Pick<Ledger, 'find' | 'openReservations'>,
  account: string,
  requestIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const open = (await ledger.openReservations(account)).map(({ requestId }) => requestId);
  const charged = new Set(open);
  for (const id of requestIds) {
    const event = charged.has(id) ? null : await ledger.find(id, account);
    if (event !== null && (event.costMilli > 0 || event.class === 'ok' || event.class === 'crashed')) charged.add(id);
  }
  return charged;
}
