import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { overUpstreams, testKey } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { startGatewayProcess } from './gateway-process.ts';

test('F75 kill -9 right after a keyed answer, with PostgreSQL gone while the upstream ran: the key is a replay, and nothing runs or is charged again', {
  skip: postgresMissing,
}, async (t) => {
  const postgres = await startPostgres(t);
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const database = postgres.newDatabase();
  const config = {
    ...overUpstreams(upstream.url),
    storage: { data_dir: temporaryFolder(t), database, secret: 'a secret of thirty-two bytes or more' },
  };
  const first = await startGatewayProcess(t, config);
  // On a busy machine its first connections to the database take longer than a caller waits.
  await until('it answers', async () => (await keyed(first.url, randomUUID())).status === 200);
  upstream.clear();
  upstream.script('/v1/chat/completions', ['delay=1500ms']);
  let answered = false;
  const asked = keyed(first.url, 'order-17').then((answer) => {
    answered = true;
    return answer;
  });
  await upstream.when(({ method }) => method === 'POST');
  await postgres.stop('SIGKILL');
  await upstream.when(({ method, ended_ms }) => method === 'POST' && ended_ms !== null);
  // Longer than the 250 ms after which the answer went out unrecorded.
  await after(1_000);
  assert.equal(answered, false, 'no answer goes out before it is recorded');
  await postgres.restart();
  const answer = await asked;
  first.process.kill('SIGKILL');
  await once(first.process, 'exit');
  assert.equal(answer.status, 200);

  const { url } = await startGatewayProcess(t, config);
  let again = await keyed(url, 'order-17');
  await until('it answers again', async () => {
    if (again.status !== 503) return true;
    again = await keyed(url, 'order-17');
    return false;
  });
  assert.equal(again.status, 200);
  assert.equal(again.text, answer.text);
  assert.ok(again.replayOf !== null);
  assert.equal(upstream.requests().filter(({ method }) => method === 'POST').length, 1);
});

async function keyed(url: string, key: string) {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${testKey}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  const text = await response.text();
  return { status: response.status, text, replayOf: response.headers.get('x-culvert-idempotent-replay') };
}
