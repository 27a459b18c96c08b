import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ItemRow, ResponseRow, ResponseStore } from '../../src/books/metering/response-store.ts';
import { drivers, type StoreDriver } from './drivers.ts';

const nowMs = Date.now();
const bytes = (text: string) => Buffer.from(text);
const textOf = (sealed: Uint8Array) => Buffer.from(sealed).toString();

function row(id: string, over: Partial<ResponseRow> = {}): ResponseRow {
  return {
    tenant: 'dev/laptop',
    id,
    previous: null,
    conversation: null,
    status: 'completed',
    bootId: null,
    createdMs: nowMs,
    expiresMs: nowMs + 60_000,
    input: bytes(`asked ${id}`),
    answer: bytes(`answered ${id}`),
    ...over,
  };
}

const item = (id: string): ItemRow => ({ id, item: bytes(`item ${id}`) });

async function open(t: TestContext, driver: StoreDriver) {
  const store = await driver.create();
  t.after(() => store.remove());
  const ledger = await store.ledger('boot-1');
  const responses = await store.responses('boot-1');
  t.after(async () => {
    await responses.close();
    await ledger.shutdown();
  });
  return { store, responses };
}

async function conversation(
  responses: ResponseStore,
  id: string,
  items: readonly ItemRow[] = [],
  expiresMs = nowMs + 60_000,
): Promise<void> {
  const about = { tenant: 'dev/laptop', id, createdMs: nowMs, expiresMs, metadata: bytes('{}') };
  await responses.putConversation(about, items);
}

async function itemIds(
  responses: ResponseStore,
  id: string,
  order: 'asc' | 'desc' = 'asc',
  after: string | null = null,
) {
  const asked = { tenant: 'dev/laptop', conversation: id, order, after, limit: 3, id: null };
  return (await responses.items(asked)).map((one) => one.id);
}

