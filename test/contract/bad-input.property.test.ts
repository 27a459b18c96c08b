import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { type ConversationBody, readConversation } from '../../src/inference/families/chat/conversation-body.ts';
import { isFailure, statusOf } from '../../src/kernel/failure.ts';
import { casesOf } from '../cases.ts';
import { answerTo } from '../send-bytes.ts';
import { testKey } from '../start-gateway.ts';
import { asBytes, brokenText, noise, oddMessages, oddParameters, wrongParameters } from './generated-input.ts';
import { chatPath, serve } from './served.ts';

const encodeOrders = [
  { provider: 'openai', dialect: 'openai-chat' },
  { provider: 'mistral', dialect: 'openai-chat' },
  { provider: 'anthropic', dialect: 'anthropic-messages' },
  { provider: 'gemini', dialect: 'gemini' },
] as const;

const asWhole = { model: 'some-model', maxOutputTokens: 4_096, stream: true, body: {}, child: null };

/** The gateway's work on a body before anything is sent; throws when a caller would get a 500. */
function passThrough(raw: Buffer): 'refused' | 'taken' {
  const read = readConversation(raw, 'openai-chat');
  if (isFailure(read)) {
    assert.equal(statusOf(read), 400);
    return 'refused';
  }
  encodeEverywhere(read);
  return 'taken';
}

function encodeEverywhere(body: ConversationBody): void {
  for (const order of encodeOrders) {
    for (const child of [null, { seed: 3 }]) {
      const whole = { ...order, model: 'some-model', maxOutputTokens: 4_096, stream: true, body: {}, child };
      let encoded = body.encode(whole);
      assert.ok(!(encoded instanceof Promise));
      if (!isFailure(encoded) && 'neededMedia' in encoded) {
        const media = encoded.neededMedia.map(({ url }) => [url, { mediaType: 'image/png', base64: 'AAAA' }]);
        encoded = body.encode({ ...whole, media: Object.fromEntries(media) });
      }
      assert.ok(!(encoded instanceof Promise));
      if (isFailure(encoded)) assert.equal(statusOf(encoded), 400);
      else if ('neededMedia' in encoded) assert.fail('media were given and are wanted still');
      else JSON.parse(encoded.bytes.toString());
    }
  }
}

const kinds: [what: string, runs: number, bodies: fc.Arbitrary<Buffer>][] = [
  ['odd parameters', 22_000, oddParameters.map(asBytes)],
  ['odd messages', 14_000, oddMessages.map(asBytes)],
  ['broken text', 10_000, brokenText],
  ['noise', 4_000, noise],
];
for (const [what, runs, bodies] of kinds) {
  test(`${runs} generated bodies, ${what}: refused with 400 or sent on as JSON, never a throw`, () => {
    fc.assert(
      fc.property(bodies, (raw) => void passThrough(raw)),
      { numRuns: runs },
    );
  });
}

test('wrong values of every parameter among arbitrary others: refused, naming the field', () => {
  fc.assert(
    fc.property(wrongParameters, ({ wrong, body }) => {
      const read = readConversation(asBytes(body), 'openai-chat');
      // A value that another provider of the format may accept is refused when it must be converted.
      const made = isFailure(read) ? read : read.encode({ ...asWhole, ...encodeOrders[2] });
      assert.ok(!(made instanceof Promise) && isFailure(made) && made.kind === 'invalid-request');
      assert.equal(made.param, wrong.names ?? wrong.name);
    }),
    { numRuns: 8_000, endOnFailure: true },
  );
});

const { gateway } = await serve();
const agent = new Agent({ keepAlive: true, maxSockets: 16 });
after(() => agent.destroy());

