import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patientPools, postgresMissing, startPostgres } from '../../../test/start-postgres.ts';
import { openPostgres } from './open.ts';
import { createPostgresCrawlPace, createPostgresCrawlStore } from './stores.ts';

const nowMs = Date.UTC(2026, 0, 31);

test('replicas ask one host at the pace of one', { skip: postgresMissing }, async (t) => {
  const url = (await startPostgres(t)).newDatabase();
  const [one, other] = await Promise.all([openPostgres(url, patientPools), openPostgres(url, patientPools)]);
  t.after(async () => {
    await one.close();
    await other.close();
  });
  const [a, b] = [createPostgresCrawlPace(one), createPostgresCrawlPace(other)];
  assert.equal(await a.take('site.test', 1_000, nowMs), 0);
  assert.equal(await b.take('site.test', 1_000, nowMs + 10), 990);
  assert.equal(await a.take('site.test', 500, nowMs + 10), 1_490, 'each by its own delay after the last');
  assert.equal(await b.take('elsewhere.test', 1_000, nowMs + 10), 0);
  assert.equal(await b.take('site.test', 1_000, nowMs + 60_000), 0, 'nobody was there for long');

  const host = `${'x'.repeat(5_000)}.test`;
  const waits = await Promise.all(Array.from({ length: 4 }, (_, at) => (at % 2 ? a : b).take(host, 1_000, nowMs)));
  assert.deepEqual(
    waits.toSorted((x, y) => x - y),
    Array.from({ length: 4 }, (_, at) => at * 1_000),
    'at one moment too',
  );

  // A replica whose clock is a day ahead.
  await a.take('ahead.test', 1_000, nowMs + 86_400_000);
  assert.equal(await b.take('ahead.test', 1_000, nowMs), 600_000);

  await createPostgresCrawlStore(one).prune(nowMs + 2 * 86_400_000);
  const { rows } = await one.rest.run('SELECT FROM culvert.crawl_turn');
  assert.equal(rows.length, 0, 'hosts that nobody asks are forgotten');
});
