import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ledger } from '../../src/books/metering/ledger.ts';
import { drivers } from './drivers.ts';
import { reservationRow, usageEvent } from './rows.ts';

async function settle(ledger: Ledger, bootId: string): Promise<string> {
  const row = reservationRow({ bootId });
  await ledger.open(row);
  ledger.close(usageEvent(row));
  await ledger.flush();
  return row.requestId;
}

const idsOf = (records: Awaited<ReturnType<Ledger['records']['read']>>) => records.map(({ event }) => event.requestId);

for (const driver of drivers) {
  const { skip } = driver;

  test(`${driver.name}: records stand in the order of their commits, with bodies, from the start of a sink on`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1', undefined, { bodiesOf: (id) => `{"of":"${id}"}` });
    await settle(ledger, 'boot-1');
    await ledger.records.begin(['lake']);
    // The one that came first ends last.
    const slow = reservationRow();
    await ledger.open(slow);
    const quick = await settle(ledger, 'boot-1');
    ledger.close(usageEvent(slow));
    await ledger.flush();
    const at = (await ledger.records.take('lake', 1_000))!;
    const records = await ledger.records.read(at, 10);
    assert.deepEqual(idsOf(records), [quick, slow.requestId]);
    assert.deepEqual(records[0]!.bodies, `{"of":"${quick}"}`);
    assert.deepEqual(records[0]!.event, await ledger.find(quick, null));
    assert.deepEqual(idsOf(await ledger.records.read(at, 1)), [quick]);
    assert.deepEqual(idsOf(await ledger.records.read(records[0]!.position, 10)), [slow.requestId]);
    await ledger.shutdown();
  });

  test(`${driver.name}: how far a sink is outlives the process, and what all sinks have is forgotten`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const first = await store.ledger('boot-1', undefined, { bodiesOf: () => null });
    await first.records.begin(['lake', 'hook']);
    const at = (await first.records.take('lake', 60_000))!;
    const ids = [await settle(first, 'boot-1'), await settle(first, 'boot-1'), await settle(first, 'boot-1')];
    const [one, two] = await first.records.read(at, 10);
    await first.records.arrived('lake', two!.position);
    assert.deepEqual(idsOf(await first.records.read(at, 10)), ids, 'hook has none of them yet');
    await first.records.arrived('hook', one!.position);
    assert.deepEqual(idsOf(await first.records.read(at, 10)), ids.slice(1));
    await first.records.letGo('lake');
    await first.shutdown();

    const next = await store.ledger('boot-2', undefined, { bodiesOf: () => null });
    await next.records.begin(['lake', 'hook', 'new']);
    assert.equal(await next.records.take('lake', 1_000), two!.position);
    assert.equal(await next.records.take('hook', 1_000), one!.position);
    const fresh = (await next.records.take('new', 1_000))!;
    assert.deepEqual(idsOf(await next.records.read(fresh, 10)), [], 'a new sink begins behind the newest');
    assert.deepEqual(idsOf(await next.records.read(fresh, 10)), []);
    const later = await settle(next, 'boot-2');
    assert.deepEqual(idsOf(await next.records.read(fresh, 10)), [later]);
    await next.shutdown();
  });

  test(`${driver.name}: what a dead process left open is a record too, and what retention removed is none`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const dead = await store.ledger('boot-1', undefined, { bodiesOf: () => null });
    await dead.records.begin(['lake']);
    const at = (await dead.records.take('lake', 1))!;
    const row = reservationRow({ bootId: 'boot-1' });
    await dead.open(row);
    await dead.flush();
    await store.letTheDeadBeKnown();
    const next = await store.ledger('boot-2', undefined, { bodiesOf: () => null });
    assert.equal(await next.recover(), 1);
    assert.deepEqual(idsOf(await next.records.read(at, 10)), [row.requestId]);
    await next.prune(Date.now() + 60_000);
    assert.deepEqual(await next.records.read(at, 10), []);
    await next.shutdown();
    await dead.shutdown();
  });
}

for (const driver of drivers.filter(({ name }) => name === 'postgres')) {
  const { skip } = driver;

  test('postgres: a sink is one process’ alone until its lease is over', { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const [one, other] = [await store.ledger('boot-1'), await store.ledger('boot-2')];
    await one.records.begin(['lake']);
    assert.notEqual(await one.records.take('lake', 60_000), null);
    assert.equal(await other.records.take('lake', 60_000), null);
    assert.notEqual(await one.records.take('lake', 100), null, 'its own is renewed');
    await new Promise((resolve) => setTimeout(resolve, 150));
    assert.notEqual(await other.records.take('lake', 60_000), null);
    assert.equal(await one.records.take('lake', 60_000), null);
    const failure = { why: 'host answers 500', sinceMs: 1_000 };
    await other.records.failed('lake', failure);
    await one.records.failed('lake', null);
    assert.deepEqual(await one.records.failure('lake'), failure, 'only its sender says so');
    await other.records.failed('lake', null);
    assert.equal(await one.records.failure('lake'), null);
    await other.records.letGo('lake');
    assert.notEqual(await one.records.take('lake', 60_000), null);
    await one.shutdown();
    await other.shutdown();
  });

  test('postgres: positions become visible in their order while replicas write at one time', { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const boots = ['boot-1', 'boot-2', 'boot-3'];
    const ledgers = await Promise.all(boots.map((boot) => store.ledger(boot, undefined, { bodiesOf: () => null })));
    const { records } = ledgers[0]!;
    await records.begin(['lake']);
    let at = (await records.take('lake', 60_000))!;
    const seen: string[] = [];
    let writing = true;
    const reading = (async () => {
      for (let last = false; ; last = !writing) {
        const found = await records.read(at, 50);
        seen.push(...idsOf(found));
        at = found.at(-1)?.position ?? at;
        if (last && found.length === 0) return;
      }
    })();
    const written = await Promise.all(
      ledgers.flatMap((ledger, at) =>
        Array.from({ length: 8 }, async () => {
          const ids: string[] = [];
          for (let turn = 0; turn < 20; turn++) {
            const row = reservationRow({ bootId: boots[at]! });
            await ledger.open(row);
            ledger.close(usageEvent(row));
            ids.push(row.requestId);
            await new Promise((resolve) => setTimeout(resolve, 3));
          }
          return ids;
        }),
      ),
    );
    await Promise.all(ledgers.map((ledger) => ledger.flush()));
    writing = false;
    await reading;
    assert.deepEqual(seen.toSorted(), written.flat().toSorted());
    for (const ledger of ledgers) await ledger.shutdown();
  });
}
