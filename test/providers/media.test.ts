import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { toFile } from 'openai';
import { toneWav } from '../contract/speech-world.ts';
import { adminKey } from '../start-gateway.ts';
import { aliasOf, basePathOf, credentialOf, kindsOf, openEveryType, types } from './every-type.ts';

/* Vectors, sound, pictures and lists by every type of provider that has them, with the official client. */

const every = await openEveryType({ after: after as TestContext['after'] });
const { openai, gateway } = every;

/** Each asks an alias and checks its answer. */
const asks = {
  async embedding(model: string) {
    const { data } = await openai.embeddings.create({ model, input: ['alpha', 'beta'] });
    assert.equal(data.length, 2);
    assert.ok(data[0]!.embedding.length > 0 && data[0]!.embedding.length === data[1]!.embedding.length);
  },
  async speech(model: string, format: 'mp3' | 'wav') {
    const answer = await openai.audio.speech.create({ model, voice: 'alloy', input: 'Hello', response_format: format });
    assert.ok((await answer.arrayBuffer()).byteLength > 100);
  },
  async transcription(model: string) {
    const file = await toFile(toneWav, 'tone.wav');
    const { text } = await openai.audio.transcriptions.create({ model, file });
    assert.ok(text.length > 0);
  },
  async image(model: string) {
    const { data } = await openai.images.generate({
      model,
      prompt: 'A culvert',
      size: '1024x1024',
      response_format: 'b64_json',
    });
    assert.match(data![0]!.b64_json!, /^(iVBOR|\/9j\/)/, 'a PNG or a JPEG');
  },
  async rerank(model: string) {
    const json = { model, query: 'bread', documents: ['flour', 'rates'] };
    const answer = await gateway.fetch('/v1/rerank', { json });
    const { results } = (await answer.json()) as { results: { index: number }[] };
    assert.deepEqual(results.map(({ index }) => index).sort(), [0, 1]);
  },
} as const;

for (const provider of types) {
  for (const kind of kindsOf(provider)) {
    test(`${provider.id}: ${kind}`, async () => {
      every.forget();
      const outputs = provider.speech?.outputs ?? [];
      await asks[kind](aliasOf(provider, kind), outputs.includes('mp3') ? 'mp3' : 'wav');
      const [request] = every.sent();
      const aboveVersion = basePathOf(provider).replace(/\/v1$/, '');
      const fromOrigin = [provider.embeds?.path, ...Object.values(provider.forwards ?? {})].flatMap((path) =>
        typeof path === 'object' ? [path.fromOrigin, aboveVersion + path.fromOrigin] : [],
      );
      assert.ok(
        request!.path.startsWith(`${basePathOf(provider)}/`) || fromOrigin.includes(request!.path),
        request!.path,
      );
      const credential = credentialOf(provider);
      if (credential !== null) assert.equal(request!.headers[credential[0]], credential[1]);
    });
  }

  const { models, originModels } = provider.paths;
  test(`${provider.id}: its list of models`, async () => {
    const answer = await gateway.fetch('/admin/v1/providers/test', {
      headers: { authorization: `Bearer ${adminKey}` },
      json: {
        type: provider.id,
        ...every.addressOf(provider),
        ...(provider.auth !== 'none' && { api_key: 'a-key' }),
      },
    });
    const { verdict, models: listed } = (await answer.json()) as { verdict: string; models: { id: string }[] };
    if (models === null && originModels === undefined) return assert.deepEqual(listed, []);
    if (provider.id === 'deepgram') {
      return assert.deepEqual(
        listed.map(({ id }) => id),
        ['nova-3', 'aura-2'],
      );
    }
    // The upstream lists in OpenAI's, Anthropic's and Google's shape; others are tested with the code that reads them.
    if (provider.listModels !== undefined && provider.id !== 'gemini') return;
    assert.deepEqual([verdict, listed.map(({ id }) => id)], ['ok', ['listed-model']]);
  });
}

for (const type of ['deepgram', 'elevenlabs', 'fish']) {
  test(`${type}: a transcript with its times`, async () => {
    const provider = types.find(({ id }) => id === type)!;
    const file = await toFile(toneWav, 'tone.wav');
    const wish = { model: aliasOf(provider, 'transcription'), file };
    const { segments, duration } = await openai.audio.transcriptions.create({
      ...wish,
      response_format: 'verbose_json',
    });
    assert.deepEqual(
      segments!.map(({ start, end, text }) => [start, end, text]),
      [[0, 1, 'Hello from the tests.']],
    );
    assert.equal(Number(duration), 1);
    if (provider.transcription!.diarizes === undefined) return;
    const told = (await openai.audio.transcriptions.create({
      ...wish,
      response_format: 'diarized_json',
    })) as unknown as { segments: { speaker: string }[] };
    assert.equal(told.segments[0]!.speaker, type === 'deepgram' ? '0' : 'speaker_0');
  });
}
