import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import { after, test } from 'node:test';
import { listening } from '../listening.ts';
import { rawExchange } from '../raw-exchange.ts';
import { adminKey, otherKey, startGateway, testKey } from '../start-gateway.ts';

/* `/passthrough/{provider}/…`: requests that no format covers, unchanged. */

const secret = 'sk-upstream-canary-0123456789ab';
interface Asked {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  bytes: number;
  first: string;
}
const asked: Asked[] = [];
/** Answers of `/v1/held` that have begun, and are ended by the test. */
const held: ServerResponse[] = [];
const server = createServer(async (incoming, response) => {
  const { method = '', url = '', headers } = incoming;
  const one: Asked = { method, url, headers, bytes: 0, first: '' };
  // The list of its models is requested in between.
  if (url !== '/v1/models') asked.push(one);
  if (url === '/v1/held') {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    held.push(response);
    return;
  }
  if (url === '/v1/too-early') {
    response.writeHead(413).end('too large');
    return;
  }
  if (url === '/v1/reset') {
    incoming.socket.resetAndDestroy();
    return;
  }
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    one.bytes += chunk.length;
    if (one.first === '') one.first = chunk.subarray(0, 100).toString();
  }
  if (url === '/v1/echo-secret') {
    // In two pieces, and in a header.
    response.writeHead(401, { 'content-type': 'text/plain', etag: secret, 'x-account': 'operators-own' });
    response.write(`wrong key ${secret.slice(0, 12)}`);
    setTimeout(() => response.end(`${secret.slice(12)}!`), 20);
  } else if (url === '/v1/broken') response.destroy();
  else {
    response.writeHead(201, { 'content-type': 'application/x-own', 'set-cookie': 'a=b', 'x-account': 'operators-own' });
    response.end(Buffer.from([0, 255, 1, 254]));
  }
});
const url = await listening({ after }, server);
const base_url = `${url}/v1`;
const provider = { type: 'openai', base_url, api_key: secret };
const limitedKey = 'sk-cv-test-key-0003';
const namedKey = 'sk-cv-test-key-0004';
const gateway = await startGateway(
  { after: after as never },
  {
    providers: { up: { ...provider, passthrough: true }, shut: provider },
    models: { chat: { targets: ['up/m'] } },
    plans: { default: { windows: 'off', rpm: 'off' }, few: { windows: { '5h': 2 }, rpm: 'off' } },
    accounts: { other: { plan: 'few' } },
    keys: [
      { key: testKey, account: 'dev', name: 'test' },
      { key: otherKey, account: 'other', name: 'test' },
      { key: limitedKey, account: 'dev', name: 'limited', models: ['chat'] },
      { key: namedKey, account: 'dev', name: 'named', models: ['passthrough/up'] },
    ],
  },
);
const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
const errorOf = async (answer: Response) => ((await answer.json()) as { error: { message: string } }).error.message;

async function recordOf(answer: Response) {
  const id = answer.headers.get('x-culvert-request-id');
  const record = await gateway.fetch(`/admin/v1/requests/${id}`, as(adminKey));
  return (await record.json()) as { endpoint: string; model: string; status: number; class: string; units: number };
}

test('any method and path below the base URL is asked with the provider’s credential, and answered as it is', async () => {
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
    asked.length = 0;
    const body = method === 'GET' ? null : '{"a":1}';
    const answer = await gateway.fetch('/passthrough/up/batches/b%20c/?after=x&key=sk-cv-mine&n=%2F', { method, body });
    assert.equal(answer.status, 201, method);
    assert.deepEqual(new Uint8Array(await answer.arrayBuffer()), new Uint8Array([0, 255, 1, 254]));
    assert.equal(answer.headers.get('content-type'), 'application/x-own');
    assert.equal(answer.headers.get('x-culvert-provider'), 'up');
    const [one] = asked;
    assert.deepEqual([one!.method, one!.url], [method, '/v1/batches/b%20c/?after=x&n=%2F']);
    assert.equal(one!.headers.authorization, `Bearer ${secret}`);
    assert.equal(one!.first, body ?? '');
  }
});

test('of the caller’s headers those that say who calls stay here, and of the answer’s those of the account', async () => {
  asked.length = 0;
  const answer = await gateway.fetch('/passthrough/up/things', {
    headers: {
      ...{ 'x-api-key': testKey, 'x-goog-api-key': testKey, cookie: 'session=1', 'x-forwarded-for': '10.0.0.7' },
      ...{ 'openai-organization': 'org-else', 'x-culvert-tag': 'mine', 'x-own-token': 'mine' },
      ...{ 'openai-beta': 'assistants=v2', 'idempotency-key': 'once', accept: 'image/png', range: 'bytes=0-1' },
    },
  });
  await answer.arrayBuffer();
  const { headers } = asked[0]!;
  const sent = JSON.stringify(headers);
  for (const kept of [testKey, 'session=1', '10.0.0.7', 'org-else', 'mine']) assert.ok(!sent.includes(kept), sent);
  const { accept, range, 'openai-beta': beta, 'idempotency-key': once } = headers;
  assert.deepEqual([accept, range, beta, once], ['image/png', 'bytes=0-1', 'assistants=v2', 'once']);
  assert.deepEqual([answer.headers.get('set-cookie'), answer.headers.get('x-account')], [null, null]);
});

