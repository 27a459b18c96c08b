// node bench/run.mjs vectors [row…] [--quick] [--million]
// QDRANT_BIN=… node bench/run.mjs vectors qdrant: a million points that a gateway keeps in a Qdrant

import { trialSearches } from '../../src/vectors/embedded/index/bit-trial.ts';
import { percentile } from '../percentile.ts';
import { finish } from '../results.ts';
import { judged, print, type Row, told } from '../rows.ts';
import { openHnsw, openSqliteVec } from './baselines.ts';
import { openCollection, openStore } from './culvert-store.ts';
import type { Engine } from './engine.ts';
import { measureCollections } from './measure-collections.ts';
import { measureFilter, measureIngest, measureLarge, measureSearch } from './measure-engines.ts';
import { measureGateway } from './measure-gateway.ts';
import { measureHybrid } from './measure-hybrid.ts';
import { measureOverQdrant } from './measure-over-qdrant.ts';
import { batchPoints, createPoints, type Points, payloadOf } from './points.ts';

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const quick = flags.includes('--quick');

/** Memory of one engine, more than any of these needs. */
const memoryBytes = 4 * 2 ** 30;

const sizes = quick
  ? { small: 4_000, large: 30_000, queries: 50, collections: 300, searches: 500, gateway: 10_000 }
  : { small: 10_000, large: 100_000, queries: 200, collections: 2_000, searches: 4_000, gateway: 100_000 };

/** Beside others in this process, in one run. */
async function engines(): Promise<Row[]> {
  const store = openStore(memoryBytes);
  const points = createPoints(1);
  const { small, queries } = sizes;
  const compared = {
    culvert: await openCollection(store, 'compared', 'Cosine'),
    sqliteVec: openSqliteVec(),
    hnsw: openHnsw(small),
  };
  const rows = [
    ...(await measureIngest(compared, points, small)),
    ...(await measureSearch(compared, points, small, queries)),
    ...(await measureFilter(compared, points, small, queries)),
  ];
  await compared.sqliteVec.close();
  await store.close();
  return rows;
}

/** The same points twice: Dot has no bits before its int8 codes. */
async function large(): Promise<Row[]> {
  const store = openStore(memoryBytes);
  const points = createPoints(2);
  const withBits = await openCollection(store, 'bits', 'Cosine');
  const int8 = await openCollection(store, 'int8', 'Dot');
  for (let from = 0; from < sizes.large; from += batchPoints) {
    const vectors = points.batch(from, batchPoints);
    const payloads = Array.from({ length: batchPoints }, (_, row) => payloadOf(from + row));
    for (const engine of [withBits, int8]) await engine.write(from, vectors, payloads);
  }
  await endTrial(withBits, points);
  const rows = await measureLarge(withBits, int8, points, sizes.large, Math.min(sizes.queries, 100));
  await store.close();
  return rows;
}

/** The first searches after the bits were made look at everything besides: by queries that are not measured later. */
async function endTrial(engine: Engine, points: Points): Promise<void> {
  for (const query of points.queries(200 + trialSearches).slice(200)) await engine.search(query, 10, null);
}

async function collections(): Promise<Row[]> {
  const store = openStore(memoryBytes);
  const rows = await measureCollections(store, sizes.collections, sizes.searches);
  await store.close();
  return rows;
}

/** Without bits each search goes through all codes; the same points for one thread and for two. */
async function threads(): Promise<Row[]> {
  const points = createPoints(5);
  const queries = points.queries(sizes.queries);
  const p50Ms: number[] = [];
  for (const cores of [1, 2]) {
    const store = openStore(memoryBytes, cores);
    const engine = await openCollection(store, 'threads', 'Dot');
    for (let from = 0; from < sizes.large; from += batchPoints)
      await engine.write(
        from,
        points.batch(from, batchPoints),
        Array.from({ length: batchPoints }, (_, row) => payloadOf(from + row)),
      );
    const took: number[] = [];
    for (const query of [...queries, ...queries]) {
      const startedMs = performance.now();
      await engine.search(query, 10, null);
      took.push(performance.now() - startedMs);
    }
    p50Ms.push(percentile(took.slice(queries.length), 0.5));
    await store.close();
  }
  const [one = 0, two = 0] = p50Ms;
  return [
    judged(`search p50 at ${sizes.large}, Dot: two threads ÷ one`, [two / one], { atMost: 0.7, unit: '×', digits: 2 }),
    told('… of one; of two', `${one.toFixed(2)}; ${two.toFixed(2)} ms`),
  ];
}

/** By hand: a million points, which takes 4 GB of disk. */
async function million(): Promise<Row[]> {
  const count = 1_000_000;
  const store = openStore(memoryBytes);
  const points = createPoints(4);
  const engine = await openCollection(store, 'million', 'Cosine');
  const startedMs = performance.now();
  for (let from = 0; from < count; from += batchPoints) {
    const payloads = Array.from({ length: batchPoints }, (_, row) => payloadOf(from + row));
    await engine.write(from, points.batch(from, batchPoints), payloads);
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  await endTrial(engine, points);
  const rows = await measureLarge(engine, engine, points, count, 20);
  const gb = process.memoryUsage().rss / 2 ** 30;
  await store.close();
  return [
    told(`ingest of ${count}`, `${(count / seconds).toFixed(0)} points/s`),
    ...rows.filter(({ what }) => !what.includes('÷')),
    judged(`memory at ${count}`, [gb], { atMost: 1.5, unit: ' GB', digits: 2 }),
  ];
}

const measurements: Record<string, () => Promise<Row[]>> = {
  engines,
  large,
  threads,
  collections,
  gateway: () => measureGateway(sizes.gateway),
  hybrid: () => measureHybrid(sizes.gateway),
};
const byHand: Record<string, () => Promise<Row[]>> = {
  million,
  qdrant: () => measureOverQdrant(quick ? 5_000 : 1_000_000),
};

const wanted = [
  ...(named.length > 0 ? named : Object.keys(measurements)),
  ...(flags.includes('--million') ? ['million'] : []),
];
const unknown = wanted.filter((name) => !(name in measurements) && !(name in byHand));
if (unknown.length > 0) {
  console.error(
    `No such row: ${unknown.join(', ')}. Rows: ${[...Object.keys(measurements), ...Object.keys(byHand)].join(', ')}.`,
  );
  process.exit(2);
}

const rows: Row[] = [];
for (const name of wanted) {
  rows.push(...print(await (measurements[name] ?? byHand[name]!)()));
}
if (named.join() === 'qdrant') {
  const how = `Vectors of 1,024 components in clusters, written ${batchPoints} a call with wait=true and read over HTTP through a gateway with
everything on. Gateway, Qdrant and load share the machine.`;
  finish({ subject: 'vectors over Qdrant', command: 'node bench/run.mjs vectors qdrant', how, rows }, !quick);
}
finish(
  {
    subject: 'vectors',
    command: ['node bench/run.mjs vectors', ...flags].join(' '),
    how: `Vectors of 1,024 components in clusters, equally much noise. Engines beside each other in one process and thread, fed in
turns; sqlite-vec 0.1.9 with every commit synced as ours is, hnswlib-node 3.0.0 in memory (m 16, ef 200 and 100). Over
HTTP everything is on, the gateway on both cores, the load beside it.`,
    rows,
  },
  named.length === 0,
);
