import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { otherKey, startGateway, testKey } from '../start-gateway.ts';
import { ask } from './formats.ts';

/*
 * An upstream of the caller's own format: the first caller gets the upstream's own bytes, and an equal request gets the
 * same with a new id and time. This upstream says what no format knows, and repeats the metadata of a request.
 */

const source = 'https://a.example/';
let asked = 0;
const upstream = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(pieces).toString() || '{}');
    if (request.method !== 'POST') return void response.writeHead(404).end();
    asked += 1;
    const { metadata, stream, messages } = body;
    const text: string = messages.at(-1).content;
    const head = { id: 'gen-abcdefgh', created: 1_700_000_000, model: 'm', citations: [source], provider: 'Acme' };
    const own = { ...head, flavour: { 'own "id"': [1] }, metadata };
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, joules: 7 };
    const said = 'says "id":"gen-abcdefgh", "created":1700000000';
    if (stream !== true) {
      const message = { role: 'assistant', content: said, ...(text === 'refuse' && { content: null, refusal: 'no' }) };
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      response.setHeader('content-type', 'application/json');
      return void response.end(JSON.stringify({ ...own, choices, usage }, null, 2));
    }
    response.setHeader('content-type', 'text/event-stream');
    const frame = (delta: object, finish_reason: string | null, more = {}) =>
      `data: ${JSON.stringify({ ...own, choices: [{ index: 0, delta, finish_reason, seal: 'x' }], ...more })}\n\n`;
    response.write(frame({ role: 'assistant', content: '' }, null));
    response.write(text === 'refuse' ? frame({ refusal: 'no' }, null) : frame({ content: said }, null));
    if (text === 'cut') return void response.end();
    response.write(frame({}, 'stop'));
    response.end(`data: ${JSON.stringify({ ...own, choices: [], usage })}\n\ndata: [DONE]\n\n`);
  });
});
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
after(() => {
  upstream.close();
  upstream.closeAllConnections();
});
const gateway = await startGateway({ after } as TestContext, {
  providers: {
    up: { type: 'openai', base_url: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`, api_key: 'k' },
  },
  models: { chat: { targets: [{ provider: 'up', model: 'm' }], attempts: 1, cache: { ttl: '1h', scope: 'all' } } },
  keys: [
    { key: testKey, account: 'dev', name: 'test' },
    { key: otherKey, account: 'other', name: 'test' },
  ],
});
const withoutOwn = (body: string) =>
  body
    .replaceAll(/(?<!\\)"id":\s*"[^"]*"/g, '"id":0')
    .replaceAll(/(?<!\\)"created":\s*\d+/g, '"created":0')
    .replaceAll(/"cost_usd":[^,}]*,?/g, '');

for (const stream of [false, true]) {
  const how = stream ? 'streamed' : 'whole';
  test(`${how}: a miss passes as it came, and a hit is the same with a new id and time`, async () => {
    const text = `own ${how}`;
    const first = await ask(gateway, 'chat', { text, stream });
    assert.equal(first.cache, 'miss');
    assert.ok(first.body.includes('gen-abcdefgh') && first.body.includes('"flavour"'), first.body);
    const hit = await ask(gateway, 'chat', { text, stream });
    assert.equal(hit.cache, 'hit', hit.body);
    assert.equal(withoutOwn(hit.body), withoutOwn(first.body));
    assert.ok(!/(?<!\\)"id":\s*"gen-/.test(hit.body) && !/(?<!\\)"created":\s*1700000000/.test(hit.body), hit.body);
    assert.ok(hit.text.includes('"id":"gen-abcdefgh", "created":1700000000'), 'what the model says stays');
    const [hidden, shown] = [hit, await ask(gateway, 'chat', { text, stream, more: usageOf(stream) })];
    assert.deepEqual([hidden.body.includes('joules'), shown.body.includes('joules')], [!stream, true], shown.body);
    assert.equal(shown.cache, 'hit');
  });

  test(`${how}: a hit of the other form has a new id and time, too`, async () => {
    const text = `other form than ${how}`;
    await ask(gateway, 'chat', { text, stream });
    const hit = await ask(gateway, 'chat', { text, stream: !stream, more: usageOf(!stream) });
    assert.equal(hit.cache, 'hit', hit.body);
    for (const member of [`"citations":["${source}"]`, '"provider":"Acme"', '"joules":7'])
      assert.ok(hit.body.includes(member), hit.body);
    assert.ok(!/(?<!\\)"id":\s*"gen-/.test(hit.body) && !/(?<!\\)"created":\s*1700000000/.test(hit.body), hit.body);
  });

  test(`${how}: what a request says of its caller is in no answer to another one`, async () => {
    const text = `labelled ${how}`;
    const first = await ask(gateway, 'chat', { text, stream, more: { metadata: { who: 'secret-name' } } });
    assert.ok(first.body.includes('secret-name'), 'the upstream repeats it');
    const other = await ask(gateway, 'chat', { text, stream, key: otherKey });
    assert.equal(other.cache, 'hit');
    assert.ok(!other.body.includes('secret-name'), other.body);
    assert.equal(other.text, first.text);
  });

  test(`${how}: a refusal passes, and is not kept`, async () => {
    for (const expected of ['miss', 'miss']) {
      assert.equal((await ask(gateway, 'chat', { text: 'refuse', stream })).cache, expected);
    }
  });
}

test('a stream without its end is not kept', async () => {
  const before = asked;
  for (const _ of [1, 2]) await ask(gateway, 'chat', { text: 'cut', stream: true });
  assert.equal(asked - before, 2);
});

function usageOf(stream: boolean): Record<string, unknown> {
  return stream ? { stream_options: { include_usage: true } } : {};
}
