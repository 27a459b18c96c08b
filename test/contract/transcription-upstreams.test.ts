import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { events, json, startTranscriber, wavOf } from '../scripted-transcriber.ts';
import { transcribeWorld } from './transcribe-world.ts';

const env = { PATH: process.env.PATH };
const noEspeak = spawnSync('espeak-ng', ['--version']).status === 0 ? false : 'espeak-ng is not installed';
const noFfmpeg = spawnSync('ffmpeg', ['-version']).status === 0 ? false : 'ffmpeg is not installed';

/** Alias `t` over a target of this type, at the first server. */
async function over(t: TestContext, type: string, model: string, searchPath: Record<string, string | undefined> = env) {
  const upstream = await startTranscriber(t);
  const base = { gemini: '/v1beta', whispercpp: '', mistral: '/v1' }[type] ?? '/v1';
  const world = await transcribeWorld(
    t,
    {
      providers: { there: { type, base_url: upstream.url + base, ...(type !== 'whispercpp' && { api_key: 'k' }) } },
      models: { there: { type: 'transcription', targets: [`there/${model}`] } },
    },
    searchPath,
  );
  return { ...world, upstream, last: () => upstream.forms.at(-1)! };
}

test('whisper.cpp is asked at /inference for wav of 16 kHz, and words come out of its segments', async (t) => {
  const { ask, upstream, last } = await over(t, 'whispercpp', 'whatever', {});
  upstream.script(
    json({
      task: 'transcribe',
      language: 'english',
      duration: 1.1,
      text: ' Hello\n there.\n',
      segments: [
        {
          id: 0,
          text: ' Hello',
          start: 0,
          end: 0.5,
          words: [{ word: ' Hello', start: 0, end: 0.5, probability: 0.9 }],
        },
        { id: 1, text: ' there.', start: 0.5, end: 1.1, words: [{ word: ' there.', start: 0.5, end: 1.1 }] },
      ],
    }),
  );
  const response = await ask(
    {
      model: 'there',
      response_format: 'verbose_json',
      'timestamp_granularities[]': ['word', 'segment'],
      prompt: 'p',
      chunking_strategy: 'auto',
    },
    // Of another rate, and without ffmpeg.
    { file: wavOf(1, 44_100) },
  );
  const body = (await response.json()) as { text: string; words: unknown[]; segments: object[] };
  assert.equal(response.status, 200, JSON.stringify(body));
  assert.equal(body.text, 'Hello there.');
  assert.deepEqual(body.words, [
    { word: ' Hello', start: 0, end: 0.5 },
    { word: ' there.', start: 0.5, end: 1.1 },
  ]);
  assert.deepEqual(body.segments[0], {
    id: 0,
    seek: null,
    start: 0,
    end: 0.5,
    text: ' Hello',
    tokens: null,
    temperature: null,
    avg_logprob: null,
    compression_ratio: null,
    no_speech_prob: null,
  });
  assert.equal(response.headers.get('x-culvert-dropped'), 'chunking_strategy');
  const { path, fields, file } = last();
  assert.equal(path, '/inference');
  assert.deepEqual(fields, [
    ['response_format', 'verbose_json'],
    ['language', 'auto'],
    ['prompt', 'p'],
  ]);
  assert.equal(file?.name, 'audio.wav');
  const { bytes } = file!;
  assert.deepEqual(
    [bytes.readUInt32LE(24), bytes.readUInt16LE(22), bytes.readUInt32LE(40)],
    [16_000, 1, bytes.length - 44],
  );
  assert.ok(Math.abs(bytes.length - 44 - 32_000) < 200, `${bytes.length} bytes`);
});

test('whisper.cpp translates by a field', async (t) => {
  const { ask, last } = await over(t, 'whispercpp', 'whatever');
  await ask({ model: 'there', language: 'de' }, { path: '/v1/audio/translations' });
  assert.deepEqual(last().fields.slice(1), [
    ['language', 'de'],
    ['translate', 'true'],
  ]);
});

