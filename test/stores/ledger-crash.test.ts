import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Ledger, UsageEvent } from '../../src/books/metering/ledger.ts';
import { drivers } from './drivers.ts';
import { reservationRow } from './rows.ts';

const child = fileURLToPath(new URL('./ledger-child.ts', import.meta.url));
const kills = 5;

function start(...args: string[]): ChildProcess {
  return spawn(process.execPath, [child, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
}

async function everyEvent(ledger: Ledger): Promise<UsageEvent[]> {
  const all: UsageEvent[] = [];
  const query = { accounts: null, where: {}, sinceMs: null, untilMs: null, after: null, limit: 1_000 };
  let cursor: string | null = null;
  do {
    const page: { events: readonly UsageEvent[]; next: string | null } = await ledger.list({ ...query, cursor });
    all.push(...page.events);
    cursor = page.next;
  } while (cursor !== null);
  return all;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

for (const driver of drivers) {
  const { skip } = driver;

  test(`${driver.name}: F37 kill -9 while writing, ${kills} times: every acknowledged reservation is charged once`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const acknowledged = new Set<string>();
    for (let kill = 1; kill <= kills; kill += 1) {
      const server = start(driver.name, store.place, `boot-${kill}`, 'write');
      let text = '';
      server.stdout!.setEncoding('latin1').on('data', (chunk: string) => {
        text += chunk;
        // Somewhere in a running stream of commits, not at a moment chosen by a clock.
        if (text.length > 41 * (50 + kill * 37)) server.kill('SIGKILL');
      });
      await once(server, 'close');
      for (const line of text.split('\n').slice(0, -1)) acknowledged.add(line);
    }
    const next = await store.ledger('after');
    await store.letTheDeadBeKnown();
    const recovered = await next.recover();
    assert.ok(acknowledged.size > kills * 50);
    // Lost with their process: at most the requests in flight and 20 ms of unwritten closes.
    assert.ok(recovered > 0);
    for (const id of acknowledged) {
      const event = await next.find(id, 'dev');
      assert.ok(event !== null, `${id} was acknowledged and is not in the books`);
      assert.equal(event.costMilli, 1_000);
      assert.ok(event.class === 'ok' || event.usageSource === 'estimated');
    }
    assert.equal(await next.recover(), 0);
    // What the windows count is what the events cost, to the unit: neither a lost commit nor one written twice.
    const events = await everyEvent(next);
    const settled = sumOf(events.map((event) => event.costMilli));
    const tokens = sumOf(events.map((event) => event.inputTokens + event.outputTokens));
    const buckets = await next.buckets(['a:dev', 'k:dev/laptop']);
    for (const scope of ['a:dev', 'k:dev/laptop']) {
      for (const grainMs of [60_000, 3_600_000]) {
        const rows = buckets.filter((row) => row.scope === scope && row.grainMs === grainMs);
        assert.equal(sumOf(rows.map((row) => row.units)), settled, `units of ${scope} in ${grainMs} ms`);
        assert.equal(sumOf(rows.map((row) => row.tokens)), tokens, `tokens of ${scope} in ${grainMs} ms`);
      }
    }
    const day = 86_400_000;
    const span = { fromMs: Date.now() - day, toMs: Date.now() + day };
    const [account] = await next.usage({ ...span, accounts: null, where: {}, groupBy: 'account', splitBy: null });
    assert.deepEqual([account?.milliUnits, account?.requests], [settled, events.length]);
    await next.shutdown();
  });

  test(`${driver.name}: F38 two processes recover at the same moment: each reservation is charged by one of them`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const dead = await store.ledger('dead');
    const rows = Array.from({ length: 1_000 }, () => reservationRow({ bootId: 'dead' }));
    await Promise.all(rows.map((row) => dead.open(row)));
    await dead.shutdown();
    const racers = ['a', 'b'].map((boot) => start(driver.name, store.place, boot, 'recover'));
    await Promise.all(racers.map((racer) => once(racer.stdout!, 'data')));
    const counts = racers.map(async (racer) => {
      const closed = once(racer, 'close');
      const answer = once(racer.stdout!, 'data');
      racer.stdin!.write('go\n');
      const [count] = await answer;
      await closed;
      return Number(String(count));
    });
    const [a = 0, b = 0] = await Promise.all(counts);
    assert.equal(a + b, 1_000);
    const after = await store.ledger('after');
    assert.equal(await after.recover(), 0);
    assert.equal((await after.find(rows[999]!.requestId, null))?.costMilli, 1_000);
    await after.shutdown();
  });
}
