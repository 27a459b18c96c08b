import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, beforeEach, test } from 'node:test';
import OpenAI from 'openai';
import { missingTool, pitchHzOf, probeBytes } from '../../../test/sound.ts';
import { startUpstream } from '../../../test/start-upstream.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import { sampleRateHz } from './sound.ts';

const upstream = await startUpstream();
after(() => upstream.close());
beforeEach(() => upstream.clear());
const client = new OpenAI({ baseURL: `${upstream.url}/v1`, apiKey: 'none', maxRetries: 0 });

/** 66 ms a character: 3.3 s. */
const input = 'A culvert carries a stream beneath a railway line.';
const spokenMs = 3_300;
const skip = missingTool('ffmpeg', 'ffprobe');

const codecs = {
  mp3: { codec: 'mp3', mediaType: 'audio/mpeg', sounds: true },
  wav: { codec: 'pcm_s16le', mediaType: 'audio/wav', sounds: true },
  flac: { codec: 'flac', mediaType: 'audio/flac', sounds: true },
  opus: { codec: 'opus', mediaType: 'audio/ogg', sounds: false },
  aac: { codec: 'aac', mediaType: 'audio/aac', sounds: false },
} as const;

async function speak(body: JsonObject, mock?: string): Promise<Response> {
  return fetch(`${upstream.url}/v1/audio/speech`, {
    method: 'POST',
    body: JSON.stringify({ model: 'sim/speech', voice: 'alloy', input, ...body }),
    headers: mock === undefined ? {} : { 'x-mock': mock },
  });
}

async function bytesOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer());
}

for (const [format, { codec, mediaType, sounds }] of Object.entries(codecs)) {
  test(`${format} is played by every player, as long as the text is`, { skip }, async () => {
    const response = await client.audio.speech.create({
      model: 'sim/speech',
      voice: 'alloy',
      input,
      response_format: format as keyof typeof codecs,
    });
    assert.equal(response.headers.get('content-type'), mediaType);
    const bytes = await bytesOf(response);
    const probed = probeBytes(bytes);
    assert.equal(probed.codec, codec);
    assert.equal(probed.channels, 1);
    assert.ok(Math.abs(probed.durationMs - spokenMs) < spokenMs * 0.02, `${probed.durationMs} ms`);
    // With -xerror a single frame that is not right is a failure.
    const decode = [
      '-v',
      'error',
      '-xerror',
      '-i',
      'pipe:0',
      '-ac',
      '1',
      '-ar',
      String(sampleRateHz),
      '-f',
      'f32le',
      '-',
    ];
    const { status, stdout, stderr } = spawnSync('ffmpeg', decode, { input: bytes, maxBuffer: 10 ** 7 });
    assert.equal(`${status} ${stderr}`, '0 ');
    const samples = new Float32Array(Uint8Array.from(stdout).buffer);
    if (sounds)
      assert.ok(Math.abs(pitchHzOf(samples, sampleRateHz) - 573) < 6, `${pitchHzOf(samples, sampleRateHz)} Hz`);
    else assert.ok(samples.every((sample) => Math.abs(sample) < 1e-3));
  });
}

test('pcm is the samples alone; speed makes it shorter', async () => {
  const usual = await bytesOf(await speak({ response_format: 'pcm' }));
  assert.equal(usual.length, (spokenMs * sampleRateHz * 2) / 1_000);
  const fast = await bytesOf(await speak({ response_format: 'pcm', speed: 2 }));
  assert.equal(fast.length, usual.length / 2);
});

test('as events it holds the same sound in base64, and says its usage at the end', async () => {
  const text = await (await speak({ stream_format: 'sse', response_format: 'wav' })).text();
  const events = text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => JSON.parse(block.slice('data: '.length)) as { type: string; audio: string; usage?: JsonObject });
  const deltas = events.filter(({ type }) => type === 'speech.audio.delta');
  const sound = Buffer.concat(deltas.map(({ audio }) => Buffer.from(audio, 'base64')));
  assert.deepEqual(sound, await bytesOf(await speak({ response_format: 'wav' })));
  assert.equal(events.at(-1)!.type, 'speech.audio.done');
  assert.ok(isObject(events.at(-1)!.usage));
});

