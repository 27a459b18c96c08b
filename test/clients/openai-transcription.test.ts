import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { transcribeWorld } from '../contract/transcribe-world.ts';
import { events, json, wavOf } from '../scripted-transcriber.ts';

/** The real SDK; every method of its that sends sound to be written down. */
const { gateway, first } = await transcribeWorld({ after: after as TestContext['after'] });
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
const file = () => toFile(wavOf(1), 'speech.wav');

test('openai: audio.transcriptions.create gives text, an object or subtitles, as it was asked', async () => {
  const plain = await client.audio.transcriptions.create({ model: 't', file: await file() });
  assert.equal(plain.text, 'Hello there.');
  const told = {
    task: 'transcribe',
    language: 'english',
    duration: 1,
    text: 'Hi',
    segments: [{ id: 0, start: 0, end: 1, text: ' Hi' }],
    words: [{ word: 'Hi', start: 0, end: 1 }],
  };
  first.script(json(told), json(told));
  const verbose = await client.audio.transcriptions.create({
    model: 't',
    file: await file(),
    language: 'en',
    response_format: 'verbose_json',
    timestamp_granularities: ['word', 'segment'],
  });
  assert.equal(verbose.words?.[0]?.word, 'Hi');
  assert.equal(verbose.segments?.[0]?.end, 1);
  assert.deepEqual(
    first.forms.at(-1)?.fields.filter(([name]) => name.startsWith('timestamp')),
    [
      ['timestamp_granularities[]', 'word'],
      ['timestamp_granularities[]', 'segment'],
    ],
  );
  const srt = await client.audio.transcriptions.create({ model: 't', file: await file(), response_format: 'srt' });
  assert.equal(srt, '1\n00:00:00,000 --> 00:00:01,000\nHi\n\n');
});

test('openai: audio.transcriptions.create streams', async () => {
  first.script(
    events(
      { type: 'transcript.text.delta', delta: 'Hello' },
      { type: 'transcript.text.delta', delta: ' there.' },
      { type: 'transcript.text.done', text: 'Hello there.' },
    ),
  );
  const stream = await client.audio.transcriptions.create({ model: 'live', file: await file(), stream: true });
  let text = '';
  let done = '';
  for await (const event of stream) {
    if (event.type === 'transcript.text.delta') text += event.delta;
    if (event.type === 'transcript.text.done') done = event.text;
  }
  assert.deepEqual([text, done], ['Hello there.', 'Hello there.']);
});

test('openai: audio.translations.create', async () => {
  const english = await client.audio.translations.create({ model: 't', file: await file() });
  assert.equal(english.text, 'Hello there.');
  assert.equal(first.forms.at(-1)?.path, '/v1/audio/translations');
});

test('openai: what is wrong with the form comes as its BadRequestError', async () => {
  const request = client.audio.transcriptions.create({
    model: 't',
    file: await toFile(Buffer.from('no sound'), 'a.wav'),
  });
  await assert.rejects(request, (error) => error instanceof OpenAI.BadRequestError && error.param === 'file');
});

/* What the AI SDK's providers for Groq, Mistral and OpenAI and Mistral's SDKs check of an answer, by their headers. */
for (const agent of ['ai/7.0.173 ai-sdk-provider-utils/5.0.81', 'mistral-client-typescript/2.7.0 2.869.0']) {
  const asked = async (fields: Record<string, string>) => {
    const body = new FormData();
    for (const [name, value] of Object.entries({ model: 't', ...fields })) body.append(name, value);
    body.append('file', await file());
    return gateway.fetch('/v1/audio/transcriptions', { method: 'POST', body, headers: { 'user-agent': agent } });
  };

  test(`members that a vendor's client demands: ${agent}`, async () => {
    first.script(json({ text: 'Hi', usage: { type: 'duration', seconds: 1.5 } }));
    const { x_groq, ...plain } = (await (await asked({})).json()) as { x_groq: { id: string } };
    assert.match(x_groq.id, /^req_/);
    const usage = { type: 'duration', seconds: 1.5, prompt_audio_seconds: 2 };
    assert.deepEqual(plain, { model: 't', language: null, text: 'Hi', usage });
    first.script(json({ text: 'Hi', duration: 1, segments: [{ id: 0, start: 0, end: 1, text: ' Hi', seek: null }] }));
    const timed = await asked({ timestamp_granularities: 'segment' });
    const { segments } = (await timed.json()) as { segments: object[] };
    const whisper = { seek: 0, tokens: [], temperature: 0, avg_logprob: 0, compression_ratio: 0, no_speech_prob: 0 };
    assert.deepEqual(segments, [{ ...whisper, id: 0, start: 0, end: 1, text: ' Hi' }]);
    assert.equal(first.forms.at(-1)?.fields.find(([name]) => name === 'response_format')?.[1], 'verbose_json');
  });

  test(`a text, a stream and an error pass as they are: ${agent}`, async () => {
    first.script(json({ text: 'Hi', duration: 1, segments: [{ id: 0, start: 0, end: 1, text: ' Hi' }] }));
    assert.equal(await (await asked({ response_format: 'text' })).text(), 'Hi\n');
    first.script(events({ type: 'transcript.text.done', text: 'Hi' }));
    assert.match(await (await asked({ model: 'live', stream: 'true' })).text(), /^data: .*transcript\.text\.done/m);
    const refused = await asked({ response_format: 'xml' });
    const { error } = (await refused.json()) as { error: { param: string } };
    assert.deepEqual([refused.status, error.param], [400, 'response_format']);
  });
}
