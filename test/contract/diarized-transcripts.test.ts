import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { events, json, wavOf } from '../scripted-transcriber.ts';
import { startGateway } from '../start-gateway.ts';
import { transcribeWorld } from './transcribe-world.ts';

/* Issue 13 §4: transcripts that say who spoke, by OpenAI's own SDK. */

const { ask, refused, first, gateway } = await transcribeWorld(
  { after: after as TestContext['after'] },
  {
    models: {
      who: {
        type: 'transcription',
        targets: [{ provider: 'two', model: 'whisper-1' }, 'one/gpt-4o-transcribe-diarize'],
      },
    },
  },
);
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
const file = () => toFile(wavOf(2), 'talk.wav');
const segment = (id: string, speaker: string, start: number, end: number, text: string) => ({
  type: 'transcript.text.segment',
  id,
  start,
  end,
  text,
  speaker,
});
const told = {
  task: 'transcribe',
  duration: 2,
  text: 'Hello. Bye.',
  segments: [segment('s1', 'agent', 0, 1, 'Hello.'), segment('s2', 'B', 1, 2, 'Bye.')],
  usage: { type: 'tokens', input_tokens: 20, output_tokens: 4, total_tokens: 24 },
};

test('a diarized transcript comes whole from the one target that tells speakers apart, as it told them', async () => {
  first.script(json(told));
  const transcript = await client.audio.transcriptions.create({
    file: await file(),
    model: 'who',
    response_format: 'diarized_json',
    chunking_strategy: 'auto',
    known_speaker_names: ['agent'],
  });
  assert.deepEqual(transcript, told);
  const sent = first.forms.at(-1)!.fields;
  for (const field of [
    ['model', 'gpt-4o-transcribe-diarize'],
    ['response_format', 'diarized_json'],
    ['chunking_strategy', 'auto'],
    ['known_speaker_names[]', 'agent'],
  ])
    assert.ok(
      sent.some(([name, value]) => name === field[0] && value === field[1]),
      JSON.stringify(sent),
    );
});

test('samples of known speakers go on whole, ten seconds of sound each', async () => {
  first.script(json(told));
  const sample = `data:audio/wav;base64,${wavOf(10).toString('base64')}`;
  await client.audio.transcriptions.create({
    file: await file(),
    model: 'who',
    response_format: 'diarized_json',
    known_speaker_names: ['agent', 'caller'],
    known_speaker_references: [sample, sample],
  });
  const sent = first.forms.at(-1)!.fields.filter(([name]) => name === 'known_speaker_references[]');
  assert.ok(sample.length > 400_000 && sent.length === 2 && sent.every(([, value]) => value === sample));
});

test('a diarized stream is the upstream’s own, or the whole as its events', async () => {
  const [one, two] = told.segments;
  const done = { type: 'transcript.text.done', text: told.text, usage: told.usage };
  first.script(events(one, two, done), json(told));
  for (let i = 0; i < 2; i += 1) {
    const stream = await client.audio.transcriptions.create({
      file: await file(),
      model: 'who',
      response_format: 'diarized_json',
      stream: true,
    });
    const seen = [];
    for await (const event of stream) seen.push(event);
    assert.deepEqual(
      seen.filter(({ type }) => type === 'transcript.text.segment'),
      [one, two],
    );
    const deltas = seen.flatMap((event) => (event.type === 'transcript.text.delta' ? [event.delta] : []));
    if (i === 1) assert.equal(deltas.join(''), told.text);
    const last = seen.at(-1)!;
    assert.ok(last.type === 'transcript.text.done' && last.text === told.text);
  }
});

test('a refusal names a model that can do it', async () => {
  const { message } = await refused({ model: 't', response_format: 'diarized_json' });
  assert.match(message, /Use 'who', or leave that out/);
});

test('where nobody tells speakers apart, or the answer does not, that is said', async () => {
  const before = first.forms.length;
  const { message, code } = await refused({ model: 't', response_format: 'diarized_json' });
  assert.equal(code, 400);
  assert.match(message, /diarized_json/);
  const translated = await ask({ model: 'who', response_format: 'diarized_json' }, { path: '/v1/audio/translations' });
  assert.equal(translated.status, 400);
  assert.equal(first.forms.length, before);
  first.script(json({ ...told, segments: told.segments.map(({ speaker: _, ...rest }) => rest) }));
  const without = await ask(
    { model: 'who', response_format: 'diarized_json' },
    { headers: { 'x-culvert-no-fallback': 'true' } },
  );
  assert.equal(without.status, 502);
  assert.match(await without.text(), /who said what/);
});

test('before any provider is configured, whisper-1 is there, and tells two speakers apart', async (t) => {
  const bare = await startGateway(t);
  const simulated = new OpenAI({ baseURL: `${bare.url}/v1`, apiKey: bare.key, maxRetries: 0 });
  const { text } = await simulated.audio.transcriptions.create({ file: await file(), model: 'whisper-1' });
  assert.match(text, /^\[simulated\]/);
  const diarized = await simulated.audio.transcriptions.create({
    file: await file(),
    model: 'whisper-1',
    response_format: 'diarized_json',
  });
  const { segments } = diarized as unknown as { segments: { speaker: string }[] };
  assert.deepEqual(new Set(segments.map(({ speaker }) => speaker)), new Set(['A', 'B']));
  assert.ok((await simulated.models.list()).data.some(({ id }) => id === 'whisper-1'));
});
