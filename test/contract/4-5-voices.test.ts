import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { openai } from '../../src/formats/providers/services/openai.ts';
import { startGateway } from '../start-gateway.ts';
import type { ErrorBody } from './served.ts';
import { speechPath, startSpeaking } from './speech-world.ts';

const file = { after: after as TestContext['after'] };
const upstream = await startSpeaking(file, {
  '/v1/audio/voices': { voices: ['house_voice', 'marin', { id: 'second', name: 'Second' }, 7, { name: 'bad\nname' }] },
});
const base_url = `${upstream.url}/v1`;
const gateway = await startGateway(file, {
  providers: {
    open: { type: 'openai', base_url, api_key: 'x' },
    // It lists nothing.
    silent: { type: 'openai', base_url: `${upstream.url}/silent/v1`, api_key: 'x' },
    // Google's voices are known, and nobody else's.
    google: { type: 'gemini', base_url: upstream.url, api_key: 'x' },
    orpheus: { type: 'groq', base_url, api_key: 'x' },
  },
  models: {
    open: { type: 'speech', targets: ['open/any'] },
    'any-voice': { type: 'speech', targets: ['silent/any'] },
    mapped: {
      type: 'speech',
      targets: [{ provider: 'open', model: 'any', priority: 2 }, 'orpheus/orpheus-v1'],
      voices: { alloy: 'af_alloy', narrator: 'nova' },
    },
    google: { type: 'speech', targets: ['google/tts'] },
    orpheus: { type: 'speech', targets: ['orpheus/orpheus-v1'] },
    either: { type: 'speech', targets: ['orpheus/orpheus-v1', 'google/tts'] },
    chat: { targets: ['open/any'] },
  },
});

/** Voice that the upstream was asked for, and the dropped parts that the caller saw. */
async function voiceFor(model: string, voice: unknown): Promise<{ asked: unknown; dropped: string | null }> {
  upstream.calls.length = 0;
  const response = await gateway.fetch(speechPath, {
    json: { model, voice, input: 'Hello.', response_format: 'wav' },
  });
  assert.equal(response.status, 200, await response.clone().text());
  await response.arrayBuffer();
  return { asked: upstream.calls[0]!.body.voice, dropped: response.headers.get('x-culvert-dropped') };
}

async function refusal(model: string, voice: unknown): Promise<string> {
  upstream.calls.length = 0;
  const response = await gateway.fetch(speechPath, { json: { model, voice, input: 'Hello.' } });
  const { error } = (await response.json()) as ErrorBody;
  assert.deepEqual([response.status, error.param], [400, 'voice'], error.message);
  assert.equal(upstream.calls.length, 0);
  return error.message;
}

for (const voice of ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer']) {
  test(`§4.5 "the six standard voices": ${voice}, by its own name or the service's for it`, async () => {
    assert.deepEqual(await voiceFor('open', voice), { asked: voice, dropped: null });
    const { asked, dropped } = await voiceFor('orpheus', voice);
    assert.match(asked as string, /^(autumn|diana|hannah|austin|daniel|troy)$/);
    assert.equal(dropped, null);
  });
}

test('§4.5 "native voice names of the underlying speech engine … are also accepted"', async () => {
  assert.deepEqual(await voiceFor('open', 'af_heart'), { asked: 'af_heart', dropped: null });
});

test('§4.5 design §6: a native name on a target without it becomes the nearest standard voice, and is told as dropped', async () => {
  assert.deepEqual(await voiceFor('orpheus', 'bm_george'), { asked: 'daniel', dropped: 'voice' });
  assert.deepEqual(await voiceFor('orpheus', 'am_echo'), { asked: 'austin', dropped: 'voice' });
  assert.deepEqual(await voiceFor('orpheus', 'zf_xiaoni'), { asked: 'diana', dropped: 'voice' });
});

for (const voice of ['ash', 'ballad', 'coral', 'sage', 'verse', 'marin', 'cedar']) {
  test(`OpenAI's later voice ${voice} goes to who may have it, and becomes the nearest standard one elsewhere`, async () => {
    assert.deepEqual(await voiceFor('any-voice', voice), { asked: voice, dropped: null });
    const { asked, dropped } = await voiceFor('orpheus', voice);
    assert.match(asked as string, /^(autumn|diana|hannah|austin|daniel|troy)$/);
    assert.equal(dropped, 'voice');
  });
}

