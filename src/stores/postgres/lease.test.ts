import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fakeClock } from '../../../test/fake-clock.ts';
import { patientPools, postgresMissing, startPostgres } from '../../../test/start-postgres.ts';
import { systemClock } from '../../kernel/clock.ts';
import { createBoots, takeLease, takeNoLease } from './boots.ts';
import type { Database, Run } from './database.ts';
import { openPostgres } from './open.ts';

test('one server a database counts in its own memory; its folder takes over at once, another after 30 s', {
  skip: postgresMissing,
}, async (t) => {
  const server = await startPostgres(t);
  const database = await openPostgres(server.url, patientPools);
  t.after(database.close);
  const clock = fakeClock();
  const lease = (folderId: string, bootId: string, by = database) =>
    takeLease({ database: by, folderId, bootId, clock });
  const silence = (ms: number, by = database) => by.rest.run(`UPDATE culvert.lease SET seen_ms = seen_ms - ${ms}`);

  const [a, b] = await Promise.all([lease('folder-a', 'boot-1'), lease('folder-b', 'boot-2')]);
  assert.deepEqual([a.kind, b.kind].toSorted(), ['held', 'leased'], 'of two at one moment one has it');
  const refused = a.kind === 'held' ? a : b;
  assert.ok(refused.kind === 'held');
  assert.match(refused.message, /127\.0\.0\.1:\d+\/postgres\. Stop it .*redis:/);
  assert.doesNotMatch(refused.message, /culvert@/);

  const winner = a.kind === 'leased' ? 'folder-a' : 'folder-b';
  const again = await lease(winner, 'boot-3');
  assert.ok(again.kind === 'leased', 'its own folder, restarted');
  assert.equal((await lease('folder-c', 'boot-4')).kind, 'held');
  const beside = await takeNoLease({ database, folderId: 'folder-c' });
  assert.ok(beside.kind === 'held', 'nor may one that counts in Redis run beside it');
  assert.match(beside.message, /counts quota in its own memory/);
  assert.equal((await takeNoLease({ database, folderId: winner })).kind, 'leased', 'its own folder, now with Redis');
  await silence(29_000);
  assert.equal((await lease('folder-c', 'boot-4')).kind, 'held');
  await silence(1_000);
  const next = await lease('folder-c', 'boot-4');
  assert.ok(next.kind === 'leased');

  assert.equal(next.trouble(), null);
  clock.advance(24_999);
  assert.equal(next.trouble(), null);
  clock.advance(1);
  assert.match(next.trouble() ?? '', /did not answer for 25 s/);
  await again.release();
  assert.equal((await lease('folder-d', 'boot-5')).kind, 'held', 'nobody gives away what is not theirs');
  await next.release();
  const beat = (bootId: string) =>
    database.rest.run(
      'INSERT INTO culvert.boot (id, seen_ms) VALUES ($1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)',
      [bootId],
    );
  await beat('redis-replica');
  const shared = await lease('folder-d', 'boot-5');
  assert.ok(shared.kind === 'held', 'nor beside one that shares its counters');
  assert.match(shared.message, /^Another Culvert shares its quota counters over 127/);
  await database.rest.run('UPDATE culvert.boot SET seen_ms = 0');
  const first = await lease('folder-d', 'boot-5');
  await beat('boot-5');
  assert.deepEqual(
    [first.kind, (await lease('folder-d', 'boot-6')).kind],
    ['leased', 'leased'],
    'killed and restarted',
  );
  await beat('boot-6');
  const last = await lease('folder-d', 'boot-7');
  assert.ok(last.kind === 'leased');
  await last.release();
  assert.equal((await takeNoLease({ database, folderId: 'folder-e' })).kind, 'leased');
  await database.rest.run('UPDATE culvert.boot SET seen_ms = 0');

  t.mock.timers.enable({ apis: ['setTimeout'] });
  // Mocked timers do not clear those of idle connections, which would hold the process for a minute.
  const mocked = await openPostgres(server.url, patientPools);
  t.after(mocked.close);
  const kept = await lease('folder-f', 'boot-8', mocked);
  assert.ok(kept.kind === 'leased');
  await silence(29_000, mocked);
  clock.advance(24_000);
  t.mock.timers.tick(5_000);
  const isSeen = 'SELECT 1 FROM culvert.lease WHERE seen_ms > (extract(epoch FROM clock_timestamp()) - 20) * 1000';
  for (let looks = 0; looks < 1_000; looks += 1) {
    if ((await mocked.rest.run(isSeen)).rows.length > 0) break;
  }
  t.mock.timers.reset();
  await silence(2_000);
  assert.equal((await lease('folder-g', 'boot-9')).kind, 'held', 'one that runs renews it');
  clock.advance(2_000);
  assert.equal(kept.trouble(), null);
  await kept.release();
});

test('a boot that ends while a beat is under way says goodbye behind it, and is over', async () => {
  const arrived: string[] = [];
  const late = Promise.withResolvers<void>();
  const run: Run = async (sql) => {
    const text = typeof sql === 'string' ? sql : sql.text;
    if (text.includes('INSERT') && arrived.length > 0) await late.promise;
    arrived.push(text.includes('INSERT') ? 'beat' : 'goodbye');
    return { rows: [], changes: 1 };
  };
  const rest = { run } as Database['rest'];
  const boots = createBoots({ rest }, 'boot-1', fakeClock(), () => {});
  await boots.begin();
  boots.replicas.report(async () => ({}) as never);
  await pause(5);
  const ending = boots.end();
  late.resolve();
  await ending;
  assert.deepEqual(arrived, ['beat', 'beat', 'goodbye']);
});

test('a boot whose clock is 90 s ahead knows it from its beats', { skip: postgresMissing }, async (t) => {
  const server = await startPostgres(t);
  const database = await openPostgres(server.newDatabase(), patientPools);
  t.after(database.close);
  const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + 90_000 };
  const boots = createBoots(database, 'boot-1', clock, () => {});
  const sinceMs = systemClock.wallMs();
  await boots.begin();
  const tookMs = systemClock.wallMs() - sinceMs;
  const behindMs = -boots.aheadMs();
  assert.ok(behindMs <= 90_000 && behindMs >= 90_000 - tookMs - 1, `${behindMs} ms, in ${tookMs} ms`);
  await boots.end();
});
