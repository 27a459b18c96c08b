import assert from 'node:assert/strict';
import { after, beforeEach, type TestContext, test } from 'node:test';
import type { ErrorBody } from './served.ts';
import { bytesOf, type Spoken, type speakAsAsked, speechPath, speechWorld, tone } from './speech-world.ts';

const file = { after: after as TestContext['after'] };
const world = await speechWorld(file, {
  providers: { claude: { type: 'anthropic', base_url: 'http://127.0.0.1:9/v1', api_key: 'x' } },
  models: { claude: { targets: ['claude/model'] } },
  limits: { speech_chars: 100 },
});
const { say, first, second, record } = world;

beforeEach(() => {
  for (const upstream of [first, second]) {
    upstream.calls.length = 0;
    upstream.next();
  }
});

async function refusal(
  json: Record<string, unknown>,
): Promise<{ status: number; param: string | null; message: string }> {
  const response = await say(json);
  const { error } = (await response.json()) as ErrorBody;
  return { status: response.status, param: error.param, message: error.message };
}

const contentTypes = {
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  opus: 'audio/ogg',
  flac: 'audio/flac',
  pcm: 'audio/pcm',
  aac: 'audio/aac',
};

for (const [format, contentType] of Object.entries(contentTypes)) {
  test(`§4.5 "The response body is the audio stream in the chosen format (binary)": ${format}, as ${contentType}`, async () => {
    const response = await say({ response_format: format });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), contentType);
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), bytesOf[format]);
  });
}

test('§4.5 "response_format: optional; `mp3` (default)"; the upstream is told model, input and voice in its own words', async () => {
  const response = await say({ input: 'Grüße, 世界!' });
  assert.deepEqual(Buffer.from(await response.arrayBuffer()), bytesOf.mp3);
  const [call] = first.calls as [Spoken];
  assert.deepEqual(call.body, { model: 'voice-1', input: 'Grüße, 世界!', voice: 'alloy', response_format: 'mp3' });
  assert.deepEqual([call.path, call.headers.accept], [speechPath, '*/*']);
  assert.equal(call.headers.authorization, 'Bearer upstream-secret');
});

test('§4.5 design §6: speed and instructions go on, and fields that nobody here knows; ours and empty ones do not', async () => {
  const extra = { instructions: 'Cheerful.', speed: 1.5, lang_code: 'e', normalization: { url: true }, seed: null };
  await (await say({ ...extra, api_base: 'http://127.0.0.1:1', stream_format: 'audio' })).arrayBuffer();
  const { model: _, input: __, voice: ___, response_format: ____, ...rest } = first.calls[0]!.body;
  assert.deepEqual(rest, { instructions: 'Cheerful.', speed: 1.5, lang_code: 'e', normalization: { url: true } });
});

for (const [what, json, param] of [
  ['no model', { model: undefined }, 'model'],
  ['no input', { input: undefined }, 'input'],
  ['an empty input', { input: '' }, 'input'],
  ['an input of blanks', { input: ' \n' }, 'input'],
  ['an input that is a list', { input: ['a'] }, 'input'],
  ['an input above limits.speech_chars', { input: 'x'.repeat(101) }, 'input'],
  ['no voice', { voice: undefined }, 'voice'],
  ['an empty voice', { voice: '' }, 'voice'],
  ['a voice that is a number', { voice: 7 }, 'voice'],
  ['a voice object without an id', { voice: { name: 'a' } }, 'voice'],
  ['a format that nobody has', { response_format: 'midi' }, 'response_format'],
  ['a speed that is too low', { speed: 0.2 }, 'speed'],
  ['a speed that is too high', { speed: 4.1 }, 'speed'],
  ['a speed in words', { speed: 'fast' }, 'speed'],
  ['instructions that are a list', { instructions: [] }, 'instructions'],
  ['a stream_format that nobody has', { stream_format: 'ws' }, 'stream_format'],
  ['a user name that is too long', { user: 'x'.repeat(257) }, 'user'],
] as const) {
  test(`§4.5 design §6: ${what} is a 400 that names ${param}, asks nobody and costs nothing`, async () => {
    const response = await say(json);
    const { error } = (await response.json()) as ErrorBody;
    assert.deepEqual([response.status, error.param], [400, param], error.message);
    assert.ok(error.message.includes(`'${param}'`), error.message);
    assert.equal(first.calls.length + second.calls.length, 0);
  });
}