/** Over a kept-alive connection: what one body leaves behind would meet the next. */
function post(body: Buffer, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(
      gateway.url + chatPath,
      {
        method: 'POST',
        agent,
        timeout: 5_000,
        headers: {
          authorization: `Bearer ${testKey}`,
          'content-type': 'application/json',
          'content-length': String(body.length),
          ...headers,
        },
      },
      (response) => {
        response.on('end', () => resolve(response.statusCode ?? 0)).resume();
      },
    );
    sent.on('timeout', () => sent.destroy(new Error('no answer within 5 s')));
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Many at a time: alone each would wait for the loop's turn. */
async function inBatches<T>(cases: readonly T[], size: number, run: (one: T) => Promise<void>): Promise<void> {
  for (let i = 0; i < cases.length; i += size) await Promise.all(cases.slice(i, i + size).map(run));
}

const seed = Number(process.env.FC_SEED ?? Date.now());

const generated = casesOf(3_000);

test(`${generated} generated bodies over HTTP: no 5xx, no hang, and the gateway is well afterwards (FC_SEED=${seed})`, async () => {
  const bodies = fc.oneof(oddParameters.map(asBytes), oddMessages.map(asBytes), brokenText, noise);
  await inBatches(fc.sample(bodies, { seed, numRuns: generated }), 16, async (body) => {
    const status = await post(body);
    assert.ok(status === 200 || (status >= 400 && status < 500), `${status}: ${body.toString()}`);
  });
  assert.equal(await post(asBytes({ model: 'chat', messages: [{ role: 'user', content: 'x' }] })), 200);
});

test('tool_calls that are none, at messages of roles that make none, are no 5xx', async () => {
  for (const calls of ['auto', [null], 7, {}]) {
    const odd = { role: 'function', name: 'f', content: 'x', tool_calls: calls };
    const status = await post(asBytes({ model: 'chat', messages: [{ role: 'user', content: 'hi' }, odd] }));
    assert.ok(status < 500, `${JSON.stringify(calls)}: ${status}`);
  }
});

const token = fc.string({ unit: fc.constantFrom(...'abcXYZ019-_:;,=/?#%@"\'\\ \t\0\r\n\x7f\xe4'), maxLength: 40 });
const requestBytes = fc
  .record({
    method: fc.oneof(fc.constantFrom('GET', 'POST', 'HEAD', 'DELETE', 'OPTIONS', 'PRI', 'get', 'TRACE'), token),
    target: fc.oneof(
      fc.constantFrom('/', '/v1/models', chatPath, '/v1/models/x', '/v1/requests/x'),
      token.map((t) => `/${t}`),
      token,
    ),
    version: fc.oneof(
      { weight: 5, arbitrary: fc.constant('HTTP/1.1') },
      fc.constantFrom('HTTP/1.0', 'HTTP/2.0', 'HTTP/9', ''),
    ),
    headers: fc.array(
      fc.tuple(
        fc.oneof(
          fc.constantFrom(
            'content-length',
            'transfer-encoding',
            'expect',
            'connection',
            'upgrade',
            'content-type',
            'x-request-id',
            'x-culvert-timeout-ms',
            'authorization',
            'anthropic-version',
            'origin',
            'host',
          ),
          token,
        ),
        fc.oneof(
          fc.constantFrom(
            'chunked',
            '5',
            '-1',
            'close',
            'keep-alive',
            '100-continue',
            'h2c',
            'application/json',
            `Bearer ${testKey}`,
          ),
          token,
        ),
      ),
      { maxLength: 5 },
    ),
    body: fc.oneof(fc.constant(''), fc.constant('5\r\nhello\r\n0\r\n\r\n'), token),
  })
  .map(({ method, target, version, headers, body }) => {
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    return `${method} ${target} ${version}\r\nhost: x\r\nauthorization: Bearer ${testKey}\r\n${lines}\r\n${body}`;
  });

test(`1000 generated requests on raw sockets: no 5xx, no crash (FC_SEED=${seed})`, async () => {
  await inBatches(fc.sample(requestBytes, { seed, numRuns: casesOf(1_000) }), 50, async (bytes) => {
    const { statuses } = await answerTo(gateway.url, bytes, { patienceMs: 60, firstByteMs: 300 });
    assert.ok(
      statuses.every((status) => status < 500),
      `${statuses}: ${JSON.stringify(bytes)}`,
    );
  });
  assert.equal((await gateway.fetch('/v1/models')).status, 200);
});
