import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { duplexPair } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { until } from '../../../test/until.ts';
import { FailureError } from '../../kernel/failure.ts';
import { createLog } from '../../observe/log.ts';
import type { RankTexts, VectorCall } from '../../vectors/vector-engine.ts';
import { askVectors } from './remote-vectors.ts';
import { openVectorsHost } from './vectors-host.ts';

/** Vectors as a worker has them, over those of another process. */
async function start(t: TestContext) {
  const dataDir = mkdtempSync(join(tmpdir(), 'culvert-vectors-'));
  const { log } = await createLog({ level: 'silent', form: 'json' });
  const limits = { collections: 100, points_per_call: 1_000 };
  const host = openVectorsHost({ memory: 64 * 1024 * 1024, workers: 1, limits } as never, dataDir, log);
  const worker = () => {
    const [here, there] = duplexPair();
    host.serve(there);
    // As a socket ends with the process at its other end.
    here.once('close', () => there.destroy());
    const vectors = askVectors(
      () => here,
      () => undefined,
    );
    return { here, vectors };
  };
  const { here, vectors } = worker();
  t.after(async () => {
    here.destroy();
    await host.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const call = async (
    verb: VectorCall['verb'],
    body: unknown,
    rank: RankTexts = () => assert.fail('nothing to rank'),
  ) => {
    const prepared = await vectors.prepare({
      owner: { tenant: 'alice', account: 'acme' },
      verb,
      params: verb === 'create-collection' ? {} : { collection: 'docs' },
      search: '',
      body: Buffer.from(JSON.stringify(body)),
    });
    assert(prepared.kind === 'prepared', JSON.stringify(prepared));
    const answer = await prepared.run(null, rank);
    assert(answer.kind === 'answer', JSON.stringify(answer));
    return JSON.parse(Buffer.from(answer.body).toString('utf8'));
  };
  return { call, vectors, here, worker };
}

test('a worker ranks the texts that the other process has found, for the call that asks for it', async (t) => {
  const { call } = await start(t);
  await call('create-collection', { name: 'docs', vector_size: 2 });
  const points = ['one', 'two', 'three'].map((text, id) => ({ id, vector: [1, id / 10], payload: { text } }));
  await call('upsert-points', { points });
  const search = { vector: [1, 0], limit: 3, rerank: { model: 'r', query: 'last first' } };
  const ranked = (order: readonly number[]) =>
    call('search-points', search, async ({ texts }) => {
      assert.deepEqual(texts, ['one', 'two', 'three']);
      return order.map((index, at) => ({ index, score: 3 - at }));
    });
  const idsOf = ({ result }: { result: { id: number }[] }) => result.map(({ id }) => id);
  const [backwards, turned] = await Promise.all([ranked([2, 1, 0]), ranked([1, 2, 0])]);
  assert.deepEqual(
    [idsOf(backwards), idsOf(turned)],
    [
      [2, 1, 0],
      [1, 2, 0],
    ],
  );
});

test('F37 when the other process has died, nobody counts its vectors, and calls of it are trouble that passes', async (t) => {
  const { vectors, here } = await start(t);
  const waiting = vectors.storedBytes('acme');
  here.destroy();
  assert.equal(await waiting, null);
  assert.equal(await vectors.storedBytes('acme'), null);
  await assert.rejects(
    vectors.store.tenants(),
    (error) => error instanceof FailureError && error.failure.kind === 'overloaded',
  );
});

test('calls that a worker had only begun when it died leave their places to others', async (t) => {
  const { call, worker } = await start(t);
  await call('create-collection', { name: 'docs', vector_size: 2 });
  const search: VectorCall = {
    owner: { tenant: 'alice', account: 'acme' },
    verb: 'search-points',
    params: { collection: 'docs' },
    search: '',
    body: Buffer.from(JSON.stringify({ vector: [1, 0], limit: 1 })),
  };
  const dead = [worker(), worker(), worker()];
  for (const { vectors, here } of dead) {
    // As many as the thread has places.
    const begun = Array.from({ length: 1_024 }, () => vectors.prepare(search));
    await Promise.race(begun);
    here.destroy();
    await Promise.allSettled(begun);
  }
  const { vectors, here } = worker();
  t.after(() => here.destroy());
  await until('another worker has a place', async () => (await vectors.prepare(search)).kind === 'prepared');
});
