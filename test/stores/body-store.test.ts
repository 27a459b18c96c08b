import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BodyQuery, BodyRow } from '../../src/books/metering/body-store.ts';
import { newRequestId } from '../../src/kernel/ids.ts';
import { drivers } from './drivers.ts';

const nowMs = 1_750_000_000_000;

function row(at: number, more: Partial<BodyRow> = {}): BodyRow {
  const atMs = nowMs + at;
  return {
    requestId: newRequestId(atMs),
    atMs,
    account: 'dev',
    keyId: 'key_1',
    model: 'chat',
    path: '/v1/chat/completions',
    status: 200,
    sealed: Buffer.alloc(100, at),
    ...more,
  };
}

const all: BodyQuery = { accounts: null, before: null, limit: 10 };

for (const driver of drivers) {
  test(`${driver.name}: bodies are listed newest first, by page and by what they are of`, {
    skip: driver.skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const bodies = await store.bodies();
    const [a, b, c] = [
      row(1),
      row(2, { account: 'other', keyId: 'key_2', model: null }),
      row(3, { model: 'emb' }),
    ] as const;
    for (const one of [a, b, c]) await bodies.put(one, null);
    // Another process has the same.
    const again = await store.bodies();
    const ids = async (query: Partial<BodyQuery>) =>
      (await again.list({ ...all, ...query })).map(({ requestId }) => requestId);
    assert.deepEqual(await ids({}), [c.requestId, b.requestId, a.requestId]);
    assert.deepEqual(await ids({ limit: 1 }), [c.requestId]);
    assert.deepEqual(await ids({ limit: 1, before: c.requestId }), [b.requestId]);
    assert.deepEqual(await ids({ accounts: ['dev'] }), [c.requestId, a.requestId]);
    assert.deepEqual(await ids({ accounts: [] }), []);
    assert.deepEqual(await ids({ keyId: 'key_2' }), [b.requestId]);
    assert.deepEqual(await ids({ model: 'emb' }), [c.requestId]);
    assert.deepEqual(await ids({ fromMs: a.atMs + 1, toMs: c.atMs }), [b.requestId]);
    const found = await again.find(b.requestId);
    assert.deepEqual(found && { ...found, sealed: Buffer.from(found.sealed) }, b);
    assert.equal(await again.find('req_none'), null);
    assert.equal(await again.remove({ accounts: null, keyId: 'key_2' }), 1);
    assert.deepEqual(await ids({}), [c.requestId, a.requestId]);
    for (const one of [bodies, again]) await one.close();
  });

  test(`${driver.name}: signatures are read by themselves, and go with their bodies`, {
    skip: driver.skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const bodies = await store.bodies();
    const rows = Array.from({ length: 4 }, (_, at) => row(at, at === 1 ? { account: 'other' } : {}));
    for (const [at, one] of rows.entries()) await bodies.put(one, at === 2 ? null : Buffer.alloc(50, at));
    // Put twice, it stays as it was.
    await bodies.put(rows[3]!, Buffer.alloc(50, 9));
    const read = async (query: Partial<BodyQuery> = {}) =>
      (await bodies.signatures({ ...all, ...query })).map(({ requestId, sealed }) => [
        requestId,
        sealed?.at(0) ?? null,
      ]);
    const [a, b, c, d] = rows.map(({ requestId }) => requestId);
    assert.deepEqual(await read(), [
      [d, 3],
      [c, null],
      [b, 1],
      [a, 0],
    ]);
    assert.deepEqual(await read({ accounts: ['dev'], before: d!, limit: 1 }), [[c, null]]);
    await bodies.remove({ accounts: ['other'] });
    // 150 bytes each, and 100 of the one without a signature.
    assert.equal(await bodies.sweep(0, 250), 1);
    assert.deepEqual(await read(), [
      [d, 3],
      [c, null],
    ]);
    // Nothing is left of the others: the same ids may come again.
    await bodies.put(rows[0]!, Buffer.alloc(50, 7));
    assert.deepEqual((await read()).at(-1), [a, 7]);
    await bodies.close();
  });

  test(`${driver.name}: a sweep removes old bodies, and the oldest beyond the limit`, {
    skip: driver.skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const bodies = await store.bodies();
    const rows = Array.from({ length: 8 }, (_, at) => row(at));
    for (const one of rows) await bodies.put(one, null);
    assert.equal(await bodies.sweep(rows[2]!.atMs, 1_000), 2);
    assert.equal(await bodies.sweep(0, 350), 3);
    assert.deepEqual(
      (await bodies.list(all)).map(({ atMs }) => atMs - nowMs),
      [7, 6, 5],
    );
    await bodies.close();
  });
}
