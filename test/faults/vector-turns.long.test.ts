import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { vectorMaker } from '../memory-rows.ts';
import { otherKey, startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { medianMs } from './median-ms.ts';

const size = 256;
const largeCount = 8_000;
const smallCount = 1_000;
const perCall = 1_000;
const exactCount = 48;
const points = '/v1/vectors/collections/docs/points';

async function call(gateway: TestGateway, key: string, method: string, path: string, body: unknown): Promise<unknown> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await gateway.fetch(path, { method, headers, body: JSON.stringify(body) });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return (JSON.parse(text) as { result: unknown }).result;
}

/** One thread for all: a large collection of the one key, and a small one of the other. */
async function filled(t: TestContext) {
  const gateway = await startGateway(t, { vectors: { workers: 1 } });
  const make = vectorMaker(size, { seed: 40, clusters: 20 });
  const fill = async (key: string, count: number) => {
    await call(gateway, key, 'POST', '/v1/vectors/collections', { name: 'docs', vector_size: size });
    for (let from = 0; from < count; from += perCall) {
      const batch = Array.from({ length: perCall }, (_, i) => ({ id: from + i, vector: [...make()] }));
      await call(gateway, key, 'PUT', points, { points: batch });
    }
  };
  await fill(testKey, largeCount);
  await fill(otherKey, smallCount);
  const search = (key: string, body: object = {}) =>
    call(gateway, key, 'POST', `${points}/search`, { vector: [...make()], limit: 5, ...body });
  const exact = () => search(testKey, { params: { exact: true } });
  return { gateway, search, exact, make };
}

test('S40 a search of one key takes its turn between the steps of 48 exact searches of another', async (t) => {
  const { search, exact } = await filled(t);
  await Promise.all([search(otherKey), exact()]);
  const calmMs = await medianMs(15, () => search(otherKey));
  const exactMs = await medianMs(5, exact);
  let ended = 0;
  const all = Array.from({ length: exactCount }, () => exact().then(() => ended++));
  await Promise.race(all);
  const endedMeanwhile: number[] = [];
  const busyMs = await medianMs(15, async () => {
    const before = ended;
    await search(otherKey);
    endedMeanwhile.push(ended - before);
  });
  assert.ok(ended < exactCount, 'all exact searches ended before');
  await Promise.all(all);
  const figures = `calm ${calmMs.toFixed(1)} ms, busy ${busyMs.toFixed(1)} ms, exact ${exactMs.toFixed(1)} ms`;
  t.diagnostic(figures);
  assert.ok(endedMeanwhile.sort((a, b) => a - b)[7]! <= 1, `${figures}; ended meanwhile: ${endedMeanwhile.join()}`);
  assert.ok(busyMs < calmMs + exactMs, figures);
});

test('S40 a write of one key is acknowledged between the exact searches of another', async (t) => {
  const { gateway, exact, make } = await filled(t);
  await exact();
  let ended = 0;
  const all = Array.from({ length: exactCount }, () => exact().then(() => ended++));
  await Promise.race(all);
  const before = ended;
  await call(gateway, otherKey, 'PUT', `${points}?wait=true`, { points: [{ id: 5_000, vector: [...make()] }] });
  assert.ok(ended - before <= 3, `${ended - before} ended meanwhile`);
  await Promise.all(all);
});

test('S40 what a key wrote between its own exact searches is found by the next, and those before it end', async (t) => {
  const { gateway, search, exact, make } = await filled(t);
  const before = Array.from({ length: 8 }, exact);
  const vector = [...make()].map((component) => component + 100);
  await call(gateway, testKey, 'PUT', points, { points: [{ id: 90_000, vector }] });
  const [nearest] = (await search(testKey, { vector, params: { exact: true } })) as { id: number }[];
  assert.equal(nearest!.id, 90_000);
  for (const found of await Promise.all(before)) assert.equal((found as object[]).length, 5);
});
