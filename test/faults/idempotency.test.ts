import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as rest } from 'node:timers/promises';
import { stringify } from 'yaml';
import { seededRandom } from '../../src/kernel/random.ts';
import { asked, chatPath, type ErrorBody, serve } from '../contract/served.ts';
import { otherKey, overUpstreams, startGateway, testKey } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { startGatewayProcess } from './gateway-process.ts';

const { gateway, upstream } = await serve({
  // A thousand requests at once are many for a busy machine.
  server: { overload: 'off' },
  plans: { default: { rpm: 'off', windows: { '5h': 1_000_000 } } },
  models: {
    slow: { targets: ['up1/mock/delay=40ms'] },
    slower: { targets: ['up1/mock/delay=150ms'] },
    large: { targets: ['up1/mock/size=2mb'] },
  },
});

interface Sent {
  key?: string;
  model?: string;
  content: string;
  stream?: boolean;
  auth?: string;
  signal?: AbortSignal;
}

function send({ key, model = 'chat', content, stream, auth = testKey, signal }: Sent): Promise<Response> {
  return gateway.fetch(chatPath, {
    json: { model, messages: [{ role: 'user', content }], ...(stream === undefined ? {} : { stream }) },
    headers: { authorization: `Bearer ${auth}`, ...(key === undefined ? {} : { 'idempotency-key': key }) },
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Runs of the upstream whose prompt is this. */
function runsOf(content: string): number {
  return asked(upstream).filter(({ body }) => JSON.stringify(body).includes(`"${content}"`)).length;
}

/** Charges of a key's account so far, as its headers tell them. */
async function charged(auth = testKey): Promise<{ requests: number; units: number; used: number }> {
  const response = await gateway.fetch('/v1/usage', { headers: { authorization: `Bearer ${auth}` } });
  const usage = (await response.json()) as {
    data: readonly { requests: number; units: number }[];
    windows: { '5h': { used: number } };
  };
  const [row] = usage.data;
  return { requests: row?.requests ?? 0, units: row?.units ?? 0, used: usage.windows['5h'].used };
}

test('F49 1,000 random retries over 100 keys, at once and after timeouts: one run and one charge a key', async () => {
  const random = seededRandom(49);
  const before = await charged();
  const told = { replayed: 0, inFlight: 0, left: 0 };
  const retryKey = async (i: number) => {
    const request = { key: `f49-${i}`, content: `prompt ${i}.`, model: random.next() < 0.5 ? 'chat' : 'slow' };
    const replies = new Set<string>();
    const once = async () => {
      await rest(random.next() * 60);
      const signal = random.next() < 0.4 ? AbortSignal.timeout(Math.ceil(random.next() * 40)) : undefined;
      const response = await send(signal === undefined ? request : { ...request, signal }).catch(() => null);
      const text = (await response?.text().catch(() => null)) ?? null;
      if (response === null || text === null) told.left++;
      else if (response.status === 409) {
        assert.match(text, /is still running/);
        told.inFlight++;
      } else {
        assert.equal(response.status, 200, text);
        replies.add(text);
        if (response.headers.has('x-culvert-idempotent-replay')) told.replayed++;
      }
    };
    await Promise.all(Array.from({ length: 9 }, once));
    // The last one comes until it has an answer, as SDKs do.
    while (replies.size === 0) {
      const response = await send(request);
      if (response.status === 409) await rest(5);
      else replies.add(await response.text());
    }
    assert.equal((await send(request)).headers.has('x-culvert-idempotent-replay'), true);
    assert.equal(replies.size, 1, `every reply to key ${i} is the same, byte for byte`);
    assert.equal(runsOf(request.content), 1, `key ${i}`);
  };
  for (let from = 0; from < 100; from += 20)
    await Promise.all(Array.from({ length: 20 }, (_, i) => retryKey(from + i)));
  const after = await charged();
  assert.deepEqual(
    [after.requests - before.requests, after.units - before.units, after.used - before.used],
    [100, 100, 100],
  );
  for (const [what, times] of Object.entries(told)) assert.ok(times > 20, `${what}: only ${times} of 1,000`);
});

test('F50 the same request without a key runs twice, is charged twice, and both stand in the ledger', async () => {
  const before = await charged();
  const ids: (string | null)[] = [];
  for (let i = 0; i < 2; i++) {
    const response = await send({ content: 'without a key' });
    await response.text();
    ids.push(response.headers.get('x-culvert-request-id'));
  }
  assert.equal(runsOf('without a key'), 2);
  const after = await charged();
  assert.deepEqual([after.requests - before.requests, after.units - before.units], [2, 2]);
  for (const id of ids) assert.equal((await gateway.fetch(`/v1/requests/${id}`)).status, 200);
});

test('a replay says who answered, what it cost and which request it was, under an id of its own', async () => {
  const request = { key: 'replayed', content: 'say it once' };
  const first = await send(request);
  const again = await send(request);
  assert.equal(await again.text(), await first.text());
  assert.equal(again.status, 200);
  const own = ['x-culvert-provider', 'x-culvert-model', 'x-culvert-attempts', 'x-culvert-cost', 'content-type'];
  for (const name of own) assert.equal(again.headers.get(name), first.headers.get(name), name);
  assert.equal(first.headers.get('x-culvert-idempotent-replay'), null);
  const firstId = first.headers.get('x-culvert-request-id');
  assert.equal(again.headers.get('x-culvert-idempotent-replay'), firstId);
  assert.notEqual(again.headers.get('x-culvert-request-id'), firstId);
});

test('another body with the same key is 409 conflict_error and not to be retried', async () => {
  await (await send({ key: 'one-body', content: 'this' })).text();
  const response = await send({ key: 'one-body', content: 'that' });
  const { error } = (await response.json()) as ErrorBody;
  assert.deepEqual([response.status, error.type, error.code], [409, 'conflict_error', 409]);
  assert.match(error.message, /this Idempotency-Key with another body/);
  assert.deepEqual([response.headers.get('x-should-retry'), response.headers.get('retry-after')], ['false', null]);
  assert.equal(runsOf('that'), 0);
});

test('while the first runs: 409 that names it and asks to come again in a second', async () => {
  const request = { key: 'running', content: 'take your time', model: 'slower' };
  const running = send(request);
  await upstream.when(({ body }) => JSON.stringify(body).includes('take your time'));
  const response = await send(request);
  const { error } = (await response.json()) as ErrorBody;
  assert.equal(response.status, 409);
  assert.deepEqual([response.headers.get('x-should-retry'), response.headers.get('retry-after')], ['true', '1']);
  const first = await running;
  assert.match(error.message, new RegExp(`${first.headers.get('x-culvert-request-id')}, is still running`));
});

test('a caller with a key who leaves is charged once, and finds the answer when it comes back', async () => {
  const before = await charged();
  const request = { key: 'left', content: 'I will be back', model: 'slower' };
  const left = new AbortController();
  const gone = send({ ...request, signal: left.signal }).catch(() => null);
  await upstream.when(({ body }) => JSON.stringify(body).includes('I will be back'));
  left.abort();
  await gone;
  let response = await send(request);
  while (response.status === 409) {
    await response.text();
    await rest(10);
    response = await send(request);
  }
  assert.equal(response.status, 200);
  const id = response.headers.get('x-culvert-idempotent-replay');
  const event = await (await gateway.fetch(`/v1/requests/${id}`)).json();
  assert.equal((event as { status: number }).status, 200);
  assert.equal(runsOf('I will be back'), 1);
  const after = await charged();
  assert.deepEqual([after.requests - before.requests, after.units - before.units], [1, 1]);
});

test('what failed is run again under the same key', async () => {
  const request = { key: 'failed', content: 'try again' };
  upstream.script('/v1/chat/completions', ['status=400', 'ok']);
  assert.deepEqual([(await send(request)).status, (await send(request)).status], [400, 200]);
  assert.equal(runsOf('try again'), 2);
  assert.equal((await send({ key: 'refused', content: 'x', model: 'nobody' })).status, 404);
  assert.equal((await send({ key: 'refused', content: 'x' })).status, 200);
});

test('a reply of over 1 MB is given once; a repeat is 409 with its id', async () => {
  const request = { key: 'large', content: 'a long story', model: 'large' };
  const first = await send(request);
  assert.ok((await first.text()).length > 2 * 1024 * 1024);
  const again = await send(request);
  assert.equal(again.status, 409);
  assert.match(
    ((await again.json()) as ErrorBody).error.message,
    new RegExp(first.headers.get('x-culvert-request-id')!),
  );
  assert.equal(runsOf('a long story'), 1);
});

test('S10 the key of one caller is nothing to another', async () => {
  const request = { key: 'mine', content: 'a private matter' };
  const first = await send(request);
  const other = await send({ ...request, auth: otherKey });
  assert.deepEqual([first.status, other.status], [200, 200]);
  assert.equal(other.headers.get('x-culvert-idempotent-replay'), null);
  assert.equal(runsOf('a private matter'), 2);
});

test('a stream runs whatever its key says', async () => {
  for (let i = 0; i < 2; i++) {
    const response = await send({ key: 'streamed', content: 'stream it', stream: true });
    assert.match(await response.text(), /data: \[DONE\]/);
    assert.equal(response.headers.get('x-culvert-idempotent-replay'), null);
  }
  assert.equal(runsOf('stream it'), 2);
});

test('S23 a key that is empty, too long or not printable ASCII is 400 and reaches nobody', async () => {
  for (const key of ['', 'x'.repeat(256), 'caf\u00e9', 'a\tb']) {
    const response = await send({ key, content: 'bad key' });
    const { error } = (await response.json()) as ErrorBody;
    assert.deepEqual([response.status, error.type], [400, 'invalid_request_error'], JSON.stringify(key));
    assert.match(error.message, /1 to 255 printable ASCII/);
  }
  assert.equal(runsOf('bad key'), 0);
  await (await send({ key: 'only for us', content: 'good key' })).text();
  const { headers } = asked(upstream).at(-1)!;
  assert.equal(JSON.stringify(headers).includes('only for us'), false, 'no upstream sees the key');
});

test('a replay counts as a call in rpm and costs no units', async (t) => {
  const one = await startUpstream();
  t.after(() => one.close());
  const limited = await startGateway(t, {
    ...overUpstreams(one.url),
    plans: { default: { rpm: 3, windows: { '5h': 1 } } },
  });
  const ask = () =>
    limited.fetch(chatPath, {
      json: { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] },
      headers: { 'idempotency-key': 'k' },
    });
  const statuses = [];
  for (let i = 0; i < 4; i++) statuses.push((await ask()).status);
  assert.deepEqual(statuses, [200, 200, 200, 429]);
});

test('a restart keeps replies and the secret that opens them', async (t) => {
  const one = await startUpstream();
  t.after(() => one.close());
  const config = { ...overUpstreams(one.url), storage: { data_dir: temporaryFolder(t) } };
  const ask = async () => {
    const served = await startGateway(t, config);
    const response = await served.fetch(chatPath, {
      json: { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] },
      headers: { 'idempotency-key': 'k' },
    });
    const answer = { text: await response.text(), replay: response.headers.get('x-culvert-idempotent-replay') };
    await served.close(1_000);
    return answer;
  };
  const first = await ask();
  const second = await ask();
  assert.equal(second.text, first.text);
  assert.match(second.replay ?? '', /^req_/);
});

test('kill -9 while a keyed request runs: its key is free after the restart, and what ran is charged once', async (t) => {
  const one = await startUpstream();
  t.after(() => one.close());
  const config = { ...overUpstreams(one.url), storage: { data_dir: temporaryFolder(t) } };
  one.script('/v1/chat/completions', ['hang']);
  const ask = (url: string) =>
    fetch(url + chatPath, {
      method: 'POST',
      body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }),
      headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json', 'idempotency-key': 'k' },
    });
  const killed = await startGatewayProcess(t, config);
  const cut = ask(killed.url).catch(() => null);
  const early = cut.then((answer) => assert.fail(`answered ${answer?.status} before the provider was asked`));
  await Promise.race([one.when(({ method }) => method === 'POST'), early]);
  killed.process.kill('SIGKILL');
  await cut;
  const { url } = await startGatewayProcess(t, config);
  const response = await ask(url);
  assert.deepEqual([response.status, response.headers.get('x-culvert-idempotent-replay')], [200, null]);
  await response.text();
  assert.equal((await ask(url)).headers.has('x-culvert-idempotent-replay'), true);
  const usage = await (await fetch(`${url}/v1/usage`, { headers: { authorization: `Bearer ${testKey}` } })).json();
  const [day] = (usage as { data: readonly { requests: number; units: number }[] }).data;
  assert.deepEqual([day?.requests, day?.units], [2, 2], stringify(usage));
});
