import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { trialSearches } from '../../src/vectors/embedded/index/bit-trial.ts';
import { vectorMaker } from '../memory-rows.ts';
import { testKey } from '../start-gateway.ts';
import { type Lifetime, temporaryFolder } from '../start-process.ts';
import { startGatewayProcess } from './gateway-process.ts';

/** Hardly more points than make an index that is kept with its bits. */
const count = 6_000;
const size = 512;
const perCall = 1_000;
const collection = '/v1/vectors/collections/docs';
const third = { must: [{ key: 'third', match: { value: 1 } }] };

interface Found {
  id: number;
  score: number;
}

/** A server with a collection; `start` begins another one over the same data. */
async function filled(t: Lifetime) {
  const dataDir = join(temporaryFolder(t), 'data');
  const start = () => startGatewayProcess(t, { storage: { data_dir: dataDir } });
  const make = vectorMaker(size, { seed: 6, clusters: 60 });
  const vectors = Array.from({ length: count }, () => [...make()]);
  const server = await start();
  await call(server.url, 'POST', '/v1/vectors/collections', { name: 'docs', vector_size: size, distance: 'Cosine' });
  for (let from = 0; from < count; from += perCall) await write(server.url, from, vectors.slice(from, from + perCall));
  // Until the bits have ended their trial.
  for (let i = 0; i <= trialSearches; i += 1) await search(server.url, { vector: [...make()] });
  return { server, start, vectors, dataDir, query: () => [...make()] };
}

async function call(url: string, method: string, path: string, body: unknown): Promise<unknown> {
  const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
  const response = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return (JSON.parse(text) as { result: unknown }).result;
}

function write(url: string, firstId: number, vectors: readonly number[][]): Promise<unknown> {
  const points = vectors.map((vector, i) => ({ id: firstId + i, vector, payload: { third: (firstId + i) % 3 } }));
  return call(url, 'PUT', `${collection}/points`, { points });
}

async function search(url: string, body: object): Promise<Found[]> {
  return (await call(url, 'POST', `${collection}/points/search`, { limit: 10, ...body })) as Found[];
}

const ids = (found: readonly Found[]) => found.map(({ id }) => id);

test('searches that are sent as soon as a server is up again find what they found before, filtered ones too', async (t) => {
  const { server, start, dataDir, query } = await filled(t);
  const wanted = [query(), query()] as const;
  const before = [
    await search(server.url, { vector: wanted[0] }),
    await search(server.url, { vector: wanted[1], filter: third }),
  ];
  const ended = once(server.process, 'exit');
  server.process.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  const [folder = ''] = readdirSync(join(dataDir, 'vectors')).filter((name) => name.endsWith('.images'));
  const images = join(dataDir, 'vectors', folder);
  // The index, and the columns of the filter.
  assert.equal(readdirSync(images).length, 2);
  const damage = () => {
    for (const name of readdirSync(images)) writeFileSync(join(images, name), 'no image');
  };
  for (const damaged of [() => {}, damage]) {
    damaged();
    const again = await start();
    const after = [search(again.url, { vector: wanted[0] }), search(again.url, { vector: wanted[1], filter: third })];
    assert.deepEqual(await Promise.all(after), before);
    again.process.kill('SIGKILL');
    await once(again.process, 'exit');
  }
});

test('after kill -9 amid writes over a kept index, a search at once finds all that was acknowledged', async (t) => {
  const { server, start, vectors, query } = await filled(t);
  const ended = once(server.process, 'exit');
  server.process.kill('SIGTERM');
  await ended;
  const again = await start();
  const wanted = query();
  // Points that are nearer with each call, in place of some that the kept index has and beside them.
  const nearer = (at: number) => wanted.map((component, i) => component + vectors[at]![i]! / (at + 10));
  const acknowledged: number[] = [];
  const writing = (async () => {
    for (let at = 0; ; at += 1) {
      const id = at % 2 === 0 ? at : count + at;
      await write(again.url, id, [nearer(at)]);
      acknowledged.push(id);
      if (acknowledged.length === 30) again.process.kill('SIGKILL');
    }
  })();
  await assert.rejects(writing, /fetch failed|terminated|other side closed/);
  const { url } = await start();
  const found = ids(await search(url, { vector: wanted }));
  assert.deepEqual(found, ids(await search(url, { vector: wanted, params: { exact: true } })));
  const last = acknowledged.slice(-8);
  for (const id of last) assert.ok(found.includes(id), `${id} of ${found}`);
});
