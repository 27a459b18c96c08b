import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { events, json, wavOf } from '../scripted-transcriber.ts';
import { transcribeWorld, transcriptionsPath, translationsPath } from './transcribe-world.ts';

/** Closed after all tests of this file. */
const whole = { after: after as TestContext['after'] };
const world = await transcribeWorld(whole, {
  models: {
    'stt-1': { type: 'transcription', targets: ['one/whisper-1'] },
  },
});
const { ask, refused, record, first, gateway, emptied } = world;
const last = () => first.forms.at(-1)!;

const timed = {
  task: 'transcribe',
  language: 'english',
  duration: 2.5,
  text: 'Hello there. Bye.',
  segments: [
    { id: 0, start: 0, end: 0.9996, text: ' Hello there.', avg_logprob: -0.2 },
    { id: 1, start: 1, end: 2.5, text: ' Bye.', avg_logprob: -0.3 },
  ],
};

test('§4.6 "POST /v1/audio/transcriptions, multipart/form-data": file and model are enough, "the default response has a `text` field"', async () => {
  const response = await ask({ model: 'stt-1' });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'application/json');
  assert.deepEqual(await response.json(), { text: 'Hello there.' });
  const { fields, file, path, headers } = last();
  assert.equal(path, '/v1/audio/transcriptions');
  assert.equal(headers.authorization, 'Bearer up-secret');
  assert.deepEqual(fields, [
    ['model', 'whisper-1'],
    ['response_format', 'json'],
  ]);
  assert.deepEqual(file?.bytes, wavOf(1));
});

test('§4.6 another content type is 415, a form without its end 400', async () => {
  const asJson = await gateway.fetch(transcriptionsPath, { json: { model: 't' } });
  assert.equal(asJson.status, 415);
  assert.match(((await asJson.json()) as { error: { message: string } }).error.message, /multipart\/form-data/);
  const cut = await gateway.fetch(transcriptionsPath, {
    method: 'POST',
    body: '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nt\r\n',
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
  });
  assert.equal(cut.status, 400);
});

test('§4.6 the file may be "mp3, mp4, wav, webm, ogg and other common formats", told by its bytes whatever its name is', async () => {
  const containers: [string, Buffer, string][] = [
    ['wav', wavOf(0.1), 'audio.wav'],
    ['mp3', Buffer.concat([Buffer.from('ID3\x04\x00\x00\x00\x00\x00\x00'), mp3Frames()]), 'audio.mp3'],
    ['mp4', Buffer.from('\x00\x00\x00\x20ftypisom\x00\x00\x02\x00isomiso2', 'latin1'), 'audio.mp4'],
    ['m4a', Buffer.from('\x00\x00\x00\x20ftypM4A \x00\x00\x02\x00M4A isom', 'latin1'), 'audio.m4a'],
    ['webm', Buffer.from('\x1aE\xdf\xa3\x9fB\x86\x81\x01B\xf7\x81\x01B\x82\x84webm', 'latin1'), 'audio.webm'],
    ['ogg', Buffer.from('OggS\x00\x02 and more', 'latin1'), 'audio.ogg'],
    ['flac', Buffer.from('fLaC\x00\x00\x00\x22 and more', 'latin1'), 'audio.flac'],
  ];
  for (const [container, file, name] of containers) {
    const response = await ask({ model: 'stt-1' }, { file, fileName: 'notes.txt' });
    assert.equal(response.status, 200, container);
    await response.arrayBuffer();
    assert.equal(last().file?.name, name, container);
    assert.deepEqual(last().file?.bytes, file, container);
  }
});

test('§4.6 "response_format" verbose_json: the upstream’s own values, and null for what it did not tell', async () => {
  first.script(json(timed));
  const told = await ask({ model: 'stt-1', response_format: 'verbose_json' });
  assert.equal(told.headers.get('content-type'), 'application/json');
  assert.deepEqual(await told.json(), { ...timed, usage: { type: 'duration', seconds: 2.5 } });
  assert.deepEqual(last().fields.slice(1), [
    ['response_format', 'verbose_json'],
    ['timestamp_granularities[]', 'segment'],
  ]);
  first.script(json({ text: 'Hi', segments: [{ start: 0, end: 1, text: 'Hi' }] }));
  const untold = await ask({ model: 'stt-1', response_format: 'verbose_json' });
  assert.deepEqual(await untold.json(), {
    task: 'transcribe',
    language: null,
    duration: null,
    text: 'Hi',
    segments: [{ start: 0, end: 1, text: 'Hi' }],
  });
});

