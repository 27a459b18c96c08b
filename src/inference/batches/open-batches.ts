import type { LastingCallers } from '../../books/auth/caller-note.ts';
import type { Ledger } from '../../books/metering/ledger.ts';
import { OpenedOnce } from '../../kernel/opened-once.ts';
import { createTurns } from '../../kernel/sharing/turns.ts';
import type { Services } from '../endpoints/services.ts';
import type { UpstreamAccess } from './batch-parts.ts';
import { type Batches, createBatches } from './batches.ts';
import { createLineCalls } from './line-calls.ts';
import type { ResumableFiles } from './resumable-files.ts';
import type { StoredFiles } from './stored-files.ts';
import type { Uploads } from './uploads.ts';
import { upstreamClient } from './upstream/upstream-client.ts';

export interface BatchesOptions {
  services: Services;
  uploads: Uploads;
  ledger: Pick<Ledger, 'find' | 'openReservations' | 'flush'>;
  ring: LastingCallers;
  /** Requests of callers that run. */
  running(): number;
  /** For the operator's log. */
  onTrouble(message: string): void;
}

export type OpenedBatches = ReturnType<typeof openBatches>;

/** Lines of batches that run together in this process. */
const linesAtOnce = 32;

/** Files and batches: taken up at the start where there are any, otherwise from the first on. */
export function openBatches({ services, uploads, ledger, ...options }: BatchesOptions) {
  const { onTrouble } = options;
  const { snapshots } = services;
  const calls = createLineCalls(services, options.ring.principalOf);
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

  async function begin() {
    const { store, worker, files, resumable } = await uploads.open();
    const { sealer, clock, leftOut, retentionMs, onStored } = uploads;
    const batches = createBatches({
      store,
      worker,
      files,
      calls,
      callers: options.ring,
      turns,
      holding,
      sealer,
      clock,
      leftOut,
      retentionMs,
      onStored,
      publicUrl: () => snapshots.current.config.server.public_url,
      waiting: options.running,
      upstream: { ...upstreamAccess(services), taken: new Set<string>(), onTrouble },
      charged: (account, ids) => chargedOf(ledger, account, ids),
      booked: () => ledger.flush(),
      onTrouble,
    });
    await batches.start();
    return { files, resumable, batches };
  }

  const once = new OpenedOnce(begin);
  const { open } = once;
  if (uploads.mayHaveStored()) once.continue('batches', onTrouble);
  return {
    files: async (): Promise<StoredFiles> => (await open()).files,
    resumable: async (): Promise<ResumableFiles> => (await open()).resumable,
    batches: async (): Promise<Batches> => (await open()).batches,
    /** Paths that lines may name. */
    paths: calls.paths,
    async close(): Promise<void> {
      await (await once.close())?.batches.stop();
    },
  };
}

function upstreamAccess({ transport, snapshots }: Services): Omit<UpstreamAccess, 'taken' | 'onTrouble'> {
  return {
    isUsed: () =>
      snapshots.current.config.batches.upstream === 'auto' &&
      [...snapshots.current.providers.values()].some(({ connection }) => connection.batches !== null),
    clientOf: (provider, credential) =>
      upstreamClient(transport, snapshots.current.providers.get(provider)?.connection, credential),
  };
}

/** A request that died with its process is charged when a process notices: until then its reservation is open. */
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
