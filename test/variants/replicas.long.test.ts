import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { startReplicas } from '../faults/replicas.ts';
import { adminKey, testKey } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { until } from '../until.ts';

/* Three gateways over one PostgreSQL and one Redis agree on who has which variant, and on which variant is out. */

test('three replicas give each user one variant, and none gives one that was taken out until it is restored', {
  skip: postgresMissing || redisMissing,
}, async (t) => {
  const [postgres, redis] = await Promise.all([startPostgres(t), startRedis(t)]);
  const target = (model: string) => [{ provider: 'up1', model }];
  const { urls } = await startReplicas(t, 3, {
    ...{ postgres, redis },
    models: {
      smart: {
        targets: target('mock/ok'),
        attempts: 1,
        sticky: 'user',
        rollback: 'auto',
        variants: { a: { weight: 2 }, b: { weight: 1, targets: target('mock/status=500') }, c: { weight: 1 } },
      },
    },
  });
  const users = Array.from({ length: 90 }, (_, at) => `user-${at}`);
  const variantOf = async (url: string, user: string) => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'smart', user, messages: [{ role: 'user', content: 'x' }] }),
    });
    await response.text();
    return response.headers.get('x-culvert-variant');
  };
  const seenBy = (url: string) => Promise.all(users.map((user) => variantOf(url, user)));
  const admin = async (url: string, path: string, method = 'GET') => {
    const response = await fetch(`${url}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}` },
    });
    return {
      status: response.status,
      body: (await response.json()) as { variants: { variant: string; out: unknown }[] },
    };
  };
  const [first, second, third] = urls as [string, string, string];

  const before = await seenBy(first);
  assert.ok(before.filter((variant) => variant === 'b').length > 10);
  for (const url of [second, third]) assert.deepEqual(await seenBy(url), before);

  await until('b is out at one', async () => {
    await seenBy(first);
    const { body } = await admin(second, '/models/smart/results');
    return body.variants.find(({ variant }) => variant === 'b')?.out !== null;
  });
  for (const url of urls) await until('all follow', async () => !(await seenBy(url)).includes('b'));
  const after = await seenBy(first);
  for (const url of [second, third]) assert.deepEqual(await seenBy(url), after);
  // Only those of b have another one.
  for (const [at, variant] of before.entries()) if (variant !== 'b') assert.equal(after[at], variant);

  assert.equal((await admin(third, '/models/smart/variants/b/restore', 'POST')).status, 200);
  for (const url of urls) await until('all follow back', async () => isDeepStrictEqual(await seenBy(url), before));
});
