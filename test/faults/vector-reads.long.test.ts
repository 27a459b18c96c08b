import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertWithin } from '../machine-load.ts';
import { vectorMaker } from '../memory-rows.ts';
import { otherKey, testKey } from '../start-gateway.ts';
import { startGatewayProcess } from './gateway-process.ts';
import { medianMs } from './median-ms.ts';

const size = 64;
const largeCount = 6_000;
const readCount = 5_000;
const atOnce = 24;
const collection = '/v1/vectors/collections/docs';

test('S40 a search of one key comes in between the rows that large reads of another go through', async (t) => {
  const keys = [testKey, otherKey].map((key, at) => ({ key, account: `account-${at}`, name: 'test' }));
  const { url } = await startGatewayProcess(t, { vectors: { workers: 1 }, keys });
  const make = vectorMaker(size, { seed: 41, clusters: 20 });
  const call = async (key: string, method: string, path: string, body: unknown) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const response = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
    // Bytes alone: this process must not be what others wait for.
    const { byteLength } = await response.arrayBuffer();
    assert.equal(response.status, 200, path);
    return byteLength;
  };
  for (const [key, count] of [
    [testKey, largeCount],
    [otherKey, 500],
  ] as const) {
    await call(key, 'POST', '/v1/vectors/collections', { name: 'docs', vector_size: size });
    for (let from = 0; from < count; from += 500) {
      const points = Array.from({ length: 500 }, (_, i) => ({ id: from + i, vector: [...make()], payload: { at: i } }));
      await call(key, 'PUT', `${collection}/points`, { points });
    }
  }
  const search = () => call(otherKey, 'POST', `${collection}/points/search`, { vector: [...make()], limit: 5 });
  const wanted = { with_payload: true, with_vector: true };
  const reads = {
    scroll: () => call(testKey, 'POST', '/collections/docs/points/scroll', { limit: readCount, ...wanted }),
    retrieve: () => {
      const ids = Array.from({ length: readCount }, (_, at) => at);
      return call(testKey, 'POST', '/collections/docs/points', { ids, ...wanted });
    },
  };
  await medianMs(10, search);
  for (const [what, read] of Object.entries(reads)) {
    const bytes = await read();
    const readMs = await medianMs(3, read);
    const calmMs = await medianMs(9, search);
    let isOver = false;
    const all = Array.from({ length: atOnce }, async () => {
      while (!isOver) await read();
    });
    // The first answers have come when the search begins.
    await read();
    const busyMs = await medianMs(9, search);
    isOver = true;
    await Promise.all(all);
    const figures = `${what} of ${bytes} bytes ${readMs.toFixed(1)} ms; search calm ${calmMs.toFixed(1)} ms, busy ${busyMs.toFixed(1)} ms`;
    t.diagnostic(figures);
    // Others on the machine take turns between those of the rows.
    assertWithin(busyMs, calmMs + readMs / 2, figures);
  }
});
