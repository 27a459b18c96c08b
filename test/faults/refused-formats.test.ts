import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerJson, speechWorld, tone } from '../contract/speech-world.ts';
import { transcribeWorld } from '../contract/transcribe-world.ts';
import { json, wavOf } from '../scripted-transcriber.ts';
import { missingTool } from '../sound.ts';

const env = { PATH: process.env.PATH };
const skip = missingTool('ffmpeg', 'ffprobe');

const refuses = (message: string, more: object = {}) => ({
  error: { message, type: 'invalid_request_error', ...more },
});

test('a speech service that refuses a format is asked for one it has; it is converted here, and remembered', async (t) => {
  const { say, first, second, record } = await speechWorld(t, {}, env);
  first.next(answerJson(400, refuses('Unsupported output format: use pcm or opus.', { param: 'response_format' })));
  const spoken = await say({ response_format: 'wav' });
  const sound = Buffer.from(await spoken.arrayBuffer());
  assert.deepEqual([spoken.status, sound.subarray(0, 4).toString('latin1')], [200, 'RIFF']);
  assert.ok(sound.includes(tone.subarray(0, 1_000)), 'the sound that came');
  const asked = () => first.calls.map(({ body }) => body.response_format);
  assert.deepEqual(asked(), ['wav', 'pcm']);
  const { route, units } = await record(spoken);
  assert.deepEqual([route.attempts.map((attempt) => attempt.class), units], [['ok'], 1]);

  await (await say({ response_format: 'wav' })).arrayBuffer();
  assert.deepEqual(asked(), ['wav', 'pcm', 'pcm'], 'not asked for it again');
  await (await say({ response_format: 'mp3' })).arrayBuffer();
  assert.deepEqual(asked().at(-1), 'mp3', 'what it did not refuse');
  assert.deepEqual(second.calls, []);
});

test('a speech service that refuses every format, or something else, is told in its own words', { skip }, async (t) => {
  const { say, first, second } = await speechWorld(t, {}, env);
  const no = answerJson(400, refuses("'response_format' is invalid."));
  first.next(no, no, no, no);
  const refused = await say({ response_format: 'wav' });
  assert.equal(refused.status, 400);
  assert.match(
    ((await refused.json()) as { error: { message: string } }).error.message,
    /'response_format' is invalid/,
  );
  assert.deepEqual(
    first.calls.map(({ body }) => body.response_format),
    ['wav', 'pcm', 'flac'],
    'asked three times at most',
  );
  first.next(answerJson(400, refuses('No such voice.')));
  assert.equal((await say({ response_format: 'wav' })).status, 400);
  assert.deepEqual(first.calls.at(-1)!.body.response_format, 'wav', 'nothing is remembered of what did not help');
  assert.deepEqual([first.calls.length, second.calls.length], [4, 0]);
});

test('a transcription service that refuses a file gets it in a format it has, and the next one at once', {
  skip,
}, async (t) => {
  const { ask, first, record, emptied } = await transcribeWorld(t, {}, env);
  first.script(json(refuses('Invalid file format. Supported formats: flac.'), 400));
  const heard = await ask({ model: 't' }, { file: wavOf(1) });
  assert.deepEqual([heard.status, await heard.json()], [200, { text: 'Hello there.' }]);
  const kinds = () => first.forms.map(({ file }) => file!.bytes.subarray(0, 4).toString('latin1'));
  assert.deepEqual(kinds(), ['RIFF', 'fLaC']);
  assert.deepEqual(
    (await record(heard)).route.attempts.map((attempt) => attempt.class),
    ['ok'],
  );
  await (await ask({ model: 't' }, { file: wavOf(1) })).text();
  assert.deepEqual(kinds(), ['RIFF', 'fLaC', 'fLaC']);

  await emptied();
});

test('one that breaks down over the other format is not told as a refusal: the next target answers', {
  skip,
}, async (t) => {
  const { ask, first, second, record, emptied } = await transcribeWorld(t, {}, env);
  for (const status of [503, 429]) {
    first.script(
      json(refuses('Invalid file format. Supported formats: flac.'), 400),
      json(refuses('Not now.'), status),
    );
    const heard = await ask({ model: 't' }, { file: wavOf(1) });
    assert.equal(heard.status, 200, await heard.text());
    const { route, units } = await record(heard);
    assert.deepEqual([route.attempts.at(-1)!.class, units], ['ok', 1]);
  }
  assert.equal(second.forms.length, 2);
  await emptied();
});

test('a transcription service that refuses something else is asked once', { skip }, async (t) => {
  const { ask, first, emptied } = await transcribeWorld(t, {}, env);
  first.script(json(refuses("'language' is not one that this model knows."), 400));
  assert.equal((await ask({ model: 't', language: 'tlh' })).status, 400);
  assert.equal(first.forms.length, 1);
  await emptied();
});