test('§4.6 response_format text, srt and vtt are written here, of what the upstream tells', async () => {
  const text = await ask({ model: 'stt-1', response_format: 'text' });
  assert.equal(text.headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.equal(await text.text(), 'Hello there.\n');
  assert.deepEqual(last().fields[1], ['response_format', 'json']);
  first.script(json(timed), json(timed));
  const srt = await ask({ model: 'stt-1', response_format: 'srt' });
  assert.equal(
    await srt.text(),
    '1\n00:00:00,000 --> 00:00:01,000\nHello there.\n\n2\n00:00:01,000 --> 00:00:02,500\nBye.\n\n',
  );
  assert.deepEqual(last().fields[1], ['response_format', 'verbose_json']);
  const vtt = await ask({ model: 'stt-1', response_format: 'vtt' });
  assert.equal(vtt.headers.get('content-type'), 'text/vtt; charset=utf-8');
  assert.equal(
    await vtt.text(),
    'WEBVTT\n\n00:00:00.000 --> 00:00:01.000\nHello there.\n\n00:00:01.000 --> 00:00:02.500\nBye.\n\n',
  );
});

test('design §6 words have times in verbose_json, where they are asked for by timestamp_granularities[]', async () => {
  const words = [{ word: 'Hello', start: 0, end: 0.4 }];
  first.script(json({ ...timed, segments: undefined, words }));
  const response = await ask({
    model: 'stt-1',
    response_format: 'verbose_json',
    'timestamp_granularities[]': ['word'],
  });
  const body = (await response.json()) as { words: unknown; segments?: unknown };
  assert.deepEqual([body.words, body.segments], [words, undefined]);
  assert.deepEqual(last().fields.slice(2), [['timestamp_granularities[]', 'word']]);
  first.script(json({ ...timed, words }));
  const both = await ask({
    model: 'stt-1',
    response_format: 'verbose_json',
    'timestamp_granularities[]': ['word', 'segment'],
  });
  assert.deepEqual(((await both.json()) as { segments: unknown[] }).segments.length, 2);
  assert.deepEqual(last().fields.slice(2), [
    ['timestamp_granularities[]', 'word'],
    ['timestamp_granularities[]', 'segment'],
  ]);
});

test('design §6 language, prompt and temperature reach the upstream, and so do fields that nobody here knows', async () => {
  await ask({
    model: 'stt-1',
    language: 'de',
    prompt: 'Grüße an Zoë',
    temperature: '0.2',
    'include[]': ['logprobs'],
    chunking_strategy: 'auto',
    'quote"d': 'x',
    models: 'other',
  });
  assert.deepEqual(last().fields, [
    ['model', 'whisper-1'],
    ['response_format', 'json'],
    ['language', 'de'],
    ['prompt', 'Grüße an Zoë'],
    ['temperature', '0.2'],
    ['include[]', 'logprobs'],
    ['chunking_strategy', 'auto'],
    ['quote"d', 'x'],
  ]);
  for (const [language, sent] of [
    ['en-US', 'en'],
    ['pt_BR', 'pt'],
    ['auto', undefined],
  ] as const) {
    await ask({ model: 'stt-1', language });
    assert.equal(new Map(last().fields).get('language'), sent, `${language}: Whisper refuses it`);
  }
});

test('design §6 what is wrong is 400 and names its field; nothing of it reaches an upstream or costs a unit', async () => {
  const before = first.forms.length;
  const png = Buffer.from('\x89PNG\r\n\x1a\n and more', 'latin1');
  const wrong: [Parameters<typeof ask>, string | null, RegExp][] = [
    [[{ model: 't' }, { file: null }], 'file', /Missing 'file'/],
    [[{}], 'model', /Missing 'model'/],
    [[{ model: 't' }, { file: Buffer.alloc(0) }], 'file', /0 bytes/],
    [[{ model: 't' }, { file: png, fileName: 'speech.wav' }], 'file', /not known audio/],
    [[{ model: 't' }, { file: Buffer.from('{"a":1}') }], 'file', /not known audio/],
    [[{ model: 't', file: 'plain' }, { file: null }], 'file', /Send it as a file/],
    [[{ model: 't', response_format: 'xml' }], 'response_format', /json, text, srt, vtt, verbose_json/],
    [[{ model: 't', temperature: '2' }], 'temperature', /0 to 1/],
    [[{ model: 't', temperature: 'warm' }], 'temperature', /0 to 1/],
    [[{ model: 't', language: 'x; drop' }], 'language', /code/],
    [[{ model: 't', prompt: 'x'.repeat(32_769) }], 'prompt', /at most 32768 characters/],
    [[{ model: 't', stream: 'maybe' }], 'stream', /true or false/],
    [[{ model: 't', stream: 'true', response_format: 'srt' }], 'stream', /srt/],
    [[{ model: 't', stream: 'constructor' }], 'stream', /true or false/],
    [[{ model: ['t', 't'] }], 'model', /twice/],
    [[{ model: 't', 'timestamp_granularities[]': ['hour'] }], 'timestamp_granularities', /word or segment/],
    [[{ model: 't', 'timestamp_granularities[]': ['word'] }], 'timestamp_granularities', /verbose_json/],
    [[{ model: 'claude' }], 'model', /serves \/v1\/audio\/transcriptions/],
    [[{ model: 'live', response_format: 'srt' }], 'response_format', /times/],
    [[{ model: 'live', response_format: 'verbose_json' }], 'response_format', /times/],
  ];
  for (const [asked, param, words] of wrong) {
    const error = await refused(...asked);
    assert.deepEqual([error.code, error.type, error.param], [400, 'invalid_request_error', param], error.message);
    assert.match(error.message, words);
  }
  assert.equal((await refused({ model: 'nobody' })).code, 404);
  // Mistral reads files of its account by such a field.
  assert.match((await refused({ model: 't', file_id: 'file-of-another' })).message, /'file_id' names was not found/);
  assert.equal(first.forms.length, before);
  await emptied();
  assert.equal((await ask({ model: 'stt-1', prompt: 'x'.repeat(32_768) })).status, 200, 'the longest prompt');
});

test('design §6 100 parts are refused, and so is a second file', async () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`field${i}`, 'x']));
  assert.match((await refused({ model: 't', ...many })).message, /64 parts/);
  const form = new FormData();
  form.append('model', 't');
  for (const name of ['file', 'other']) form.append(name, new Blob([new Uint8Array(wavOf(0.1))]), 'a.wav');
  const two = await gateway.fetch(transcriptionsPath, { method: 'POST', body: form });
  assert.equal(two.status, 400);
  await two.arrayBuffer();
  await emptied();
});