test('Gemini is asked by a conversation with the sound in base64, and gives text alone', async (t) => {
  const { ask, refused, record, upstream, last } = await over(t, 'gemini', 'gemini-2.5-flash');
  const answer = (parts: unknown[], finishReason = 'STOP') => ({
    candidates: [{ content: { parts }, finishReason }],
    usageMetadata: { promptTokenCount: 40, candidatesTokenCount: 4, thoughtsTokenCount: 2 },
  });
  upstream.script(json(answer([{ text: 'hm', thought: true }, { text: 'Hello there.\n' }])));
  // Its length is not a multiple of three, nor of the pieces in which a file is read.
  const file = wavOf(3.3331);
  const response = await ask({ model: 'there', language: 'en', prompt: 'Zoë "Z"', temperature: '0' }, { file });
  assert.deepEqual(await response.json(), { text: 'Hello there.' });
  const { path, headers, raw } = last();
  assert.equal(path, '/v1beta/models/gemini-2.5-flash:generateContent');
  assert.equal(headers['content-type'], 'application/json');
  const body = JSON.parse(raw.toString()) as {
    contents: { parts: [{ text: string }, { inlineData: { mimeType: string; data: string } }] }[];
    generationConfig: { temperature: number };
  };
  const [text, sound] = body.contents[0]!.parts;
  assert.match(text.text, /word for word[\s\S]*'en'[\s\S]*Zoë "Z"/);
  assert.equal(sound.inlineData.mimeType, 'audio/wav');
  assert.deepEqual(Buffer.from(sound.inlineData.data, 'base64'), file);
  assert.equal(body.generationConfig.temperature, 0);
  const { usage } = await record(response);
  assert.deepEqual([usage.input_tokens, usage.output_tokens], [40, 6]);

  upstream.script(
    json(answer([], 'SAFETY')),
    json(answer([], 'SAFETY')),
    json(answer([], 'SAFETY')),
    json(answer([], 'SAFETY')),
  );
  assert.equal((await refused({ model: 'there' })).code, 502);
});

test('Gemini gives no times: what needs them is 400 before it is asked', async (t) => {
  const { refused, upstream } = await over(t, 'gemini', 'gemini-2.5-flash');
  for (const format of ['srt', 'vtt', 'verbose_json']) {
    assert.equal((await refused({ model: 'there', response_format: format })).param, 'response_format');
  }
  assert.equal(upstream.forms.length, 0);
});

test('Mistral is not sent what it refuses, and its own words for the rest', async (t) => {
  const { ask, upstream, last } = await over(t, 'mistral', 'voxtral-mini-latest');
  upstream.script(
    json({
      model: 'voxtral-mini-latest',
      text: 'Hi',
      segments: [{ text: 'Hi', start: 0, end: 1 }],
      usage: { prompt_audio_seconds: 4, prompt_tokens: 5, total_tokens: 9, completion_tokens: 4 },
    }),
  );
  const response = await ask({ model: 'there', response_format: 'srt', prompt: 'names', 'keywords[]': 'Culvert' });
  assert.match(await response.text(), /00:00:01,000\nHi/);
  assert.equal(response.headers.get('x-culvert-dropped'), 'prompt');
  assert.deepEqual(last().fields, [
    ['model', 'voxtral-mini-latest'],
    ['timestamp_granularities', 'segment'],
    ['context_bias', 'Culvert'],
  ]);
});

