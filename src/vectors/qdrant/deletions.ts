import { backoffMs } from '../../kernel/backoff.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Deletion, VectorRegistry } from '../registry.ts';
import { isExclusive, ofGeneration, physicalName } from './partition.ts';
import { type Connection, messageOf, QdrantRefused } from './qdrant-connection.ts';

/** Removes the points of dropped collections from Qdrant. Nobody sees them: their generation belongs to nobody. */
export type Deletions = ReturnType<typeof createDeletions>;

/** Deletions of one look. */
const batchMax = 16;
/** A process that died with a deletion in hand keeps others from it for this long. */
const leaseMs = 120_000;
/** A write that was under way when its collection was dropped may come so much later: points are deleted again then. */
const lateWriteMs = 120_000;
const retryPauses = { firstMs: 5_000, maxMs: 3_600_000 };

export function createDeletions(options: {
  registry: Pick<VectorRegistry, 'dueDeletions' | 'deleted' | 'deleteLater'>;
  connection: Connection;
  clock: Clock;
  onTrouble(message: string): void;
}) {
  const { registry, connection, clock, onTrouble } = options;
  let running: Promise<number> | null = null;

  async function runOnce(): Promise<number> {
    const nowMs = clock.wallMs();
    const due = await registry.dueDeletions(nowMs, nowMs + leaseMs, batchMax);
    for (const deletion of due) await tryOne(deletion);
    return due.length;
  }

  async function tryOne(deletion: Deletion): Promise<void> {
    const { generation, droppedMs, tries } = deletion;
    try {
      await deletePoints(connection, deletion);
    } catch (error) {
      await registry.deleteLater(generation, tries + 1, clock.wallMs() + backoffMs(tries + 1, retryPauses));
      if (tries === 2) onTrouble(`points of a deleted collection are still in Qdrant: ${messageOf(error)}`);
      return;
    }
    const lastMs = droppedMs + lateWriteMs;
    if (clock.wallMs() >= lastMs) await registry.deleted(generation);
    else await registry.deleteLater(generation, 0, lastMs);
  }

  return {
    /** Does what is due; resolves to the number tried. One run at a time: a second call waits for the running one. */
    run(): Promise<number> {
      running ??= runOnce().finally(() => {
        running = null;
      });
      return running;
    },
    /** Resolves once no run goes on. */
    async settled(): Promise<void> {
      await running?.catch(() => {});
    },
  };
}

async function deletePoints(connection: Connection, deletion: Deletion): Promise<void> {
  const { generation } = deletion;
  const physical = `/collections/${physicalName(deletion)}`;
  const path = `${physical}/points/delete?wait=true`;
  const body = JSON.stringify({ filter: { must: [ofGeneration(generation)] } });
  const removed = isExclusive(deletion)
    ? connection.ask({ method: 'DELETE', path: physical, use: 'write' })
    : connection.ask({ method: 'POST', path, body, use: 'write' });
  await removed.catch((error: unknown) => {
    // An operator deleted the whole Qdrant collection.
    if (!(error instanceof QdrantRefused && error.status === 404)) throw error;
  });
}