test('design §6 a failure is hidden by the next target, which gets the same file; nothing stays on disk', async (t) => {
  const own = await transcribeWorld(t);
  const file = wavOf(2);
  own.first.script(json({ error: { message: 'overloaded' } }, 503));
  const response = await own.ask({ model: 't' }, { file });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('x-culvert-provider'), 'two');
  assert.equal(response.headers.get('x-culvert-attempts'), '2');
  assert.deepEqual(await response.json(), { text: 'Hello there.' });
  assert.deepEqual(own.second.forms.at(-1)?.file?.bytes, file);
  assert.deepEqual(own.first.forms.at(-1)?.file?.bytes, file);
  await own.emptied();
});

for (const [what, body, fields] of [
  ['an error', { error: { message: 'broken', type: 'server_error' } }, {}],
  ['no text', { words: 'no text' }, {}],
  ['no segments', { text: 'Hello there. Bye.', duration: 2 }, { response_format: 'srt' }],
  ['segments without times', { ...timed, segments: [{ text: 'no times' }] }, { response_format: 'vtt' }],
  ['no words', timed, { response_format: 'verbose_json', 'timestamp_granularities[]': ['word', 'segment'] }],
] as const) {
  test(`design §6 a 200 that holds ${what} is none: the next target answers`, async (t) => {
    const own = await transcribeWorld(t);
    own.first.script(json(body));
    own.second.script(json({ ...timed, words: [{ word: 'Hello', start: 0, end: 1 }] }));
    const response = await own.ask({ model: 't', ...fields });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('x-culvert-provider'), 'two');
    await response.arrayBuffer();
  });
}

