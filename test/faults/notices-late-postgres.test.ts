import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { callAdmin } from '../call-admin.ts';
import { chatPath, hello } from '../contract/served.ts';
import { listening } from '../listening.ts';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { startCuttingProxy } from './cutting-proxy.ts';

test('a webhook that was received while PostgreSQL was away for a moment comes once', {
  skip: postgresMissing,
}, async (t) => {
  const [postgres, upstream] = [await startPostgres(t), await startUpstream()];
  t.after(() => upstream.close());
  const proxy = await startCuttingProxy(t, postgres.port);
  const ids: unknown[] = [];
  const receiver = createServer((request, response) => {
    ids.push(request.headers['webhook-id']);
    proxy.cutAfter('INSERT INTO culvert.ended_notice');
    response.end();
  });
  const webhook = `${await listening(t, receiver)}/quota`;
  const notify = { at: [0.5], webhook, secret: 'a secret of thirty-two bytes or more' };
  const database = postgres.newDatabase().replace(`:${postgres.port}/`, `:${proxy.port}/`);
  const gateway = await startGateway(t, {
    ...overUpstreams(upstream.url),
    storage: { database, secret: 'a secret of thirty-two bytes or more' },
    plans: { default: { windows: { month: 2 }, rpm: 'off', notify } },
  });
  await (await gateway.fetch(chatPath, { json: hello })).text();
  await until('it is known to be delivered', async () => {
    const { body } = await callAdmin<{ data: { state: string }[] }>(gateway, 'GET', '/notices');
    return body.data.some(({ state }) => state === 'delivered');
  });
  assert.deepEqual([ids.length, proxy.cuts()], [1, 1]);
});