test("OpenAI's own service has its later voices with every model but the older ones", () => {
  const voices = openai.speech?.voices as readonly { models?: RegExp; names: readonly string[] }[];
  const namesOf = (model: string) => voices.find(({ models }) => models?.test(model) ?? true)?.names ?? [];
  for (const voice of ['ballad', 'verse', 'marin', 'cedar']) {
    assert.ok(namesOf('gpt-4o-mini-tts').includes(voice), voice);
    assert.ok(!namesOf('tts-1-hd').includes(voice), voice);
  }
});

test("OpenAI's later voices on a server that lists its own: the nearest standard one, unless it has them", async () => {
  assert.deepEqual(await voiceFor('open', 'cedar'), { asked: 'onyx', dropped: 'voice' });
  assert.deepEqual(await voiceFor('open', 'marin'), { asked: 'marin', dropped: null });
});

test('§4.5: a service’s own voice is asked for as it is, of the targets that have it', async () => {
  assert.deepEqual(await voiceFor('orpheus', 'troy'), { asked: 'troy', dropped: null });
  assert.deepEqual(await voiceFor('either', 'troy'), { asked: 'troy', dropped: null });
});

test('§4.5 design §6: an unknown voice is a 400 with the list', async () => {
  const told = await refusal('orpheus', 'nobody');
  assert.match(told, /'orpheus' has no voice "nobody".*alloy, echo, fable, onyx, nova, shimmer, autumn/);
  assert.match(await refusal('google', 'AF_heart'), /Zephyr, Puck/);
  await refusal('orpheus', '__proto__');
});

test('§4.5 design §5: `voices` of an alias says what callers’ names mean; what a target cannot say is brought near', async () => {
  // The second target has the voice that the operator means, the first one only something like it.
  assert.deepEqual(await voiceFor('mapped', 'alloy'), { asked: 'af_alloy', dropped: null });
  assert.deepEqual(await voiceFor('mapped', 'narrator'), { asked: 'diana', dropped: null });
  assert.deepEqual(await voiceFor('mapped', 'echo'), { asked: 'austin', dropped: null });
});

test('§4.5: a voice of the caller’s own, by id, goes to services of OpenAI’s format alone', async () => {
  assert.deepEqual(await voiceFor('open', { id: 'voice_123' }), { asked: { id: 'voice_123' }, dropped: null });
  await refusal('google', { id: 'voice_123' });
});

test("OpenAI's voices are the same as objects with an id", async () => {
  assert.deepEqual(await voiceFor('open', { id: 'cedar' }), { asked: 'onyx', dropped: 'voice' });
  const { asked } = await voiceFor('orpheus', { id: 'alloy' });
  assert.deepEqual(asked, (await voiceFor('orpheus', 'alloy')).asked);
});

interface Voices {
  object: string;
  data: { id: string; object: string; name: string; kind: string; models: string[] }[];
  voices: unknown[];
}

async function listed(query = ''): Promise<Voices> {
  const response = await gateway.fetch(`/v1/audio/voices${query}`);
  assert.equal(response.status, 200);
  return (await response.json()) as Voices;
}

test('§4.5 design §6: GET /v1/audio/voices lists a model’s voices, those that its server lists too', async () => {
  const { object, data, voices } = await listed('?model=open');
  assert.equal(object, 'list');
  assert.deepEqual(
    data.map(({ id }) => id),
    ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer', 'house_voice', 'marin', 'second'],
  );
  assert.deepEqual(data[6], {
    id: 'house_voice',
    object: 'voice',
    name: 'house_voice',
    kind: 'native',
    models: ['open'],
  });
  assert.equal(data[0]!.kind, 'standard');
  assert.deepEqual(voices, data);
  const mapped = (await listed('?model=mapped')).data.map(({ id }) => id);
  assert.ok(mapped.includes('narrator'));
});

test('§4.5: without a model it lists the voices of all that speak, with the models that have each', async () => {
  const { data } = await listed();
  // `tts-1` is always there.
  const withAlloy = data.find(({ id }) => id === 'alloy')!.models.filter((id) => id !== 'tts-1');
  assert.deepEqual(withAlloy, ['open', 'any-voice', 'mapped', 'google', 'orpheus', 'either']);
  const withKore = data.find(({ id }) => id === 'Kore')!.models;
  assert.ok(withKore.includes('google') && withKore.includes('either') && !withKore.includes('orpheus'));
});

test('§4.5: the voices of an unknown model are a 404, and nobody’s without a key', async () => {
  assert.equal((await gateway.fetch('/v1/audio/voices?model=nobody')).status, 404);
  assert.equal((await fetch(`${gateway.url}/v1/audio/voices`)).status, 401);
});