test('Mistral tells who said what in its own way, and the answer is as OpenAI has it', async (t) => {
  const { ask, upstream, last } = await over(t, 'mistral', 'voxtral-mini-latest');
  const segments = ['Hi.', 'Yes.'].map((text, at) => ({
    type: 'transcription_segment',
    text,
    start: at,
    end: at + 1,
    speaker_id: `speaker_${at + 1}`,
  }));
  upstream.script(json({ text: 'Hi. Yes.', segments }));
  const response = await ask({ model: 'there', response_format: 'diarized_json' });
  const told = (await response.json()) as { segments: Record<string, unknown>[] };
  assert.deepEqual(
    told.segments.map(({ type, speaker, text, start }) => [type, speaker, text, start]),
    [
      ['transcript.text.segment', 'speaker_1', 'Hi.', 0],
      ['transcript.text.segment', 'speaker_2', 'Yes.', 1],
    ],
  );
  assert.deepEqual(last().fields, [
    ['model', 'voxtral-mini-latest'],
    ['timestamp_granularities', 'segment'],
    ['diarize', 'true'],
  ]);
});

test('a stream of who said what has the text as deltas too, and one of text has no segments', async (t) => {
  const { ask, upstream } = await over(t, 'mistral', 'voxtral-mini-latest');
  const segments = ['Hi.', 'Yes.'].map((text, at) => ({
    text,
    start: at,
    end: at + 1,
    speaker_id: `speaker_${at + 1}`,
  }));
  for (const [fields, kinds] of [
    [{ response_format: 'diarized_json' }, ['delta', 'segment', 'segment', 'done']],
    [{ diarize: 'true' }, ['delta', 'done']],
  ] as const) {
    upstream.script(json({ text: 'Hi. Yes.', segments }));
    const response = await ask({ model: 'there', stream: 'true', ...fields });
    const events = (await response.text())
      .split('\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice(6)) as { type: string; delta?: string });
    assert.deepEqual(
      events.map(({ type }) => type.split('.').at(-1)),
      kinds,
    );
    assert.equal(events.map(({ delta = '' }) => delta).join(''), 'Hi. Yes.');
  }
});

test('a model of OpenAI that tells speakers apart is told how to cut sound, unless the caller says it', async (t) => {
  const { ask, last } = await over(t, 'openai', 'gpt-4o-transcribe-diarize');
  for (const [given, sent] of [
    [{}, [['chunking_strategy', 'auto']]],
    [{ 'chunking_strategy[type]': 'server_vad' }, [['chunking_strategy[type]', 'server_vad']]],
  ] as const) {
    assert.equal((await ask({ model: 'there', ...given })).status, 200);
    assert.deepEqual(
      last().fields.filter(([name]) => name.startsWith('chunking')),
      sent,
    );
  }
});

test("the operator's own fields for a target go over the caller's", async (t) => {
  const { ask, first } = await transcribeWorld(t, {
    models: {
      mine: {
        type: 'transcription',
        targets: [{ provider: 'one', model: 'whisper-1', body: { language: 'fr', vad_filter: true } }],
      },
    },
  });
  await ask({ model: 'mine', language: 'en' });
  assert.deepEqual(first.forms.at(-1)?.fields, [
    ['model', 'whisper-1'],
    ['response_format', 'json'],
    ['language', 'fr'],
    ['vad_filter', 'true'],
  ]);
});

test('a container that a service does not read is converted to one that it does', { skip: noFfmpeg }, async (t) => {
  const { ask, last } = await over(t, 'groq', 'whisper-large-v3');
  const args = ['-v', 'error', '-f', 'wav', '-i', '-', '-f', 'matroska', '-'];
  const mkv = spawnSync('ffmpeg', args, { input: wavOf(2) }).stdout;
  const response = await ask({ model: 'there' }, { file: mkv });
  assert.equal(response.status, 200, await response.text());
  assert.equal(last().file?.name, 'audio.flac');
  assert.equal(last().file?.bytes.toString('latin1', 0, 4), 'fLaC');
});

test('F58 without ffmpeg what would have to be converted is 501 and names the fix, what need not be goes on', async (t) => {
  const { ask, refused } = await over(t, 'groq', 'whisper-large-v3', {});
  const error = await refused({ model: 'there' }, { file: Buffer.from('FORM\x00\x00\x10\x00AIFFCOMM', 'latin1') });
  assert.deepEqual([error.code, error.type], [501, 'unsupported_error']);
  assert.match(error.message, /apt install ffmpeg/);
  assert.equal((await ask({ model: 'there' })).status, 200);
});

test('truncated sound that must be converted is the fault of its sender', { skip: noFfmpeg }, async (t) => {
  const { refused, emptied } = await over(t, 'groq', 'whisper-large-v3');
  const error = await refused({ model: 'there' }, { file: Buffer.from('FORM\x00\x00\x10\x00AIFFCOMM', 'latin1') });
  assert.deepEqual([error.code, error.param], [400, 'file']);
  await emptied();
});

test('a length and counts that cannot be are not believed, and the books hold what is counted here', async (t) => {
  const { ask, record, first } = await transcribeWorld(t);
  for (const usage of [
    { type: 'duration', seconds: 1e300 },
    { type: 'tokens', input_tokens: 1e18, output_tokens: Number.MAX_SAFE_INTEGER },
  ]) {
    first.script(json({ text: 'x', duration: 1e300, usage }));
    const response = await ask({ model: 't' }, { file: wavOf(2) });
    assert.equal(response.status, 200, await response.text());
    const { usage: kept } = await record(response);
    assert.deepEqual([kept.audio_ms, kept.input_tokens, kept.output_tokens], [2_000, 0, 0]);
  }
});

test('a wav of one sample a second is its sender’s fault, and not made into hours of sound', async (t) => {
  const { refused, emptied } = await over(t, 'whispercpp', 'whatever', {});
  const file = wavOf(1, 8_000);
  file.writeUInt32LE(1, 24);
  const error = await refused({ model: 'there' }, { file });
  assert.deepEqual([error.code, error.param], [400, 'file']);
  await emptied();
});

test('events of another kind than a transcript’s are passed over, an error among them ends it', async (t) => {
  const { ask, first } = await transcribeWorld(t);
  first.script(
    events(
      { type: 'transcript.text.delta', delta: 'Hel' },
      { type: 'error', error: { message: 'it broke', code: 'server_error' } },
    ),
  );
  const response = await ask({ model: 'live', stream: 'true' });
  const text = await response.text();
  assert.match(text, /Hel/);
  assert.match(text, /error/);
  assert.doesNotMatch(text, /transcript\.text\.done/);
});

test('what espeak-ng says, as mp3, is sent on as it is, and its length is in the books', {
  skip: noEspeak || noFfmpeg,
}, async (t) => {
  const { gateway, ask, first } = await transcribeWorld(t, {}, env);
  const input = 'A culvert is a pipe under a road, which lets water through.';
  const spoken = await gateway.fetch('/v1/audio/speech', { json: { model: 'espeak-ng', voice: 'alloy', input } });
  const file = Buffer.from(await spoken.arrayBuffer());
  assert.equal(spoken.status, 200);
  const response = await ask({ model: 't' }, { file, fileName: 'speech.bin' });
  assert.equal(response.status, 200);
  assert.deepEqual([first.forms.at(-1)?.file?.name, first.forms.at(-1)?.file?.bytes], ['audio.mp3', file]);
  const pcm = await gateway.fetch('/v1/audio/speech', {
    json: { model: 'espeak-ng', voice: 'alloy', input, response_format: 'pcm' },
  });
  const seconds = (await pcm.arrayBuffer()).byteLength / 2 / 24_000;
  // Measured while it is written down, and here written down at once.
  const id = response.headers.get('x-culvert-request-id');
  let found = await gateway.fetch(`/v1/requests/${id}`);
  for (let looks = 0; found.status === 404 && looks < 1_000; looks++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    found = await gateway.fetch(`/v1/requests/${id}`);
  }
  const { usage } = (await found.json()) as { usage: { audio_ms: number } };
  assert.ok(Math.abs(usage.audio_ms / 1_000 / seconds - 1) < 0.05, `${usage.audio_ms} ms of ${seconds} s`);
});
