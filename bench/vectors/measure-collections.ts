import type { VectorStore } from '../../src/vectors/vector-store.ts';
import { percentile } from '../percentile.ts';
import { judged, type Row, told } from '../rows.ts';
import { nearest, openCollection, tenant } from './culvert-store.ts';
import { createPoints, payloadOf } from './points.ts';

const pointsEach = 100;

/** Many small collections of one key, searched at random: none of them is worth an index. */
export async function measureCollections(store: VectorStore, count: number, searches: number): Promise<Row[]> {
  const points = createPoints(3);
  const vectors = points.batch(0, pointsEach);
  const payloads = Array.from({ length: pointsEach }, (_, id) => payloadOf(id));
  const before = process.memoryUsage().rss;
  const startedMs = performance.now();
  for (let at = 0; at < count; at++)
    await (await openCollection(store, `small-${at}`, 'Cosine')).write(0, vectors, payloads);
  const seconds = (performance.now() - startedMs) / 1_000;
  const queries = points.queries(50);
  const took: number[] = [];
  let state = 1;
  for (let i = 0; i < searches; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const sentMs = performance.now();
    await store.query(tenant, `small-${state % count}`, [nearest(queries[i % queries.length]!, 10, null)]);
    took.push(performance.now() - sentMs);
  }
  return [
    judged(`${count} collections × ${pointsEach}: random search p50`, [percentile(took, 0.5)], {
      atMost: 1,
      unit: ' ms',
      digits: 2,
    }),
    told('… p99', `${percentile(took, 0.99).toFixed(2)} ms`),
    told(
      '… made in; memory more than before',
      `${seconds.toFixed(1)} s; ${((process.memoryUsage().rss - before) / 2 ** 20).toFixed(0)} MB`,
    ),
  ];
}