test('design §6 when nobody can write it down it is 502, free, and nothing stays on disk', async (t) => {
  const own = await transcribeWorld(t);
  const down = json({ error: { message: 'down' } }, 500);
  for (const upstream of [own.first, own.second]) upstream.script(down, down, down, down);
  const response = await own.ask({ model: 't' });
  assert.equal(response.status, 502);
  assert.equal(response.headers.get('x-culvert-cost'), '0');
  assert.equal((await own.record(response)).units, 0);
  await own.emptied();
});

test('design §6 silence is an answer: an empty text, and subtitles without a cue', async () => {
  first.script(json({ text: '' }), json({ text: '', duration: 1 }));
  assert.deepEqual(await (await ask({ model: 'stt-1' })).json(), { text: '' });
  assert.equal(await (await ask({ model: 'stt-1', response_format: 'vtt' })).text(), 'WEBVTT\n\n');
});

test('design §6 what the upstream says against the file passes on with its status, and costs nothing', async () => {
  const error = { error: { message: 'Audio file is too short.', type: 'invalid_request_error', param: 'file' } };
  first.script(json(error, 400));
  const response = await ask({ model: 'stt-1' });
  const body = (await response.json()) as { error: { message: string; param: string } };
  assert.deepEqual([response.status, body.error.param], [400, 'file']);
  assert.match(body.error.message, /one: answered 400: Audio file is too short/);
  assert.equal(response.headers.get('x-culvert-cost'), '0');
  await emptied();
});

test('design §11 a transcript costs one unit and its minutes: as the upstream tells them, else as they are measured', async () => {
  first.script(json({ text: 'Hi', usage: { type: 'duration', seconds: 30 } }));
  const told = await record(await ask({ model: 't' }));
  assert.deepEqual([told.units, told.usage.audio_ms, told.cost_usd], [1, 30_000, 0.003]);
  const measured = await record(await ask({ model: 't' }, { file: wavOf(3) }));
  assert.deepEqual([measured.units, measured.usage.audio_ms, measured.cost_usd], [1, 3_000, 0.0003]);
  const tokens = { type: 'tokens', input_tokens: 14, output_tokens: 45, total_tokens: 59 };
  first.script(json({ text: 'Hi', usage: tokens }));
  const counted = await record(await ask({ model: 'live' }));
  assert.deepEqual([counted.usage.input_tokens, counted.usage.output_tokens], [14, 45]);
});

test('design §6 stream: the upstream’s own events where it has some, made of the whole where it has none', async () => {
  first.script(
    events(
      { type: 'transcript.text.delta', delta: 'Hello', logprobs: [] },
      { type: 'transcript.text.delta', delta: ' there.' },
      {
        type: 'transcript.text.done',
        text: 'Hello there.',
        usage: { type: 'tokens', input_tokens: 5, output_tokens: 3 },
      },
    ),
  );
  const passed = await ask({ model: 'live', stream: 'true' });
  assert.match(passed.headers.get('content-type')!, /^text\/event-stream/);
  assert.match(await passed.text(), /"logprobs":\[\]/);
  assert.deepEqual(last().fields.at(-1), ['stream', 'true']);
  const { usage } = await record(passed);
  assert.deepEqual([usage.input_tokens, usage.output_tokens, usage.source], [5, 3, 'upstream']);

  const made = await ask({ model: 'stt-1', stream: 'true' });
  assert.deepEqual(eventsOf(await made.text()), [
    { type: 'transcript.text.delta', delta: 'Hello there.' },
    { type: 'transcript.text.done', text: 'Hello there.' },
  ]);
  assert.equal(
    last().fields.some(([name]) => name === 'stream'),
    false,
  );
  // Some that have events elsewhere answer whole nevertheless.
  const wholeAfterAll = await ask({ model: 'live', stream: 'true' });
  assert.equal(eventsOf(await wholeAfterAll.text()).length, 2);
});

test('design §6 a stream that fails before its first text goes to the next target; after it, it ends by an error', async (t) => {
  const delta = { type: 'transcript.text.delta', delta: 'Hel' };
  const alias = { models: { l: { type: 'transcription', targets: twice('gpt-4o-transcribe') } } };
  const own = await transcribeWorld(t, alias);
  own.first.script(json({ error: { message: 'down' } }, 500));
  own.second.script(events(delta, { type: 'transcript.text.done', text: 'Hel' }));
  const hidden = await own.ask({ model: 'l', stream: 'true' });
  assert.deepEqual(eventsOf(await hidden.text()), [delta, { type: 'transcript.text.done', text: 'Hel' }]);
  own.first.script(events(delta));
  const cut = await own.ask({ model: 'l', stream: 'true' });
  const seen = eventsOf(await cut.text());
  assert.deepEqual(seen[0], delta);
  assert.ok('error' in (seen.at(-1) as object), 'a cut stream must not look like a finished one');
  assert.equal((await own.record(cut)).units, 1);
});