test('a provider’s secret that it repeats is not told, in a header or across two pieces of the body', async () => {
  const answer = await gateway.fetch('/passthrough/up/echo-secret');
  assert.deepEqual([answer.status, answer.headers.get('etag')], [401, null]);
  assert.equal(await answer.text(), 'wrong key [redacted]!');
  const record = await recordOf(answer);
  assert.deepEqual([record.status, record.class, record.units], [401, 'upstream-refused', 0]);
});

test('an answer streams: its beginning is there before its end', async () => {
  const answer = await gateway.fetch('/passthrough/up/held');
  const reader = answer.body!.getReader();
  assert.equal(Buffer.from((await reader.read()).value!).toString(), 'data: 1\n\n');
  held.pop()!.end('data: 2\n\n');
  assert.equal(Buffer.from((await reader.read()).value!).toString(), 'data: 2\n\n');
  assert.equal((await reader.read()).done, true);
  const { endpoint, model, status, units } = await recordOf(answer);
  assert.deepEqual([endpoint, model, status, units], ['passthrough', 'passthrough/up', 200, 1]);
});

test('who leaves is left: the provider’s connection closes', async () => {
  const leaving = new AbortController();
  const answer = await gateway.fetch('/passthrough/up/held', { signal: leaving.signal });
  const upstream = held.pop()!;
  const closed = once(upstream, 'close');
  leaving.abort();
  await closed;
  await assert.rejects(answer.text());
});

test('a long body goes on as it comes, and one without a length is sent with it', async () => {
  const body = Buffer.alloc(8 * 1024 * 1024, 'x');
  const long = await gateway.fetch('/passthrough/up/files', { method: 'POST', body });
  assert.equal(long.status, 201);
  assert.deepEqual([asked.at(-1)!.bytes, asked.at(-1)!.headers['content-length']], [body.length, String(body.length)]);
  const pieces = new ReadableStream({
    start(controller) {
      for (const piece of ['a', 'b']) controller.enqueue(Buffer.from(piece));
      controller.close();
    },
  });
  const init = { method: 'POST', body: pieces, duplex: 'half' } as RequestInit;
  assert.equal((await gateway.fetch('/passthrough/up/files', init)).status, 201);
  assert.deepEqual([asked.at(-1)!.first, asked.at(-1)!.headers['content-length']], ['ab', '2']);
});

test('a provider that answers before it has read a long body is heard, and the connection goes on', {
  timeout: 60_000,
}, async (t) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ask = async (path: string, body: Buffer | null) => {
    const headers = { authorization: `Bearer ${testKey}`, 'content-length': body?.length ?? 0 };
    const asking = request(`${gateway.url}/passthrough/up/${path}`, { method: 'POST', agent, headers });
    asking.end(body);
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of answer) text += String(chunk);
    return { status: answer.statusCode, text };
  };
  // On a connection that stands already: such a request is sent once more where its body can be.
  await ask('things', null);
  assert.equal((await ask('reset', Buffer.alloc(8 * 1024 * 1024, 'x'))).status, 502);
  const early = await ask('too-early', Buffer.alloc(8 * 1024 * 1024, 'x'));
  assert.deepEqual(early, { status: 413, text: 'too large' });
  assert.equal((await ask('things', null)).status, 201);
});

const ways = [
  '..',
  '%2e%2e',
  '.%2E',
  '%252e%252e',
  '..;a',
  '%2e%2e%2f',
  'a%2f..%2f..',
  'a%5c..',
  '%5c%2e%2e',
  'a%252f..%252f..%25ff',
  '.',
  '',
  '%00',
];
for (const way of ways) {
  test(`no path leads out of the base URL: ${JSON.stringify(way)}`, async () => {
    asked.length = 0;
    const path = `/passthrough/up/a/${way}/admin`;
    const answer = await rawExchange({ url: gateway.url, path, method: 'GET', headers: as(testKey).headers });
    assert.equal(answer.status, 400, answer.body.toString());
    assert.deepEqual(asked, []);
  });
}

test('a provider is closed unless it says otherwise, and so is it to a key whose models do not name it', async () => {
  for (const name of ['shut', 'nobody']) {
    const answer = await gateway.fetch(`/passthrough/${name}/models`);
    assert.equal(answer.status, 404);
    assert.match(await errorOf(answer), /passthrough: true/);
  }
  const limited = await gateway.fetch('/passthrough/up/things', as(limitedKey));
  assert.equal(limited.status, 403);
  assert.match(await errorOf(limited), /do not name 'passthrough\/up'/);
  assert.equal((await gateway.fetch('/passthrough/up/things', as(namedKey))).status, 201);
  assert.equal((await fetch(`${gateway.url}/passthrough/up/things`)).status, 401);
});

test('it counts against the plan, and costs nothing where the provider gave no answer', async () => {
  const ask = (path: string) => gateway.fetch(`/passthrough/up/${path}`, as(otherKey));
  const broken = await ask('broken');
  assert.equal(broken.status, 502);
  assert.equal((await recordOf(broken)).units, 0);
  assert.deepEqual([(await ask('a')).status, (await ask('b')).status], [201, 201]);
  const refused = await ask('c');
  assert.equal(refused.status, 429);
});
