import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { adminKey, overUpstreams, testKey, testProcesses } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { chatOnce, startGatewayProcess } from './gateway-process.ts';

/** Waits, where tests run over several processes, until each of them has looked at its files, which it does every second. */
async function allWorkersLook(): Promise<void> {
  if (testProcesses > 1) await after(1_500);
}

test('F65 the data folder moved away: 503 and not ready, nothing is recorded; moved back, it serves and has lost nothing', async (t) => {
  const { url, data, log, requests } = await started(t);
  const late = await begunChat(url);
  assert.equal((await chatOnce(url)).status, 200);
  const before = await requests();

  renameSync(data, `${data}-away`);
  await until('it comes about', async () => (await chatOnce(url)).status === 503);
  await allWorkersLook();
  assert.equal(await late.end(), 503, 'who was let in before it was lost');
  const ready = await fetch(`${url}/readyz`);
  const { checks } = (await ready.json()) as { checks: { stores: boolean } };
  assert.deepEqual([ready.status, checks.stores], [503, false]);
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
  await until('it comes about', async () =>
    /data folder: \S+data was removed or replaced .* move it back/.test(readFileSync(log, 'utf8')),
  );
  for (const refused of [
    await call(url, 'POST', '/v1/vectors/collections', { name: 'docs', vector_size: 4, distance: 'Cosine' }),
    await call(url, 'GET', '/v1/vectors/collections'),
    await call(url, 'POST', '/v1/tools/crawl', { url: 'https://example.org' }),
    await call(url, 'POST', '/admin/v1/accounts', { id: 'new' }, adminKey),
  ]) {
    assert.equal(refused.status, 503);
    assert.match(await refused.text(), /data folder was removed or replaced/);
  }
  // A call that keeps nothing goes on.
  assert.equal((await call(url, 'GET', '/v1/models')).status, 200);
  const answered = await chatsUntilRefused(url);
  assert.equal(answered, 0);

  renameSync(`${data}-away`, data);
  await until('it comes about', async () => (await chatOnce(url)).status === 200);
  await allWorkersLook();
  assert.equal((await fetch(`${url}/readyz`)).status, 200);
  await until('it comes about', async () => /is the earlier file again/.test(readFileSync(log, 'utf8')));
  // Those of before, those that were answered until the loss was seen, and the one just now.
  const found = await requests();
  assert.ok(found.length > before.length);
  for (const id of before) assert.ok(found.includes(id));
});

test('F65 the data folder removed: nothing is acknowledged from a second on, a new folder in its place changes nothing', async (t) => {
  const { url, data, log } = await started(t);
  assert.equal((await chatOnce(url)).status, 200);
  rmSync(data, { recursive: true });
  await until('it comes about', async () => (await chatOnce(url)).status === 503);
  mkdirSync(data);
  await after(1_500);
  assert.equal((await chatOnce(url)).status, 503);
  assert.equal((await fetch(`${url}/readyz`)).status, 503);
  await until('it comes about', async () => /restore a backup/.test(readFileSync(log, 'utf8')));
});

test('F65 one database replaced by another file: 503, and 200 once the right one is back', async (t) => {
  const { url, data } = await started(t);
  const ledger = join(data, 'ledger.db');
  renameSync(ledger, `${ledger}-away`);
  copyFileSync(`${ledger}-away`, ledger);
  await until('it comes about', async () => (await chatOnce(url)).status === 503);
  renameSync(`${ledger}-away`, ledger);
  await until('it comes about', async () => (await chatOnce(url)).status === 200);
});

async function started(t: TestContext) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const log = join(temporaryFolder(t), 'log');
  const { url, file } = await startGatewayProcess(t, overUpstreams(upstream.url), { log });
  // The first look has seen the present files.
  await after(300);
  const requests = async () => {
    const listed = await call(url, 'GET', '/admin/v1/requests?limit=500', undefined, adminKey);
    return ((await listed.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
  };
  return { url, data: join(dirname(file), 'data'), log, requests };
}

function call(url: string, method: string, path: string, json?: object, key = testKey): Promise<Response> {
  return fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
}

/** A chat that is let in, and whose body is not there yet; `end` sends the rest and gives the status. */
async function begunChat(url: string): Promise<{ end(): Promise<number | undefined> }> {
  const body = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] });
  const chat = request(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${testKey}`,
      'content-type': 'application/json',
      'content-length': body.length,
    },
  });
  await new Promise((written) => chat.write(body.slice(0, 10), written));
  return {
    async end() {
      chat.end(body.slice(10));
      const [answer] = await once(chat, 'response');
      answer.resume();
      return answer.statusCode;
    },
  };
}

/** Chats that are answered with 200 in half a second. */
async function chatsUntilRefused(url: string): Promise<number> {
  let answered = 0;
  const untilMs = performance.now() + 500;
  while (performance.now() < untilMs) if ((await chatOnce(url)).status === 200) answered += 1;
  return answered;
}
