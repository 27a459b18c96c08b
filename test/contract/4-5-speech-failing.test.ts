import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { type TestGateway, testKey } from '../start-gateway.ts';
import type { ErrorBody } from './served.ts';
import { answerJson, bytesOf, speechPath, speechWorld } from './speech-world.ts';

test('§4.5 F: before its first sound an upstream that fails is replaced by the next, unseen', async (t) => {
  const { say, first, second } = await speechWorld(t);
  first.next(answerJson(503, { error: { message: 'busy' } }));
  const response = await say();
  assert.deepEqual(Buffer.from(await response.arrayBuffer()), bytesOf.mp3);
  assert.equal(response.headers.get('x-culvert-attempts'), '2');
  assert.equal(second.calls[0]!.body.model, 'voice-2');
});

const noSound = {
  'an empty answer': [200, 'audio/mpeg', ''],
  'less than a header': [200, 'audio/mpeg', '\xff\xfb\x90'],
  'an error inside a 200': [
    200,
    'application/json',
    '{"error":{"message":"voice server is gone","type":"server_error"}}',
  ],
  'JSON that calls itself sound': [
    200,
    'audio/mpeg',
    JSON.stringify({ detail: 'no such model loaded here, sorry for that' }),
  ],
  'a page': [200, 'text/html', '<html><body>It works!</body></html>'.repeat(10)],
  'other bytes than the format has': [200, 'audio/mpeg', '\x00\x01\x02\x03'.repeat(100)],
} as const;

for (const [what, [status, contentType, body]] of Object.entries(noSound)) {
  test(`§4.5 F: ${what} is no sound: the next target speaks`, async (t) => {
    const { say, first, record } = await speechWorld(t);
    first.next((_, response) => response.writeHead(status, { 'content-type': contentType }).end(body, 'latin1'));
    const response = await say();
    assert.equal(response.status, 200);
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), bytesOf.mp3);
    const { attempts } = (await record(response)).route;
    assert.deepEqual([attempts[0]!.target, attempts[1]!.class], ['one/voice-1', 'ok']);
    assert.notEqual(attempts[0]!.class, 'ok');
  });
}

test('§4.5 F: when nobody speaks it is a 502 that costs nothing', async (t) => {
  const { say, first, second, record } = await speechWorld(t);
  first.next(answerJson(500, {}), answerJson(500, {}), answerJson(500, {}));
  second.next(answerJson(500, {}), answerJson(500, {}), answerJson(500, {}));
  const response = await say();
  assert.equal(response.status, 502);
  assert.equal(response.headers.get('x-culvert-cost'), '0');
  const { units, usage } = await record(response);
  assert.deepEqual([units, usage.characters], [0, undefined]);
});

test('§4.5: what an upstream finds wrong with the request is told in its words', async (t) => {
  const { say, first, second } = await speechWorld(t);
  first.next(answerJson(400, { error: { message: 'voice is not available in your region', param: 'voice' } }));
  second.next(answerJson(400, { error: { message: 'voice is not available in your region', param: 'voice' } }));
  const response = await say();
  const { error } = (await response.json()) as ErrorBody;
  assert.deepEqual([response.status, error.param], [400, 'voice']);
  assert.match(error.message, /not available in your region/);
});

/** A caller who sees what fetch hides: how the connection ended. */
function rawSay(gateway: TestGateway, json: Record<string, unknown>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
    const sent = httpRequest(gateway.url + speechPath, { method: 'POST', headers }, resolve);
    sent.on('error', reject);
    sent.end(JSON.stringify({ model: 's', voice: 'alloy', input: 'Hello.', ...json }));
  });
}

test('§4.5 issue: once sound has gone out, an upstream that breaks off breaks the caller’s connection, never a clean short file', async (t) => {
  const { gateway, first, second, record } = await speechWorld(t);
  let cut: () => void = () => {};
  first.next((_, response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' }).write(bytesOf.mp3);
    cut = () => response.destroy();
  });
  const response = await rawSay(gateway, {});
  assert.equal(response.statusCode, 200);
  const ended = once(response, 'error') as Promise<[NodeJS.ErrnoException]>;
  await once(response, 'readable');
  assert.ok(response.read());
  cut();
  const [error] = await ended;
  assert.equal(error.code, 'ECONNRESET');
  assert.equal(response.complete, false);
  assert.equal(second.calls.length, 0);
  const id = response.headers['x-culvert-request-id'] as string;
  const kept = await record(new Response(null, { headers: { 'x-culvert-request-id': id } }));
  assert.deepEqual([kept.status, kept.class, kept.units, kept.aborted], [200, 'upstreams-failed', 1, false]);
});

test('§4.5: a cut while events are told ends them by an error, without the last event', async (t) => {
  const { say, first } = await speechWorld(t);
  first.next((_, response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' });
    response.write(bytesOf.mp3, () => response.destroy());
  });
  const text = await (await say({ stream_format: 'sse' })).text();
  assert.match(text, /"error"/);
  assert.doesNotMatch(text, /speech\.audio\.done/);
});

test('§4.5: a caller who leaves after the first sound is charged, and the upstream is left at once', async (t) => {
  const { say, first, record } = await speechWorld(t);
  first.next((_, response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' }).write(bytesOf.mp3);
  });
  const leaving = new AbortController();
  const response = await say({}, { signal: leaving.signal });
  await response.body!.getReader().read();
  leaving.abort();
  await (await first.called()).closed;
  const kept = await record(response);
  assert.deepEqual([kept.aborted, kept.units, kept.class], [true, 1, 'aborted']);
});

test('§4.5: a caller who leaves before any sound pays no unit, and the upstream is left', async (t) => {
  const { say, first, record } = await speechWorld(t);
  first.next(() => {});
  const leaving = new AbortController();
  const asked = say({}, { signal: leaving.signal, headers: { 'x-request-id': 'left-early' } });
  const call = await first.called();
  leaving.abort();
  await assert.rejects(asked);
  await call.closed;
  const kept = await record(new Response(null, { headers: { 'x-culvert-request-id': 'left-early' } }));
  assert.deepEqual([kept.aborted, kept.units, kept.status], [true, 0, 499]);
});

test('§4.5: a reader who is slow holds the upstream back, and gets every byte', async (t) => {
  const { gateway, first } = await speechWorld(t);
  const long = Buffer.concat([bytesOf.mp3!, Buffer.alloc(24 * 1024 * 1024, 3)]);
  let written = 0;
  first.next(async (_, response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' });
    for (let at = 0; at < long.length; at += 65_536) {
      if (!response.write(long.subarray(at, at + 65_536))) await once(response, 'drain');
      written += 65_536;
    }
    response.end();
  });
  const response = await rawSay(gateway, {});
  await once(response, 'readable');
  // Nothing is read for as long as anything moves.
  for (let before = -1; before !== written; ) {
    before = written;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  assert.ok(written < long.length, 'the upstream was not held back');
  let read = 0;
  for await (const chunk of response) read += (chunk as Buffer).length;
  assert.equal(read, long.length);
});
