import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { startGatewayProcess } from '../faults/gateway-process.ts';
import { testKey } from '../start-gateway.ts';
import { until } from '../until.ts';

const size = 1_024;
/** 8.4 MB of codes: from 8 MB on threads help. */
const count = 8_400;
const perCall = 1_200;
const docs = '/v1/vectors/collections/docs';

/** Whole numbers from −4 to 4, which are short in JSON. */
function vector(seed: number): number[] {
  let state = Math.imul(seed + 1, 2_654_435_761) | 1;
  return Array.from({ length: size }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return ((state >>> 0) % 9) - 4;
  });
}

test('threads that are idle help with a search of a large collection, which finds what it should', async (t) => {
  const { url, process: server } = await startGatewayProcess(t, { vectors: { workers: 1, search_threads: 3 } });
  const call = async (method: string, path: string, body: unknown) => {
    const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
    const response = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text) as { result: { id: number; score: number }[] };
  };
  await call('POST', '/v1/vectors/collections', { name: 'docs', vector_size: size, distance: 'Dot' });
  const vectors = Array.from({ length: count }, (_, id) => vector(id));
  for (let from = 0; from < count; from += perCall) {
    const points = vectors.slice(from, from + perCall).map((one, at) => ({ id: from + at, vector: one }));
    await call('PUT', `${docs}/points?wait=true`, { points });
  }
  const best = (query: number[]) =>
    vectors
      .map((one, id) => ({ id, score: one.reduce((sum, number, at) => sum + number * query[at]!, 0) }))
      .sort((a, b) => b.score - a.score || a.id - b.id)
      .slice(0, 5);
  const search = async (seed: number) => {
    const query = vector(count + seed);
    const { result } = await call('POST', `${docs}/points/search`, { vector: query, limit: 5 });
    assert.deepEqual(
      result.map(({ id, score }) => ({ id, score })),
      best(query),
    );
  };
  const threads = () => readdirSync(`/proc/${server.pid}/task`).length;
  const before = threads();
  await search(0);
  if (process.platform === 'linux') await until('two threads have started', () => threads() >= before + 2);
  for (let round = 1; round < 6; round += 1) await Promise.all([0, 1, 2, 3].map((at) => search(round * 4 + at)));
});
