import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { listening, startForwardProxy } from '../forward-proxy.ts';
import { startGateway } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { cert, key } from '../vendor-certificate.ts';

/* OpenAI at its own address, to which a proxy of the test leads: what its models of speech cost is in events alone. */

/** Frames of MP3. */
const sound = Buffer.concat(
  Array.from({ length: 20 }, () => Buffer.concat([Buffer.from('fffb9064', 'hex'), Buffer.alloc(413)])),
);
const half = sound.length / 2;

async function world(t: TestContext, last: string) {
  const bodies: Record<string, unknown>[] = [];
  const vendor = createServer({ cert, key }, async (request, response) => {
    if (request.method !== 'POST') return response.writeHead(404).end('{}');
    const body = JSON.parse(await text(request)) as Record<string, unknown>;
    bodies.push(body);
    if (body.stream_format !== 'sse') return response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(sound);
    const events = [sound.subarray(0, half), sound.subarray(half)].map((piece) =>
      JSON.stringify({ type: 'speech.audio.delta', audio: piece.toString('base64') }),
    );
    const frames = [...events, last].filter((event) => event !== '').map((event) => `data: ${event}\n\n`);
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(frames.join(''));
  });
  const proxy = await startForwardProxy(t, await listening(t, vendor));
  const ca = join(temporaryFolder(t), 'vendors.pem');
  writeFileSync(ca, cert);
  const gateway = await startGateway(t, {
    providers: { openai: { type: 'openai', api_key: 'k', proxy: `http://${proxy.url}`, tls: { ca } } },
    models: { new: { targets: ['openai/gpt-4o-mini-tts'] }, old: { targets: ['openai/tts-1'] } },
  });
  const speak = (model: string, wish: object = {}) =>
    gateway.fetch('/v1/audio/speech', { json: { model, input: 'Hello there', voice: 'alloy', ...wish } });
  const seen = async (response: Response) => {
    const request = await gateway.fetch(`/v1/requests/${response.headers.get('x-culvert-request-id')}`);
    return (await request.json()) as { cost_usd: number; usage: { input_tokens: number; output_tokens: number } };
  };
  return { bodies, speak, seen };
}

const done = JSON.stringify({
  type: 'speech.audio.done',
  usage: { input_tokens: 14, output_tokens: 1_000, total_tokens: 1_014 },
});

test('sound of a model that reports tokens comes whole, and is charged by them', async (t) => {
  const { bodies, speak, seen } = await world(t, done);
  const response = await speak('new');
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'audio/mpeg');
  assert.deepEqual(Buffer.from(await response.arrayBuffer()), sound);
  const { cost_usd, usage } = await seen(response);
  assert.deepEqual([usage.input_tokens, usage.output_tokens], [14, 1_000]);
  assert.ok(Math.abs(cost_usd - (14 * 0.6 + 1_000 * 12) / 1e6) < 1e-9, String(cost_usd));

  const events = await (await speak('new', { stream_format: 'sse' })).text();
  assert.match(events, /"speech\.audio\.done","usage":\{"input_tokens":14,"output_tokens":1000,"total_tokens":1014\}/);

  assert.deepEqual(Buffer.from(await (await speak('old')).arrayBuffer()), sound);
  assert.deepEqual(
    bodies.map(({ stream_format }) => stream_format),
    ['sse', 'sse', undefined],
  );
});

test('sound whose last event is missing is no whole answer', async (t) => {
  const { speak } = await world(t, '');
  await assert.rejects(async () => (await speak('new')).arrayBuffer());
});
