import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { startUpstream } from '../../test/start-upstream.ts';
import { wavHeader } from '../engines/audio/wav.ts';
import type { JsonObject } from '../kernel/json.ts';
import { soundPieces } from './media/sound.ts';

const upstream = await startUpstream();
after(() => upstream.close());
beforeEach(() => upstream.clear());
const client = new OpenAI({ baseURL: `${upstream.url}/v1`, apiKey: 'none', maxRetries: 0 });

const wav = Buffer.concat([...soundPieces('wav', 2_500, 2_500)]);
const file = () => toFile(wav, 'speech.wav', { type: 'audio/wav' });
const transcript = 'Mock transcript of speech.wav, 2.5 seconds.';

async function post(path: string, fields: Record<string, string>, mock?: string): Promise<Response> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', new Blob([wav], { type: 'audio/wav' }), 'speech.wav');
  const headers: Record<string, string> = mock === undefined ? {} : { 'x-mock': mock };
  return fetch(upstream.url + path, { method: 'POST', body: form, headers });
}

test('a file gets a transcript, and its form is recorded without its bytes', async () => {
  const { text } = await client.audio.transcriptions.create({ file: await file(), model: 'sim/transcription' });
  assert.equal(text, transcript);
  const body = upstream.requests()[0]!.body as { model: string; file: JsonObject };
  assert.equal(body.model, 'sim/transcription');
  assert.deepEqual([body.file.filename, body.file.bytes, body.file.seconds], ['speech.wav', wav.length, 2.5]);
});

test('a wav file of another rate, with a chunk before its samples as ffmpeg writes it, has its true length', async () => {
  const samples = Buffer.alloc(2 * 44_100 * 3);
  const head = wavHeader({ rateHz: 44_100, channels: 1 }, samples.length);
  const list = Buffer.from('LIST\x1a\0\0\0INFOISFT\x0e\0\0\0Lavf59.27.100\0', 'latin1');
  const whole = Buffer.concat([head.subarray(0, 36), list, head.subarray(36), samples]);
  const { duration } = await client.audio.transcriptions.create({
    file: await toFile(whole, 'ffmpeg.wav'),
    model: 'm',
    response_format: 'verbose_json',
  });
  assert.equal(duration, 3);
});

test('verbose_json tells segments and words that fill the time without a gap', async () => {
  const answer = await client.audio.transcriptions.create({
    file: await file(),
    model: 'm',
    response_format: 'verbose_json',
    timestamp_granularities: ['segment', 'word'],
    language: 'de',
  });
  assert.deepEqual([answer.duration, answer.language, answer.text], [2.5, 'german', transcript]);
  for (const parts of [answer.segments!, answer.words!]) {
    assert.equal(parts[0]!.start, 0);
    assert.equal(parts.at(-1)!.end, 2.5);
    for (const [at, part] of parts.entries()) if (at > 0) assert.equal(part.start, parts[at - 1]!.end);
  }
  assert.equal(answer.segments!.map(({ text }) => text).join(''), ` ${transcript}`);
  const plain = (await (
    await post('/v1/audio/transcriptions', { model: 'm', response_format: 'verbose_json' })
  ).json()) as JsonObject;
  assert.ok(Array.isArray(plain.segments) && plain.words === undefined);
});

test('text, srt and vtt', async () => {
  const of = async (format: string) =>
    (await post('/v1/audio/transcriptions', { model: 'm', response_format: format })).text();
  assert.equal(await of('text'), `${transcript}\n`);
  assert.equal(await of('srt'), `1\n00:00:00,000 --> 00:00:02,500\n${transcript}\n`);
  assert.equal(await of('vtt'), `WEBVTT\n\n00:00:00.000 --> 00:00:02.500\n${transcript}\n`);
});

test('as a stream it comes word by word, and breaks as it is told', async () => {
  const stream = await client.audio.transcriptions.create({ file: await file(), model: 'm', stream: true });
  let text = '';
  let last = '';
  for await (const event of stream) {
    if (event.type === 'transcript.text.delta') text += event.delta;
    last = event.type;
  }
  assert.deepEqual([text, last], [transcript, 'transcript.text.done']);
  const cut = await (await post('/v1/audio/transcriptions', { model: 'm', stream: 'true' }, 'eof')).text();
  assert.ok(cut.includes('delta') && !cut.includes('transcript.text.done'));
});

test('translations are English; whisper.cpp has its own path', async () => {
  const translated = await (
    await post('/v1/audio/translations', { model: 'm', language: 'de', response_format: 'verbose_json' })
  ).json();
  assert.deepEqual([(translated as JsonObject).task, (translated as JsonObject).language], ['translate', 'english']);
  const local = (await (await post('/inference', { response_format: 'verbose_json' })).json()) as {
    segments: { words: unknown[] }[];
  };
  assert.ok(local.segments[0]!.words.length > 3);
});

test('faults strike by header and by the form’s model, with what the spec says of the text', async () => {
  const path = '/v1/audio/transcriptions';
  assert.equal((await post(path, { model: 'mock/status=503' })).status, 503);
  assert.equal((await post(path, { model: 'm' }, 'status=429')).status, 429);
  await assert.rejects(async () => (await post(path, { model: 'm' }, 'malformed')).json(), SyntaxError);
  await assert.rejects(async () => (await post(path, { model: 'm' }, 'cut=20')).text());
  const answer = (await (await post(path, { model: 'm' }, 'text=Hello there')).json()) as JsonObject;
  assert.equal(answer.text, 'Hello there');
});

test('what is no such form is refused', async () => {
  const refused = async (body: FormData | string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${upstream.url}/v1/audio/transcriptions`, { method: 'POST', body, headers });
    return response.status;
  };
  const form = new FormData();
  form.append('model', 'm');
  assert.equal(await refused(form), 400);
  form.append('file', new Blob([]), 'a.wav');
  assert.equal(await refused(form), 400, 'an empty file');
  assert.equal(await refused('no form', { 'content-type': 'multipart/form-data' }), 400);
  assert.equal(await refused('no form', { 'content-type': 'multipart/form-data; boundary=x' }), 400);
});