for (const driver of drivers) {
  const { skip } = driver;
  const over = (title: string, run: (parts: Awaited<ReturnType<typeof open>>) => Promise<void>) =>
    test(`${driver.name}: ${title}`, { skip }, async (t) => run(await open(t, driver)));

  over('a response is found by its tenant alone, until it expires or is deleted', async ({ responses }) => {
    await responses.put(row('resp_1'), []);
    const found = await responses.find('dev/laptop', 'resp_1', nowMs);
    assert.equal(textOf(found!.input), 'asked resp_1');
    assert.equal(textOf(found!.answer), 'answered resp_1');
    assert.equal(found!.orphaned, false);
    assert.equal(await responses.find('dev/other', 'resp_1', nowMs), null);
    assert.equal(await responses.find('dev/laptop', 'resp_1', nowMs + 60_000), null);
    assert.equal(await responses.remove('dev/other', 'resp_1'), false);
    assert.equal(await responses.remove('dev/laptop', 'resp_1'), true);
    assert.equal(await responses.find('dev/laptop', 'resp_1', nowMs), null);
  });

  over('a chain comes oldest first, stops at another tenant, and is as long as it may be', async ({ responses }) => {
    await responses.put(row('a'), []);
    await responses.put(row('b', { previous: 'a' }), []);
    await responses.put(row('c', { previous: 'b' }), []);
    await responses.put(row('theirs', { tenant: 'dev/other', previous: 'c' }), []);
    const ids = async (tenant: string, id: string, most: number) =>
      (await responses.chain(tenant, id, most, nowMs)).map((one) => one.id);
    assert.deepEqual(await ids('dev/laptop', 'c', 10), ['a', 'b', 'c']);
    assert.deepEqual(await ids('dev/laptop', 'c', 2), ['b', 'c']);
    assert.deepEqual(await ids('dev/other', 'theirs', 10), ['theirs']);
    assert.deepEqual(await ids('dev/other', 'c', 10), []);
    await responses.renew('dev/laptop', ['a', 'b'], nowMs + 120_000);
    assert.deepEqual(
      (await responses.chain('dev/laptop', 'b', 10, nowMs + 90_000)).map((one) => one.id),
      ['a', 'b'],
    );
  });

  over('a running response ends once, whoever ends it first', async ({ responses }) => {
    await responses.put(row('resp_1', { status: 'queued', bootId: 'boot-1' }), []);
    const change = { tenant: 'dev/laptop', id: 'resp_1', conversation: null, expiresMs: nowMs + 60_000 };
    const begun = { ...change, status: 'in_progress', answer: bytes('begun'), end: 'runs on' } as const;
    assert.equal(await responses.change(begun, []), true);
    const key = { tenant: 'dev/laptop', id: 'resp_1' };
    assert.deepEqual(await responses.stopped([key]), []);
    const cancelled = { ...change, status: 'cancelled', answer: bytes('cancelled'), end: { events: null } };
    assert.equal(await responses.change(cancelled, []), true);
    assert.deepEqual(await responses.stopped([key]), [key]);
    const late = { ...change, status: 'completed', answer: bytes('late'), end: { events: bytes('frames') } };
    assert.equal(await responses.change(late, []), false);
    assert.equal((await responses.find('dev/laptop', 'resp_1', nowMs))!.status, 'cancelled');
  });

  over('what ran in a process that is over is told as orphaned', async ({ store, responses }) => {
    await responses.put(row('resp_1', { status: 'in_progress', bootId: 'boot-1' }), []);
    assert.equal((await responses.find('dev/laptop', 'resp_1', nowMs))!.orphaned, false);
    await store.letTheDeadBeKnown();
    const next = await store.responses('boot-2');
    assert.equal((await next.find('dev/laptop', 'resp_1', nowMs))!.orphaned, true);
    await next.close();
  });

  over('items of a conversation keep their order, page both ways, and are there once', async ({ responses }) => {
    await conversation(responses, 'conv_1', [item('a'), item('b')]);
    await responses.put(row('resp_1', { conversation: 'conv_1' }), [item('c'), item('b'), item('d')]);
    assert.deepEqual(await itemIds(responses, 'conv_1'), ['a', 'b', 'c']);
    assert.deepEqual(await itemIds(responses, 'conv_1', 'asc', 'c'), ['d']);
    assert.deepEqual(await itemIds(responses, 'conv_1', 'desc'), ['d', 'c', 'b']);
    assert.deepEqual(await itemIds(responses, 'conv_1', 'desc', 'b'), ['a']);
    assert.equal(await responses.removeItem('dev/laptop', 'conv_1', 'b', nowMs), true);
    assert.equal(await responses.removeItem('dev/laptop', 'conv_1', 'b', nowMs), false);
    assert.deepEqual(await itemIds(responses, 'conv_1'), ['a', 'c', 'd']);
    assert.equal(await responses.addItems('dev/other', 'conv_1', [item('x')], nowMs + 60_000), false);
    assert.equal(await responses.removeConversation('dev/other', 'conv_1'), false);
    assert.deepEqual(await itemIds(responses, 'conv_1'), ['a', 'c', 'd']);
    assert.equal(await responses.removeConversation('dev/laptop', 'conv_1'), true);
    assert.deepEqual(await itemIds(responses, 'conv_1'), []);
    // A response that ends after its conversation was deleted is kept nevertheless.
    await responses.put(row('resp_2', { conversation: 'conv_1' }), [item('e')]);
    assert.deepEqual(await itemIds(responses, 'conv_1'), []);
    assert.notEqual(await responses.find('dev/laptop', 'resp_2', nowMs), null);
  });

  over('a list goes on behind an item for an hour after its removal', async ({ responses }) => {
    await conversation(responses, 'conv_1', [item('a'), item('b'), item('c')], nowMs + 7_200_000);
    const known = (id: string) => responses.hasPlace('dev/laptop', 'conv_1', id);
    for (const id of ['b', 'c']) await responses.removeItem('dev/laptop', 'conv_1', id, nowMs);
    assert.deepEqual(await itemIds(responses, 'conv_1', 'desc', 'b'), ['a']);
    await responses.addItems('dev/laptop', 'conv_1', [item('d')], nowMs + 7_200_000);
    assert.deepEqual(await itemIds(responses, 'conv_1', 'asc', 'c'), ['d']);
    assert.deepEqual([await known('a'), await known('b'), await known('x')], [true, true, false]);
    assert.equal(await responses.hasPlace('dev/other', 'conv_1', 'b'), false);
    await responses.sweep(nowMs + 3_600_000);
    assert.equal(await known('b'), true);
    await responses.sweep(nowMs + 3_600_001);
    assert.deepEqual([await known('a'), await known('b')], [true, false]);
  });

  over('two turns that end at once both add their items', async ({ responses }) => {
    await conversation(responses, 'conv_1');
    const turns = ['a', 'b', 'c', 'd', 'e', 'f'];
    await Promise.all(turns.map((id) => responses.put(row(id, { conversation: 'conv_1' }), [item(id)])));
    const asked = {
      tenant: 'dev/laptop',
      conversation: 'conv_1',
      order: 'asc',
      after: null,
      limit: 10,
      id: null,
    } as const;
    assert.deepEqual((await responses.items(asked)).map((one) => one.id).sort(), turns);
  });

  over('a sweep removes what expired and leaves the rest', async ({ responses }) => {
    await conversation(responses, 'conv_1', [item('a')]);
    for (let at = 0; at < 250; at++) await responses.put(row(`old${at}`, { expiresMs: nowMs - 1 }), []);
    await responses.put(row('new'), []);
    assert.equal(await responses.sweep(nowMs), 250);
    assert.notEqual(await responses.find('dev/laptop', 'new', nowMs), null);
    assert.equal(await responses.sweep(nowMs + 60_000), 2);
    assert.deepEqual(await itemIds(responses, 'conv_1'), []);
  });
}
