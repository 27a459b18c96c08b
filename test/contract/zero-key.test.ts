import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { inflateSync } from 'node:zlib';
import OpenAI, { toFile } from 'openai';
import { isObject, type JsonObject } from '../../src/kernel/json.ts';
import { soundPieces } from '../../src/simulator/media/sound.ts';
import { missingTool, probeBytes } from '../sound.ts';
import { startGateway } from '../start-gateway.ts';

// No key, no file, and nothing in PATH: no ffmpeg, no espeak-ng.
const gateway = await startGateway({ after: after as TestContext['after'] });
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });

const hello = [{ role: 'user', content: 'Hello' }];
const conversation = { model: 'sim/chat', messages: hello };
const jsonEndpoints: readonly { path: string; body: JsonObject; says: RegExp }[] = [
  { path: '/v1/chat/completions', body: conversation, says: /"content":"\[simulated\] / },
  { path: '/v1/messages', body: { ...conversation, max_tokens: 100 }, says: /"text":"\[simulated\] / },
  { path: '/v1/responses', body: { model: 'sim/chat', input: 'Hello' }, says: /"text":"\[simulated\] / },
  {
    path: '/v1beta/models/sim/chat:generateContent',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
    says: /"text":"\[simulated\] /,
  },
  { path: '/v1/embeddings', body: { model: 'alpha-embedding-small', input: 'Hello' }, says: /"embedding":\[/ },
  {
    path: '/v1/images/generations',
    body: { model: 'sim/image', prompt: 'a culvert' },
    says: /"url":"http:.*\/v1\/files-signed\//,
  },
];
for (const { path, body, says } of jsonEndpoints) {
  test(`design §13: without any key ${path} answers, says that it is simulated, and costs nothing`, async () => {
    const response = await gateway.fetch(path, { json: body });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    assert.match(text, says);
    assert.equal(response.headers.get('x-culvert-simulated'), 'true');
    assert.match(response.headers.get('x-culvert-model') ?? '', /^sim\//);
    assert.equal(response.headers.get('x-culvert-cost'), '0');
  });
}

const input = 'A culvert carries a stream beneath a railway line.';
const codecs = { mp3: 'mp3', wav: 'pcm_s16le', opus: 'opus', flac: 'flac', aac: 'aac' } as const;
for (const [format, codec] of Object.entries(codecs)) {
  test(`design §13: without any key speech comes as ${format}`, { skip: missingTool('ffprobe') }, async () => {
    const response = await client.audio.speech.create({
      model: 'tts-1',
      voice: 'alloy',
      input,
      response_format: format as keyof typeof codecs,
    });
    assert.equal(response.headers.get('x-culvert-simulated'), 'true');
    assert.equal(response.headers.get('x-culvert-cost'), '0');
    const probed = probeBytes(Buffer.from(await response.arrayBuffer()));
    assert.equal(probed.codec, codec);
    assert.ok(Math.abs(probed.durationMs - 3_300) < 66, `${probed.durationMs} ms`);
  });
}

test('design §13: without any key speech comes in every voice, as bare samples and as events', async () => {
  const { data } = (await (await gateway.fetch('/v1/audio/voices')).json()) as { data: { id: string }[] };
  const names = data.map(({ id }) => id);
  assert.ok(names.includes('alloy') && names.includes('shimmer') && names.includes('af_heart'));
  for (const voice of ['nova', 'af_heart', 'bm_george']) {
    const speech = await client.audio.speech.create({ model: 'tts-1', voice, input, response_format: 'pcm' });
    assert.equal((await speech.arrayBuffer()).byteLength, 3.3 * 24_000 * 2, voice);
  }
  const json = { model: 'tts-1', voice: 'alloy', input, stream_format: 'sse' };
  const events = await (await gateway.fetch('/v1/audio/speech', { json })).text();
  assert.match(events, /"speech\.audio\.delta"/);
  assert.match(events, /"speech\.audio\.done"/);
});

const sound = async () => toFile(Buffer.concat([...soundPieces('mp3', 2_000, 200)]), 'hello.mp3');
for (const model of ['stt-large-v3-turbo', 'stt-large-v3', 'stt-1']) {
  test(`design §13: without any key ${model} writes down a file, with times`, async () => {
    const { text } = await client.audio.transcriptions.create({ file: await sound(), model });
    assert.match(text, /^\[simulated\] /);
    const verbose = await client.audio.transcriptions.create({
      file: await sound(),
      model,
      response_format: 'verbose_json',
      timestamp_granularities: ['segment', 'word'],
    });
    assert.ok(verbose.segments!.length > 1 && verbose.words!.length > 5);
    assert.equal(verbose.segments!.at(-1)!.end, verbose.duration);
  });
}

test('design §13: without any key subtitles, streams and translations are had', async () => {
  const of = async (response_format: 'srt' | 'vtt' | 'text') =>
    (await client.audio.transcriptions.create({ file: await sound(), model: 'stt-1', response_format })) as unknown;
  assert.match(String(await of('srt')), /^1\n00:00:00,000 --> 00:00:\d\d,\d{3}\n\[simulated\]/);
  assert.match(String(await of('vtt')), /^WEBVTT\n\n00:00:00\.000 --> /);
  assert.match(String(await of('text')), /^\[simulated\] /);
  const { text } = await client.audio.translations.create({ file: await sound(), model: 'stt-1' });
  assert.match(text, /^\[simulated\] /);
  let streamed = '';
  const stream = await client.audio.transcriptions.create({ file: await sound(), model: 'stt-1', stream: true });
  for await (const event of stream) if (event.type === 'transcript.text.delta') streamed += event.delta;
  assert.match(streamed, /^\[simulated\] /);
});

test('design §13: without any key a picture comes as a link and in the answer, and is one', async () => {
  const linked = await client.images.generate({ model: 'sim/image', prompt: 'x', size: '256x256', n: 2 });
  const link = linked.data![1]!.url!;
  assert.ok(link.startsWith(`${gateway.url}/v1/files-signed/`), link);
  const second = await fetch(link);
  assert.equal(second.headers.get('content-type'), 'image/png');
  const inside = await client.images.generate({
    model: 'sim/image',
    prompt: 'x',
    size: '512x512',
    response_format: 'b64_json',
  });
  assert.deepEqual(sizeOf(Buffer.from(await second.arrayBuffer())), [256, 256]);
  assert.deepEqual(sizeOf(Buffer.from(inside.data![0]!.b64_json!, 'base64')), [512, 512]);
  const edited = await client.images.edit({
    model: 'sim/image',
    prompt: 'x',
    size: '256x256',
    image: await toFile(Buffer.from(inside.data![0]!.b64_json!, 'base64'), 'a.png', { type: 'image/png' }),
    response_format: 'b64_json',
  });
  assert.deepEqual(sizeOf(Buffer.from(edited.data![0]!.b64_json!, 'base64')), [256, 256]);
});

/** Of a PNG whose pixels are all there. */
function sizeOf(png: Buffer): [number, number] {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const at = png.indexOf('IDAT');
  const pixels = inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)));
  assert.equal(pixels.length, (1 + Math.ceil(width / 8)) * height);
  return [width, height];
}

test('design §13: without any key every kind of model is listed, none costs anything, and no quota is used', async () => {
  const { data } = (await (await gateway.fetch('/v1/models')).json()) as { data: { id: string; model_type: string }[] };
  const typeOf = new Map(data.map(({ id, model_type: type }) => [id, type]));
  const wanted = { 'sim/chat': 'chat', 'tts-1': 'speech', 'stt-1': 'transcription', 'sim/image': 'image' };
  for (const [id, type] of Object.entries(wanted)) assert.equal(typeOf.get(id), type, id);
  const usage = (await (await gateway.fetch('/v1/usage')).json()) as { windows: Record<string, unknown> };
  for (const window of Object.values(usage.windows)) assert.equal(isObject(window) ? window.used : window, 0);
});

test('an endpoint without a provider says how to get one: by a key, or in the file alone', async () => {
  for (const [path, remedy] of [
    ['/v1/ocr', 'Set MISTRAL_API_KEY for the server, or name such a provider in culvert.yaml'],
    ['/v1/images/embeddings', '/v1/images/embeddings. Name such a provider in culvert.yaml'],
  ] as const) {
    const answer = await gateway.fetch(path, { json: { model: 'm', input: [], document: {} } });
    const text = await answer.text();
    assert.ok(text.includes(remedy), text);
  }
});

const withoutEspeak = missingTool('espeak-ng', 'ffmpeg', 'ffprobe');
test('design §13: where espeak-ng is installed it speaks, and nothing is simulated', {
  skip: withoutEspeak,
}, async (t) => {
  const here = await startGateway(t, {}, { env: { PATH: process.env.PATH } });
  const json = { model: 'tts-1', voice: 'alloy', input, response_format: 'wav' };
  const response = await here.fetch('/v1/audio/speech', { json });
  assert.equal(response.status, 200, await response.clone().text());
  assert.equal(response.headers.get('x-culvert-simulated'), null);
  assert.equal(response.headers.get('x-culvert-model'), 'espeak-ng');
  const probed = probeBytes(Buffer.from(await response.arrayBuffer()));
  assert.deepEqual([probed.codec, probed.rateHz], ['pcm_s16le', 24_000]);
  assert.ok(probed.durationMs > 1_000);
});

test('a simulated model lists what it does, and no more: only chat takes tools, and no picture is looked at', async () => {
  const { data } = (await (await gateway.fetch('/v1/models')).json()) as {
    data: { id: string; model_type: string; capabilities: Record<string, boolean> }[];
  };
  const nothing = { vision: false, tools: false, reasoning: false, streaming: false };
  for (const { id, model_type, capabilities } of data) {
    const chats = { vision: false, tools: true, reasoning: true, streaming: true };
    assert.deepEqual(capabilities, model_type === 'chat' ? chats : nothing, id);
  }
});
