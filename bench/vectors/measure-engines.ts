import { percentile } from '../percentile.ts';
import { judged, type Row, told } from '../rows.ts';
import type { Engine } from './engine.ts';
import { batchPoints, dimensions, groups, type Points, payloadOf, recall, trueNeighbours } from './points.ts';

export interface Engines {
  culvert: Engine;
  sqliteVec: Engine;
  hnsw: Engine;
}

const neighbours = 10;
const filteredGroup = 7;

/** Writes the same points into all, in turns, so that the machine is the same for all; rows about how fast. */
export async function measureIngest(engines: Engines, points: Points, count: number): Promise<Row[]> {
  const perPoint = new Map<Engine, number[]>();
  for (let from = 0; from < count; from += batchPoints) {
    const vectors = points.batch(from, batchPoints);
    const payloads = Array.from({ length: batchPoints }, (_, row) => payloadOf(from + row));
    for (const engine of Object.values(engines)) {
      const startedMs = performance.now();
      await engine.write(from, vectors, payloads);
      const took = perPoint.get(engine) ?? [];
      took.push((performance.now() - startedMs) / batchPoints);
      perPoint.set(engine, took);
    }
  }
  const rate = (engine: Engine) => 1 / percentile(perPoint.get(engine)!, 0.5);
  const { culvert, sqliteVec, hnsw } = engines;
  return [
    judged(`ingest with fsync of ${count} × ${dimensions} ÷ sqlite-vec`, [rate(culvert) / rate(sqliteVec)], {
      atLeast: 0.6,
      unit: '×',
      digits: 2,
    }),
    judged('… ÷ hnswlib-node raw, nothing synced', [rate(culvert) / rate(hnsw)], { atLeast: 4, unit: '×', digits: 1 }),
    told(
      '… points/s: Culvert, sqlite-vec, hnswlib-node',
      [culvert, sqliteVec, hnsw].map((engine) => (rate(engine) * 1_000).toFixed(0)).join(', '),
    ),
  ];
}

/** Over what `measureIngest` wrote. */
export async function measureSearch(engines: Engines, points: Points, count: number, queries: number): Promise<Row[]> {
  const asked = points.queries(queries);
  const { culvert, sqliteVec } = engines;
  const truth = trueNeighbours(points, count, asked, neighbours);
  const ours = await searched(culvert, asked, null);
  const theirs = await searched(sqliteVec, asked, null);
  return [
    judged(`recall@${neighbours} at ${count}`, [recall(ours.found, truth)], {
      atLeast: count <= 20_000 ? 1 : 0.99,
      unit: '',
      digits: 4,
    }),
    judged(`search p50 at ${count} ÷ sqlite-vec`, [ours.p50Ms / theirs.p50Ms], { atMost: 0.1, unit: '×', digits: 3 }),
    told(
      '… p50 / p99: Culvert; sqlite-vec',
      `${ours.p50Ms.toFixed(2)} / ${ours.p99Ms.toFixed(2)}; ${theirs.p50Ms.toFixed(2)} / ${theirs.p99Ms.toFixed(2)} ms`,
    ),
    told('… searches/s of one thread', `${ours.perSecond.toFixed(0)}; ${theirs.perSecond.toFixed(0)}`),
  ];
}

export async function measureFilter(engines: Engines, points: Points, count: number, queries: number): Promise<Row[]> {
  const asked = points.queries(queries);
  const { culvert, hnsw } = engines;
  const truth = trueNeighbours(points, count, asked, neighbours, (id) => id % groups === filteredGroup);
  const ours = await searched(culvert, asked, filteredGroup);
  const theirs = await searched(hnsw, asked, filteredGroup);
  return [
    judged('recall@10 with a filter that passes 1 %', [recall(ours.found, truth)], { atLeast: 1, unit: '', digits: 4 }),
    judged("hnswlib-node's callback filter ÷ ours, p50", [theirs.p50Ms / ours.p50Ms], {
      atLeast: 10,
      unit: '×',
      digits: 1,
    }),
    told('… p50: ours; hnswlib-node', `${ours.p50Ms.toFixed(3)}; ${theirs.p50Ms.toFixed(2)} ms`),
  ];
}

interface Searched {
  found: number[][];
  p50Ms: number;
  p99Ms: number;
  perSecond: number;
}

/** The first search may make an index, and is not counted. */
async function searched(engine: Engine, queries: readonly Float32Array[], group: number | null): Promise<Searched> {
  await engine.search(queries[0]!, neighbours, group);
  const found: number[][] = [];
  const took: number[] = [];
  const startedMs = performance.now();
  for (const query of queries) {
    const sentMs = performance.now();
    found.push(await engine.search(query, neighbours, group));
    took.push(performance.now() - sentMs);
  }
  const perSecond = (queries.length * 1_000) / (performance.now() - startedMs);
  return { found, p50Ms: percentile(took, 0.5), p99Ms: percentile(took, 0.99), perSecond };
}

/** One engine alone over many points: recall, and its p50 ÷ that of `other`, which holds the same. */
export async function measureLarge(
  engine: Engine,
  int8: Engine,
  points: Points,
  count: number,
  queries: number,
): Promise<Row[]> {
  const asked = points.queries(queries);
  const truth = trueNeighbours(points, count, asked, neighbours);
  const ours = await searched(engine, asked, null);
  const scan = await searched(int8, asked, null);
  return [
    judged(`recall@${neighbours} at ${count}`, [recall(ours.found, truth)], { atLeast: 0.99, unit: '', digits: 4 }),
    judged(`search p50 at ${count} ÷ our int8 scan`, [ours.p50Ms / scan.p50Ms], {
      atMost: 0.33,
      unit: '×',
      digits: 2,
    }),
    told(
      '… p50 / p99: with bits; int8 scan',
      `${ours.p50Ms.toFixed(2)} / ${ours.p99Ms.toFixed(2)}; ${scan.p50Ms.toFixed(2)} / ${scan.p99Ms.toFixed(2)} ms`,
    ),
    told('… searches/s of one thread', ours.perSecond.toFixed(0)),
  ];
}