test('design §6 POST /v1/audio/translations asks for English, of models that translate alone', async (t) => {
  const response = await ask({ model: 'stt-1', response_format: 'text' }, { path: translationsPath });
  assert.equal(response.status, 200);
  assert.equal(last().path, '/v1/audio/translations');
  assert.equal((await record(response)).units, 1);
  const own = await transcribeWorld(t, {
    providers: { openai: { type: 'openai', api_key: 'x' } },
    models: { turbo: { type: 'transcription', targets: ['openai/gpt-4o-transcribe'] } },
  });
  assert.match((await own.refused({ model: 'turbo' }, { path: translationsPath })).message, /translation/);
});

test('design §6 an upload over server.upload_limit is 413 while it comes, whatever it declares', async (t) => {
  const own = await transcribeWorld(t, { server: { upload_limit: '1mb' } });
  const large = await own.ask({ model: 't' }, { file: wavOf(60) });
  assert.equal(large.status, 413);
  await large.arrayBuffer();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(
        new TextEncoder().encode('--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'),
      );
    },
    pull(controller) {
      controller.enqueue(new Uint8Array(64 * 1024));
    },
  });
  const init = { method: 'POST', body, duplex: 'half', headers: { 'content-type': 'multipart/form-data; boundary=b' } };
  // The connection is closed under a caller who goes on sending: some clients show that instead of the answer.
  const streamed = await own.gateway.fetch(transcriptionsPath, init as RequestInit).then(
    (response) => response.status,
    () => 413,
  );
  assert.equal(streamed, 413);
  assert.equal(own.first.forms.length, 0);
  await own.emptied();
});

test('design §6 refused in this order: key, then calls a minute, then the form', async (t) => {
  const unknown = await gateway.fetch(transcriptionsPath, {
    method: 'POST',
    body: 'x',
    headers: { authorization: 'Bearer sk-cv-nobody-000000' },
  });
  assert.equal(unknown.status, 401);
  const own = await transcribeWorld(t, { plans: { default: { windows: 'off', rpm: 1 } } });
  assert.equal((await own.refused({ model: 't' }, { file: null })).code, 400);
  assert.equal((await own.refused({ model: 't' }, { file: null })).code, 429);
});

test('design §11 Idempotency-Key: the same form again is the same answer and one run, another file is 409', async () => {
  const headers = { 'idempotency-key': 'once-and-only-once' };
  const before = first.forms.length;
  const one = await ask({ model: 'stt-1', response_format: 'text' }, { headers });
  const again = await ask({ model: 'stt-1', response_format: 'text' }, { headers });
  assert.equal(await again.text(), await one.text());
  assert.equal(again.headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.equal(again.headers.get('x-culvert-idempotent-replay'), one.headers.get('x-culvert-request-id'));
  assert.equal(first.forms.length, before + 1);
  const other = await ask({ model: 'stt-1', response_format: 'text' }, { headers, file: wavOf(2) });
  assert.equal(other.status, 409);
});

test('design §1 who leaves while it is written down is not charged, and nothing stays on disk', async () => {
  const arrived = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  first.script((response) => {
    response.on('close', () => closed.resolve());
    arrived.resolve();
  });
  const controller = new AbortController();
  const gone = assert.rejects(ask({ model: 'stt-1' }, { signal: controller.signal }));
  await arrived.promise;
  controller.abort();
  await gone;
  await closed.promise;
  await emptied();
});

function twice(model: string) {
  return [`one/${model}`, { provider: 'two', model, priority: 2 }];
}

function eventsOf(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)) as unknown);
}

/** Three silent frames: MPEG 1, layer 3, 128 kbit/s, 44.1 kHz. */
function mp3Frames(): Buffer {
  const frame = Buffer.alloc(417);
  Buffer.from([0xff, 0xfb, 0x90, 0x00]).copy(frame);
  return Buffer.concat([frame, frame, frame]);
}