test('it comes piece by piece, and breaks as it is told', async () => {
  const whole = await bytesOf(await speak({}));
  await assert.rejects(async () => bytesOf(await speak({}, 'cut=1000')));
  await assert.rejects(async () => bytesOf(await speak({}, 'cut')));
  await assert.rejects(async () => bytesOf(await speak({}, 'fin=1000')));
  const short = await bytesOf(await speak({}, 'eof'));
  assert.ok(short.length > 0 && short.length < whole.length * 0.6);
  assert.deepEqual(short, whole.subarray(0, short.length));
  assert.equal((await bytesOf(await speak({}, 'size=5kb'))).length, 5 * 1_024);
  for (const format of Object.keys(codecs)) {
    const endless = await bytesOf(await speak({ response_format: format }, 'endless=100kb'));
    assert.equal(endless.length, 100 * 1_024, format);
  }
  assert.match((await bytesOf(await speak({}, 'corrupt'))).toString(), /^This is not sound/);
  assert.equal((await bytesOf(await speak({}, 'empty'))).length, 0);
  const error = (await (await speak({}, 'error')).json()) as { error: { message: string } };
  assert.match(error.error.message, /overloaded/);
  const failed = await speak({}, 'status=429;retry-after=3');
  assert.deepEqual([failed.status, failed.headers.get('retry-after')], [429, '3']);
  assert.deepEqual(await bytesOf(await speak({}, 'drip=700/0ms;interval=0;chunks=3')), whole);
});

test('what is no request for speech is refused with the field', async () => {
  for (const [body, param] of [
    [{ model: '' }, 'model'],
    [{ input: '' }, 'input'],
    [{ voice: '' }, 'voice'],
    [{ response_format: 'midi' }, 'response_format'],
    [{ speed: 9 }, 'speed'],
  ] as const) {
    const response = await speak(body);
    assert.equal(response.status, 400);
    assert.equal(((await response.json()) as { error: { param: string } }).error.param, param);
  }
});

test('Gemini speaks PCM in base64, whole and as a stream, where sound is asked for', async () => {
  const body = {
    contents: [{ role: 'user', parts: [{ text: input }] }],
    generationConfig: { responseModalities: ['AUDIO'] },
  };
  const soundOf = (answer: unknown) => {
    const { candidates } = answer as { candidates: { content: { parts: { inlineData?: { data: string } }[] } }[] };
    const [{ inlineData } = {}] = candidates[0]!.content.parts;
    return Buffer.from(inlineData?.data ?? '', 'base64');
  };
  const post = (method: string) =>
    fetch(`${upstream.url}/v1beta/models/tts:${method}`, { method: 'POST', body: JSON.stringify(body) });
  const pcm = await bytesOf(await speak({ response_format: 'pcm' }));
  assert.deepEqual(soundOf(await (await post('generateContent')).json()), pcm);
  const events = (await (await post('streamGenerateContent?alt=sse')).text()).split('\r\n\r\n').filter(Boolean);
  const pieces = events.map((event) => soundOf(JSON.parse(event.slice('data: '.length))));
  assert.ok(pieces.length > 3);
  assert.deepEqual(Buffer.concat(pieces), pcm);
});

test('ElevenLabs’ path speaks in the format of its query', async () => {
  const response = await fetch(`${upstream.url}/v1/text-to-speech/v1/stream?output_format=pcm_24000`, {
    method: 'POST',
    body: JSON.stringify({ text: input, model_id: 'm' }),
  });
  assert.equal(response.headers.get('content-type'), 'audio/pcm');
  assert.deepEqual(await bytesOf(response), await bytesOf(await speak({ response_format: 'pcm' })));
});

test('voices are listed as Kokoro-FastAPI lists them', async () => {
  const list = (await (await fetch(`${upstream.url}/v1/audio/voices`)).json()) as { voices: string[] };
  assert.ok(list.voices.includes('af_heart'));
});
