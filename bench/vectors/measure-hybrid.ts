import { rmSync } from 'node:fs';
import { Connection } from '../gateway/load.ts';
import { loadCore, proxyCore, scratchFolder, startUpstream } from '../gateway/processes.ts';
import { percentile } from '../percentile.ts';
import { judged, type Row } from '../rows.ts';
import { answered, postOf } from './measure-searches.ts';
import { batchPoints, createPoints, dimensions } from './points.ts';
import { startWatchedGateway } from './watched-gateway.ts';

/** Words of a language, of a document and of a question; a word is the rarer the higher its number (Zipf). */
const words = { known: 50_000, document: 60, question: 6 };
const searchesWarm = 300;
const searchesMeasured = 300;

/** Over HTTP, everything on: documents of sparse vectors alone, and of dense ones beside them, fused by rank. */
export async function measureHybrid(count: number): Promise<Row[]> {
  const folder = scratchFolder();
  const upstream = await startUpstream();
  const gateway = await startWatchedGateway({ upstreamPort: upstream.port, folder, cores: `${proxyCore},${loadCore}` });
  const points = createPoints(3);
  const word = zipf(7);
  const sparse = (length: number) => {
    const indices = new Set<number>();
    while (indices.size < length) indices.add(word());
    return { indices: [...indices], values: Array.from(indices, (index) => 1 + (index % 3)) };
  };

  async function fill(name: string, vectorsOf: (row: number, dense: Float32Array) => object, isDense: boolean) {
    const path = `/v1/vectors/collections/${name}`;
    await gateway.client.send('PUT', path, {
      ...(isDense && { vectors: { meaning: { size: dimensions, distance: 'Cosine' } } }),
      sparse_vectors: { words: { modifier: 'idf' } },
    });
    let ms = 0;
    for (let from = 0; from < count; from += batchPoints) {
      const dense = isDense ? points.batch(from, batchPoints) : new Float32Array();
      const body = {
        points: Array.from({ length: batchPoints }, (_, row) => ({ id: from + row, vector: vectorsOf(row, dense) })),
      };
      const bytes = Buffer.from(JSON.stringify(body));
      const startedMs = performance.now();
      await gateway.client.send('PUT', `${path}/points`, bytes);
      ms += performance.now() - startedMs;
    }
    return (count * 1_000) / ms;
  }

  async function searched(name: string, queryOf: (at: number) => object) {
    const connection = new Connection(gateway.port);
    const took: number[] = [];
    for (let at = 0; at < searchesWarm + searchesMeasured; at++) {
      const request = postOf(`/v1/vectors/collections/${name}/points/query`, { ...queryOf(at), limit: 10 });
      const sentMs = performance.now();
      await answered(connection, request);
      if (at >= searchesWarm) took.push(performance.now() - sentMs);
    }
    connection.close();
    return percentile(took, 0.5);
  }

  try {
    const ingest = await fill('sparse', () => ({ words: sparse(words.document) }), false);
    const sparseMs = await searched('sparse', () => ({ query: sparse(words.question), using: 'words' }));
    const dense = (row: number, all: Float32Array) =>
      Array.from(all.subarray(row * dimensions, (row + 1) * dimensions));
    await fill('hybrid', (row, all) => ({ meaning: dense(row, all), words: sparse(words.document) }), true);
    const queries = points.queries(searchesWarm + searchesMeasured);
    const hybridMs = await searched('hybrid', (at) => ({
      prefetch: [
        { query: Array.from(queries[at]!), using: 'meaning', limit: 50 },
        { query: sparse(words.question), using: 'words', limit: 50 },
      ],
      query: { fusion: 'rrf' },
    }));
    return [
      judged(`ingest of ${count} sparse documents over HTTP`, [ingest], {
        atLeast: 10_000,
        unit: ' points/s',
        digits: 0,
      }),
      judged('… sparse search, p50', [sparseMs], { atMost: 2, unit: ' ms', digits: 2 }),
      judged('… hybrid search (dense and sparse, rrf), p50', [hybridMs], { atMost: 5, unit: ' ms', digits: 2 }),
    ];
  } finally {
    await gateway.stop();
    upstream.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Numbers of words as a text has them, the same for a seed. */
function zipf(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return Math.floor(words.known ** ((state >>> 0) / 4_294_967_296));
  };
}