test('§4.5 design §6: `input` is counted in characters, not in bytes or halves of them', async () => {
  assert.equal((await say({ input: '🙂'.repeat(100) })).status, 200);
  assert.match((await refusal({ input: '🙂'.repeat(101) })).message, /101 characters.*at most 100/);
});

test('§4.5: an unknown model is a 404, one that does not speak a 400 that says so', async () => {
  assert.equal((await refusal({ model: 'S' })).status, 404);
  const mute = await refusal({ model: 'claude' });
  assert.deepEqual([mute.status, mute.param], [400, 'model']);
  assert.match(mute.message, /serves \/v1\/audio\/speech/);
});

test('§4.5: one call is one unit, with its characters and what they cost in the books', async () => {
  const response = await say({ input: 'x'.repeat(80) });
  await response.arrayBuffer();
  assert.equal(response.headers.get('x-culvert-cost'), '1');
  assert.equal(response.headers.get('x-culvert-provider'), 'one');
  assert.equal(response.headers.get('x-culvert-model'), 'voice-1');
  const { units, cost_usd, usage, class: ended } = await record(response);
  assert.deepEqual([units, cost_usd, usage.characters, usage.source, ended], [1, 0.0012, 80, 'counted', 'ok']);
});

test('§4.5 design §6: `stream_format: sse` tells the sound in base64, then how much was used', async () => {
  const response = await say({ stream_format: 'sse', response_format: 'pcm' });
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  const events = (await response.text())
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => JSON.parse(frame.slice(6)) as { type: string; audio?: string; usage?: object });
  const sound = events
    .filter(({ type }) => type === 'speech.audio.delta')
    .map(({ audio }) => Buffer.from(audio!, 'base64'));
  assert.deepEqual(Buffer.concat(sound), tone);
  assert.deepEqual(events.at(-1), {
    type: 'speech.audio.done',
    // This service gives no tokens.
    usage: { input_tokens: 3, output_tokens: 0, total_tokens: 3, estimated: true },
  });
  assert.equal(first.calls[0]!.body.stream_format, undefined);
});

test('§4.5 design §11: the same Idempotency-Key gets the same sound, spoken and charged once', async () => {
  const headers = { 'idempotency-key': 'speech-1' };
  const once = await say({}, { headers });
  const sound = Buffer.from(await once.arrayBuffer());
  const again = await say({}, { headers });
  assert.deepEqual(Buffer.from(await again.arrayBuffer()), sound);
  assert.deepEqual(sound, bytesOf.mp3);
  assert.equal(again.headers.get('content-type'), 'audio/mpeg');
  assert.equal(again.headers.get('x-culvert-idempotent-replay'), once.headers.get('x-culvert-request-id'));
  assert.equal(first.calls.length, 1);
});

test('§4.5: forty texts at one time each get their own sound', async () => {
  const texts = Array.from({ length: 40 }, (_, i) => `text ${i}`);
  first.next(
    ...texts.map((): typeof speakAsAsked => ({ body }, response) => {
      response.writeHead(200, { 'content-type': 'audio/mpeg' });
      response.end(Buffer.concat([bytesOf.mp3!, Buffer.from(body.input as string)]));
    }),
  );
  const heard = await Promise.all(texts.map(async (input) => Buffer.from(await (await say({ input })).arrayBuffer())));
  for (const [i, sound] of heard.entries()) assert.ok(sound.toString('latin1').endsWith(texts[i]!));
});
