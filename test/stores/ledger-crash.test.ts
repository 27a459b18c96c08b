import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { drivers } from './drivers.ts';
import { reservationRow } from './rows.ts';

const child = fileURLToPath(new URL('./ledger-child.ts', import.meta.url));
const kills = 10;

function start(...args: string[]): ChildProcess {
  return spawn(process.execPath, [child, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
}

for (const driver of drivers) {
  test(`${driver.name}: F37 kill -9 while writing, ${kills} times: every acknowledged reservation is charged once`, async (t) => {
    const store = driver.create();
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
    const next = store.ledger('after');
    const recovered = await next.recover();
    assert.ok(acknowledged.size > kills * 50);
    // Lost with their process: at most what was in flight and what 20 ms of unwritten closes hold.
    assert.ok(recovered > 0);
    for (const id of acknowledged) {
      const event = await next.find(id, 'dev');
      assert.ok(event !== null, `${id} was acknowledged and is not in the books`);
      assert.equal(event.costMilli, 1_000);
      assert.ok(event.class === 'ok' || event.usageSource === 'estimated');
    }
    assert.equal(await next.recover(), 0);
    await next.shutdown();
  });

  test(`${driver.name}: F38 two processes recover at the same moment: each reservation is charged by one of them`, async (t) => {
    const store = driver.create();
    t.after(() => store.remove());
    const dead = store.ledger('dead');
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
    const after = store.ledger('after');
    assert.equal(await after.recover(), 0);
    assert.equal((await after.find(rows[999]!.requestId, null))?.costMilli, 1_000);
    await after.shutdown();
  });
}
