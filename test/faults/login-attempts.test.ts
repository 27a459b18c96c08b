import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { adminKey, startGateway, type TestGateway, testProcesses } from '../start-gateway.ts';

/** A login whose head comes now and whose body comes when it is asked for. Answers with the status. */
async function slowLogin(gateway: TestGateway, secret: string): Promise<() => Promise<number>> {
  const { hostname, port, host, origin } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const body = JSON.stringify({ admin_key: secret });
  socket.write(
    `POST /dashboard/session HTTP/1.1\r\nhost: ${host}\r\norigin: ${origin}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n`,
  );
  return async () => {
    socket.write(body);
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    return Number(answer.split(' ', 2)[1]);
  };
}

function admin(gateway: TestGateway, key: string): Promise<Response> {
  return fetch(`${gateway.url}/admin/v1/accounts`, { headers: { authorization: `Bearer ${key}` } });
}

const countOf = (statuses: readonly number[], status: number) => statuses.filter((one) => one === status).length;

/** Each worker may have begun ten before it hears of the others'. */
function assertTried(statuses: readonly number[]): void {
  const tried = countOf(statuses, 401);
  assert.ok(tried >= 10 && tried <= 10 * testProcesses, `${tried} of 100`);
  assert.equal(countOf(statuses, 429), 100 - tried);
}

test('S37 of 100 logins at once whose bodies come later, 10 are looked at', async (t) => {
  const gateway = await startGateway(t, { server: { connections_per_address: 1_000 } });
  const logins = await Promise.all(Array.from({ length: 100 }, (_, i) => slowLogin(gateway, `wrong-${i}`)));
  const statuses = await Promise.all(logins.map((send) => send()));
  assertTried(statuses);
  assert.equal((await admin(gateway, adminKey)).status, 200, 'the admin API goes on');
});

test('S37 right logins at once all pass', async (t) => {
  const gateway = await startGateway(t);
  for (let round = 0; round < 3; round++) {
    const logins = await Promise.all(Array.from({ length: 8 }, () => slowLogin(gateway, adminKey)));
    assert.deepEqual(
      await Promise.all(logins.map((send) => send())),
      Array.from({ length: 8 }, () => 200),
    );
  }
});

test('S37 wrong keys at the admin API are refused after 10, a right one is not, and the dashboard stays open', async (t) => {
  const gateway = await startGateway(t);
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, i) => admin(gateway, `sk-cv-wrong-key-of-test-${i}`)),
  );
  const statuses = answers.map(({ status }) => status);
  assertTried(statuses);
  const closed = answers.find(({ status }) => status === 429)!;
  assert.ok(Number(closed.headers.get('retry-after')) <= 60);
  const { error } = (await closed.json()) as { error: { message: string; retry_after_ms: number } };
  assert.match(error.message, /A right key goes on to work/);
  assert.ok(Number.isInteger(error.retry_after_ms), `${error.retry_after_ms} ms`);
  assert.equal((await admin(gateway, adminKey)).status, 200);
  assert.equal(await (await slowLogin(gateway, adminKey))(), 200);
  assert.equal((await gateway.fetch('/v1/models')).status, 200);
  assert.equal((await fetch(`${gateway.url}/admin/v1/accounts`)).status, 401, 'no key is no attempt');
});
