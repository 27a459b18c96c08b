import type { Config } from '../config/schema.ts';
import type { Clock } from '../kernel/clock.ts';
import type { DataFolder } from '../stores/sqlite/data-folder.ts';
import { createVectorWorkers, type VectorWorkers } from '../vectors/workers.ts';
import type { Stores } from './stores.ts';

export interface VectorsOptions {
  config: Config;
  folder: DataFolder;
  stores: Pick<Stores, 'vectorRegistry'>;
  clock: Clock;
  /** Bytes that were written, or (negative) removed. */
  onKept(bytes: number): void;
  /** For the operator's log. */
  onTrouble(message: string): void;
}

/** The vector store as `vectors` names it. Its threads start, and its files are opened, at the first vector call. */
export async function openVectors({
  config,
  folder,
  stores,
  clock,
  onKept,
  onTrouble,
}: VectorsOptions): Promise<VectorWorkers> {
  const { engine, url, api_key: apiKey, memory, workers, limits } = config.vectors;
  return createVectorWorkers({
    driver:
      engine === 'qdrant'
        ? { kind: 'qdrant', url: url!, apiKey: apiKey ?? null, registry: await stores.vectorRegistry() }
        : { kind: 'embedded', dataDir: folder.path, memoryBytes: memory },
    workers,
    limits: { collectionsPerAccount: limits.collections, pointsPerCall: limits.points_per_call },
    onKept,
    onTrouble,
    clock,
  });
}
