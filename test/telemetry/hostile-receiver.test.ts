import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { openTelemetry } from '../../src/observe/otlp/telemetry.ts';
import { listening } from '../listening.ts';
import { until } from '../until.ts';

// The exporter reads it where it is made.
process.env.OTEL_EXPORTER_OTLP_TIMEOUT = '300';

type Answer = (response: ServerResponse) => void;
const well: Answer = (response) => void response.end();

/** Spans over a receiver that answers so until it is well. `one` ends a trace of a request. */
async function telemetryOver(t: TestContext, first: Answer) {
  let answer = first;
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    request.resume().on('end', () => answer(response));
  });
  const endpoint = await listening(t, server);
  const said: string[] = [];
  const telemetry = await openTelemetry({
    endpoint,
    // As short as a secret may be.
    headers: { authorization: 'Bearer secret-8' },
    traces: true,
    metrics: false,
    receives: true,
    loggers: [],
    sample: 1,
    version: '1',
    database: 'sqlite',
    onTrouble: (message) => said.push(message),
    onBack: (message) => said.push(message),
  });
  t.after(() => telemetry.close(100));
  let nth = 0;
  const one = () => {
    const trace = telemetry.traces.begin({ atMs: Date.now(), startedMs: nth, headers: {} })!;
    const about = { clientRequestId: null, account: 'dev', keyId: 'key', about: null };
    trace.end({ requestId: `req_${nth++}`, method: 'POST', route: '/v1/chat/completions', status: 200, ...about }, nth);
  };
  return { one, said, asked: () => asked, heal: () => (answer = well) };
}

const hostile: Record<string, Answer> = {
  'drips its answer for ever'(response) {
    response.writeHead(200);
    const drip = setInterval(() => response.write(' '), 50);
    response.on('close', () => clearInterval(drip));
  },
  'answers without end'(response) {
    response.writeHead(200);
    const piece = Buffer.alloc(256 * 1024);
    const more = () => {
      while (!response.destroyed && response.write(piece));
    };
    response.on('drain', more);
    more();
  },
  'wants patience for a day': (response) => void response.writeHead(429, { 'retry-after': '86400' }).end(),
  'repeats a header in its status line': (response) =>
    void response.writeHead(400, 'secret-8 is wrong in Bearer secret-8').end(),
  fails: (response) => void response.writeHead(500).end('Bearer secret-8 is wrong'),
  'sends elsewhere': (response) => void response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
  hangs: () => undefined,
};

for (const [what, answer] of Object.entries(hostile)) {
  test(`a receiver that ${what} is given up, is named once, and gets spans again when it is well`, async (t) => {
    const { one, said, heal } = await telemetryOver(t, answer);
    one();
    await until('the loss is said', () => said.length === 1);
    assert.match(said[0]!, /^traces cannot be sent to http:\/\/127\.0\.0\.1:\d+\/v1\/traces: /);
    assert.doesNotMatch(said[0]!, /secret-8/);
    heal();
    await until('spans are sent again', () => {
      one();
      return said.length >= 2;
    });
    assert.match(said[1]!, /are sent to .* again; \d+ spans were lost/);
    assert.equal(said.length, 2);
  });
}

test('spans that no receiver takes are lost above their room, and nobody waits', async (t) => {
  const { one, said } = await telemetryOver(t, hostile.hangs!);
  const before = process.memoryUsage().arrayBuffers;
  for (let at = 0; at < 200_000; at++) one();
  const more = process.memoryUsage().arrayBuffers - before;
  assert.ok(more < 32 * 1024 * 1024, `${more} bytes wait`);
  await until('the loss is said', () => said.length === 1);
});

test('spans that a receiver rejects with a 200 are named with its words, once a minute', async (t) => {
  // ExportTraceServiceResponse { partial_success { rejected_spans: 3, error_message } }
  const message = Buffer.from('the attribute is too long for secret-8');
  const partial = Buffer.concat([Buffer.from([0x08, 3, 0x12, message.length]), message]);
  const rejection = Buffer.concat([Buffer.from([0x0a, partial.length]), partial]);
  const { one, said, asked, heal } = await telemetryOver(t, (response) => void response.end(rejection));
  one();
  await until('the rejection is said', () => said.length === 1);
  assert.match(
    said[0]!,
    /^traces were sent to http:\S+\/v1\/traces, which rejected 3 spans: the attribute is too long/,
  );
  assert.doesNotMatch(said[0]!, /secret-8/);
  one();
  await until('another batch is rejected', () => asked() === 2);
  heal();
  one();
  await until('a batch is taken', () => asked() === 3);
  assert.equal(said.length, 1);
});

for (const [what, body] of [
  ['nothing', ''],
  ['JSON', '{}'],
  ['a partial success of nothing', Buffer.from([0x0a, 0])],
  ['half a message', Buffer.from([0x0a, 9, 0x08])],
] as const) {
  test(`a 200 with ${what} is a success without a word`, async (t) => {
    const { one, said, asked } = await telemetryOver(t, (response) => void response.end(body));
    one();
    await until('a batch is taken', () => asked() === 1);
    one();
    await until('the next one is taken', () => asked() === 2);
    assert.deepEqual(said, []);
  });
}
