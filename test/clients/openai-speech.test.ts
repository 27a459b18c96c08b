import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { generateSpeech } from 'ai';
import OpenAI from 'openai';
import { answerJson, bytesOf, speechWorld, tone } from '../contract/speech-world.ts';
import { testKey } from '../start-gateway.ts';

async function world(t: Parameters<typeof speechWorld>[0]) {
  const speaking = await speechWorld(t);
  const baseURL = `${speaking.gateway.url}/v1`;
  return { ...speaking, baseURL, client: new OpenAI({ baseURL, apiKey: testKey, maxRetries: 0 }) };
}

const hello = { model: 's', voice: 'alloy', input: 'Hello there.' } as const;

test('openai: audio.speech.create gives the sound', async (t) => {
  const { client } = await world(t);
  const response = await client.audio.speech.create(hello);
  assert.equal(response.headers.get('content-type'), 'audio/mpeg');
  assert.deepEqual(Buffer.from(await response.arrayBuffer()), bytesOf.mp3);
  const flac = await client.audio.speech.create({ ...hello, response_format: 'flac', speed: 1.25 });
  assert.deepEqual(Buffer.from(await flac.arrayBuffer()), bytesOf.flac);
});

test('openai: with stream_format sse the events carry all of the sound', async (t) => {
  const { client } = await world(t);
  const response = await client.audio.speech.create({ ...hello, response_format: 'pcm', stream_format: 'sse' });
  const frames = (await response.text()).split('\n\n').filter((frame) => frame.startsWith('data: '));
  const events = frames.map((frame) => JSON.parse(frame.slice(6)) as { type: string; audio?: string });
  assert.deepEqual(Buffer.concat(events.map(({ audio }) => Buffer.from(audio ?? '', 'base64'))), tone);
  assert.equal(events.at(-1)!.type, 'speech.audio.done');
});

test('openai: an unknown voice is a BadRequestError that names the field', async (t) => {
  const { client } = await world(t);
  await assert.rejects(client.audio.speech.create({ ...hello, voice: '' }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.deepEqual([error.status, error.param, error.type], [400, 'voice', 'invalid_request_error']);
    return true;
  });
});

test('openai: failover happens behind the same call, and a cut answer is an error, never short sound', async (t) => {
  const { client, first } = await world(t);
  first.next(answerJson(500, { error: { message: 'broken' } }));
  assert.deepEqual(Buffer.from(await (await client.audio.speech.create(hello)).arrayBuffer()), bytesOf.mp3);

  const other = await world(t);
  other.first.next((_, response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' });
    response.write(bytesOf.mp3, () => response.destroy());
  });
  await assert.rejects(async () => (await other.client.audio.speech.create(hello)).arrayBuffer());
});

test('ai-sdk: generateSpeech gives the sound and its type', async (t) => {
  const { baseURL } = await world(t);
  const openai = createOpenAI({ baseURL, apiKey: testKey });
  const { audio } = await generateSpeech({ model: openai.speech('s'), text: hello.input, voice: 'nova' });
  assert.deepEqual(Buffer.from(audio.uint8Array), bytesOf.mp3);
  assert.equal(audio.mediaType, 'audio/mpeg');
});

test("Mistral's clients name a voice in voice_id or none, and read the sound in JSON", async (t) => {
  const { gateway } = await world(t);
  const asks = [
    ['mistral-client-python/3.7.0', { voice_id: 'alloy', stream: false }],
    ['mistral-client-typescript/2.7.0', { voice_id: 'alloy', response_format: 'mp3', stream: false }],
    ['ai/7.0.173 ai-sdk-provider-utils/5.0.81 node.js/26', { response_format: 'mp3', stream: false }],
  ] as const;
  for (const [agent, members] of asks) {
    const json = { model: 's', input: 'Hello there.', ...members };
    const response = await gateway.fetch('/v1/audio/speech', { json, headers: { 'user-agent': agent } });
    assert.equal(response.headers.get('content-type'), 'application/json');
    const { audio_data: sound } = (await response.json()) as { audio_data: string };
    assert.deepEqual(Buffer.from(sound, 'base64'), bytesOf.mp3);
  }
  const headers = { 'user-agent': asks[2][0] };
  const plain = await gateway.fetch('/v1/audio/speech', { json: hello, headers });
  assert.equal(plain.headers.get('content-type'), 'audio/mpeg');
  assert.deepEqual(Buffer.from(await plain.arrayBuffer()), bytesOf.mp3);
  const wrong = { model: 's', input: 'x', voice_id: 5, stream: false };
  const refused = await gateway.fetch('/v1/audio/speech', { json: wrong, headers });
  assert.equal(refused.status, 400);
  assert.equal(((await refused.json()) as { error: { param: string } }).error.param, 'voice_id');
});
