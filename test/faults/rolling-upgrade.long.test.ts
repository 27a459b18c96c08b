import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { nginxMissing } from '../start-nginx.ts';
import { postgresMissing } from '../start-postgres.ts';
import { redisMissing } from '../start-redis.ts';
import { balanced } from './books-balance.ts';
import { historyMissing, releaseBefore } from './release-before.ts';
import { upgradeBehindNginx } from './upgrade-behind-nginx.ts';

/** Between two replacements, while both versions answer. */
const betweenMs = 2_000 * Number(process.env.CULVERT_RUNS ?? 1);

test('three replicas of the release before are replaced one by one behind nginx: no request is lost, the books balance', {
  skip: nginxMissing || postgresMissing || redisMissing || historyMissing,
}, async (t) => {
  const before = releaseBefore(t);
  const { answered, lost, url, log } = await upgradeBehindNginx(t, before.bin, () => after(betweenMs));
  t.diagnostic(`from ${before.commit}: ${answered.length} answered, ${lost.length} lost`);
  assert.deepEqual(lost, [], readFileSync(log, 'utf8').slice(-2_000));
  const { events } = await balanced(url);
  assert.deepEqual(events.map(({ id }) => id).sort(), answered.sort());
});
