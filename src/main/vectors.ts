import { Socket } from 'node:net';
import type { Config } from '../config/schema.ts';
import { StartRefused } from '../processes/lifetime.ts';
import { vectorsStream } from '../processes/worker-seat.ts';
import type { Stores } from '../stores/opened-stores.ts';
import { createRoute } from '../upstream/transport/network-route.ts';
import type { ProxyOf } from '../upstream/transport/proxy.ts';
import type { QdrantWay } from '../vectors/qdrant/qdrant-connection.ts';
import { createVectorWorkers, type VectorWorkers } from '../vectors/worker-pool.ts';
import type { StoreOptions } from './stores.ts';

/** A worker has a `seat`: its primary has the embedded engine. */
export interface VectorsOptions extends Omit<StoreOptions, 'order'> {
  stores: Pick<Stores, 'vectorRegistry'>;
  /** The proxies of the environment. */
  proxyOf: ProxyOf;
  /** When threads start whose shards keep indexes. */
  starts: 'now' | 'at-first-call';
  /** Bytes that were written, or (negative) removed. */
  onStored(bytes: number): void;
}

/**
 * The vector store as `vectors` names it. Its threads start, and its files are opened, at the first vector call; where
 * indexes were kept, in parallel to the rest of a server's start. Throws `StartRefused` where the way to a Qdrant
 * cannot be gone.
 */
export async function openVectors(options: VectorsOptions): Promise<VectorWorkers> {
  const { config, folder, seat, stores, proxyOf, clock, starts, onStored, onTrouble } = options;
  const { engine, url, api_key: apiKey = null, memory, workers, limits, search_threads } = config.vectors;
  if (engine === 'embedded' && seat !== undefined) {
    const { askVectors } = await import('../processes/vectors/remote-vectors.ts');
    return askVectors(() => new Socket({ fd: vectorsStream }), onStored);
  }
  const opened = createVectorWorkers({
    driver:
      engine === 'qdrant'
        ? { kind: 'qdrant', url: url!, apiKey, way: wayOf(config, proxyOf), registry: await stores.vectorRegistry() }
        : { kind: 'embedded', dataDir: folder.path, memoryBytes: memory, searchThreads: search_threads },
    workers,
    limits: { collectionsPerAccount: limits.collections, pointsPerCall: limits.points_per_call },
    onStoredBytes: onStored,
    onTrouble,
    clock,
  });
  if (starts === 'now') opened.takeUpImages();
  return opened;
}

function wayOf({ vectors }: Config, proxyOf: ProxyOf): QdrantWay {
  const { ca, cert, key } = vectors.tls ?? {};
  const made = createRoute({ proxy: vectors.proxy, ca, cert, key });
  if (!made.ok) throw new StartRefused(`vectors.${made.message}`);
  const { proxy: proxyChoice = 'environment', ...certificates } = made.route ?? { ca, cert, key };
  const proxy =
    proxyChoice === 'environment' ? proxyOf(new URL(vectors.url!)) : proxyChoice === 'off' ? null : proxyChoice;
  return {
    ca: certificates.ca,
    cert: certificates.cert,
    key: certificates.key,
    proxy: proxy && { origin: proxy.origin.origin, authorization: proxy.authorization },
  };
}
