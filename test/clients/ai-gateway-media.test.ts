import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import {
  createGateway,
  generateImage,
  generateSpeech,
  experimental_generateVideo as generateVideo,
  rerank,
  transcribe,
} from 'ai';
import { videoErrorFrame } from '../../src/formats/dialects/ai-sdk/errors.ts';
import type { JsonObject } from '../../src/kernel/json.ts';
import { json, startTranscriber, wavOf } from '../scripted-transcriber.ts';
import { otherKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { clip, startVideos } from '../upstream-formats/start-videos.ts';

/* The AI SDK's own gateway client for models that draw, speak, transcribe, rank and film, over several providers. */

const t = { after: after as TestContext['after'] };
const upstream = await startUpstream();
after(() => upstream.close());
const films = await startVideos(t);
const transcriber = await startTranscriber(t);
const gateway = await startGateway(t, {
  providers: {
    openai: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'a' },
    azure: { type: 'azure-openai', base_url: upstream.url, api_key: 'b', api_version: '2025-04-01-preview' },
    google: { type: 'gemini', base_url: upstream.url, api_key: 'c' },
    claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'h' },
    cohere: { type: 'cohere', base_url: upstream.url, api_key: 'd' },
    whisper: { type: 'openai', base_url: `${transcriber.url}/v1`, api_key: 'e' },
    sora: { type: 'openai', base_url: `${films.url}/v1`, api_key: 'f' },
    veo: { type: 'gemini', base_url: films.url, api_key: 'g' },
  },
  models: {
    'draw-openai': { type: 'image', targets: ['openai/gpt-image-1'] },
    'draw-azure': { type: 'image', targets: ['azure/gpt-image-1'] },
    'draw-google': { type: 'image', targets: ['google/gemini-2.5-flash-image'] },
    'speak-openai': { type: 'speech', targets: ['openai/tts-1'] },
    'speak-google': { type: 'speech', targets: ['google/gemini-2.5-flash-preview-tts'] },
    write: { type: 'transcription', targets: ['whisper/whisper-1'] },
    'write-text': { type: 'transcription', targets: ['whisper/gpt-4o-transcribe'] },
    'rank-openai': { type: 'rerank', targets: ['openai/ranker'] },
    'rank-cohere': { type: 'rerank', targets: ['cohere/rerank-v3.5'] },
    'film-openai': { type: 'video', targets: ['sora/sora-2'] },
    'film-google': { type: 'video', targets: ['veo/veo-3.1'] },
    talk: { targets: ['claude/claude-x'] },
  },
});
const vercel = createGateway({ baseURL: `${gateway.url}/v4/ai`, apiKey: gateway.key });
const png = Buffer.from('89504e470d0a1a0a', 'hex');
const isPng = (bytes: Uint8Array) => Buffer.from(bytes.subarray(0, 8)).equals(png);
const lastBody = () => upstream.requests().findLast(({ body }) => body !== null)!.body as JsonObject;
const lastFilm = () => films.requests.findLast(({ method }) => method === 'POST' && true)!.body;
const failureOf = async (call: Promise<unknown>) => {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason as Error & { statusCode: number },
  );
  assert.ok(error !== null);
  return error;
};
const features = (warnings: readonly object[]) =>
  warnings.map((one) => (one as { feature: string }).feature).toSorted();

for (const model of ['draw-openai', 'draw-google']) {
  test(`${model}: images are drawn, and one is changed`, async () => {
    const { images, warnings } = await generateImage({ model: vercel.image(model), prompt: 'A red panda', n: 2 });
    assert.equal(images.length, 2);
    for (const { uint8Array, mediaType } of images) assert.ok(isPng(uint8Array) && mediaType === 'image/png');
    assert.deepEqual(warnings, []);
    assert.match(JSON.stringify(lastBody()), /A red panda/);
    const prompt = { text: 'Now asleep', images: [images[0]!.uint8Array] };
    const changed = await generateImage({ model: vercel.image(model), prompt });
    assert.ok(isPng(changed.image.uint8Array));
  });
}

test('an aspect ratio becomes a size that the model makes, or a warning', async () => {
  await generateImage({ model: vercel.image('draw-azure'), prompt: 'x', aspectRatio: '3:2' });
  assert.equal(lastBody().size, '1536x1024');
  await generateImage({ model: vercel.image('draw-openai'), prompt: 'x', aspectRatio: '16:9', seed: 7 });
  assert.deepEqual([lastBody().size, lastBody().seed], ['1344x768', 7]);
  await generateImage({ model: vercel.image('draw-google'), prompt: 'x', aspectRatio: '16:9' });
  assert.match(JSON.stringify(lastBody()), /16:9/);
  const { warnings } = await generateImage({
    model: vercel.image('draw-azure'),
    prompt: 'x',
    aspectRatio: '7:1',
    seed: 7,
    providerOptions: { openai: { quality: 'high', strange: 1 }, google: { personGeneration: 'x' } },
  });
  assert.deepEqual(features(warnings), [
    'aspectRatio',
    'providerOptions.google.personGeneration',
    'providerOptions.openai.strange',
    'seed',
  ]);
  assert.deepEqual([lastBody().quality, lastBody().seed, lastBody().size], ['high', undefined, undefined]);
});

test('what was left out of an image is in x-culvert-dropped, too', async () => {
  const { responses } = await generateImage({ model: vercel.image('draw-openai'), prompt: 'x', aspectRatio: '7:1' });
  assert.equal(responses[0]!.headers!['x-culvert-dropped'], 'aspectRatio');
});

for (const model of ['speak-openai', 'speak-google']) {
  test(`${model}: a text is spoken`, async () => {
    const { audio, warnings } = await generateSpeech({
      model: vercel.speech(model),
      text: 'Hello there',
      voice: 'alloy',
      outputFormat: 'wav',
      language: 'en',
    });
    assert.equal(Buffer.from(audio.uint8Array.subarray(0, 4)).toString(), 'RIFF');
    assert.deepEqual(features(warnings), ['language']);
    assert.match(JSON.stringify(lastBody()), /Hello there/);
  });
}

test('speed and instructions of a voice go on', async () => {
  const model = vercel.speech('speak-openai');
  await generateSpeech({ model, text: 'x', speed: 2, providerOptions: { openai: { instructions: 'slowly' } } });
  assert.equal(lastBody().speed, 2);
  assert.equal(lastBody().response_format, 'mp3');
});

test('a transcript has its segments, words, language and duration', async () => {
  transcriber.script(
    json({
      task: 'transcribe',
      language: 'english',
      duration: 1.5,
      text: 'Hi you',
      segments: [{ id: 0, start: 0, end: 1.5, text: 'Hi you' }],
      words: [{ word: 'Hi', start: 0, end: 0.5 }],
    }),
  );
  const { text, segments, language, durationInSeconds } = await transcribe({
    model: vercel.transcription('write'),
    audio: wavOf(1),
    providerOptions: { openai: { language: 'en', timestampGranularities: ['word', 'segment'] } },
  });
  assert.deepEqual([text, language, durationInSeconds], ['Hi you', 'en', 1.5]);
  assert.deepEqual(segments, [{ text: 'Hi you', startSecond: 0, endSecond: 1.5 }]);
  const { fields } = transcriber.forms.at(-1)!;
  assert.deepEqual(fields.filter(([name]) => /^(language|timestamp|response)/.test(name)).toSorted(), [
    ['language', 'en'],
    ['response_format', 'verbose_json'],
    ['timestamp_granularities[]', 'segment'],
    ['timestamp_granularities[]', 'word'],
  ]);
});

test('a transcript that tells speakers apart names them, one alone too', async () => {
  const segments = [{ type: 'transcript.text.segment', id: 'a', speaker: 'A', start: 0, end: 1, text: 'Hi' }];
  transcriber.script(json({ task: 'transcribe', duration: 1, text: 'Hi', segments }));
  const { providerMetadata } = await transcribe({ model: vercel.transcription('write-text'), audio: wavOf(1) });
  assert.deepEqual(providerMetadata, { culvert: { segments } });
});

test('a model without times gives the text alone', async () => {
  transcriber.script(json({ text: 'Hi' }));
  const { text, segments } = await transcribe({ model: vercel.transcription('write-text'), audio: wavOf(1) });
  assert.deepEqual([text, segments], ['Hi', []]);
  assert.ok(transcriber.forms.at(-1)!.fields.some(([name, value]) => name === 'response_format' && value === 'json'));
});

for (const model of ['rank-openai', 'rank-cohere']) {
  test(`${model}: documents are ranked, texts and objects`, async () => {
    const documents = ['sea', 'grass is green', 'sky'];
    const ranked = await rerank({ model: vercel.reranking(model), query: 'grass', documents, topN: 2 });
    assert.equal(ranked.ranking.length, 2);
    assert.equal(ranked.ranking[0]!.document, 'grass is green');
    const objects = documents.map((text) => ({ text }));
    const ofObjects = await rerank({ model: vercel.reranking(model), query: 'grass', documents: objects });
    assert.deepEqual(ofObjects.rerankedDocuments[0], { text: 'grass is green' });
    assert.match(JSON.stringify(lastBody().documents), /\\"text\\"/);
  });
}

for (const model of ['film-openai', 'film-google']) {
  test(`${model}: a video is waited for`, async () => {
    const asked = generateVideo({
      model: vercel.video(model),
      prompt: 'A cat',
      aspectRatio: '9:16',
      duration: 8,
      fps: 24,
    });
    const timer = setInterval(() => films.finish(), 200);
    const { video, warnings } = await asked.finally(() => clearInterval(timer));
    assert.deepEqual(Buffer.from(video.uint8Array), clip);
    assert.equal(video.mediaType, 'video/mp4');
    assert.deepEqual(features(warnings), ['fps']);
    assert.match(lastFilm(), model === 'film-openai' ? /"720x1280"/ : /"9:16"/);
  });

  test(`${model}: a video is begun and asked for`, async () => {
    const asked = generateVideo({
      model: vercel.video(model),
      prompt: { text: 'A cat', image: png },
      poll: { intervalMs: 50 },
      seed: 5,
    });
    const timer = setInterval(() => films.finish(), 200);
    const { video, warnings } = await asked.finally(() => clearInterval(timer));
    assert.deepEqual(Buffer.from(video.uint8Array), clip);
    assert.match(lastFilm(), /iVBORw0KGg/);
    assert.deepEqual(features(warnings), model === 'film-openai' ? ['seed'] : []);
  });
}

test('a video that fails ends its call with the reason', async () => {
  const model = vercel.video('film-openai');
  const timer = setInterval(() => films.failAll(), 200);
  const waited = await failureOf(generateVideo({ model, prompt: 'x', maxRetries: 0 }));
  const asked = await failureOf(generateVideo({ model, prompt: 'x', poll: { intervalMs: 50 }, maxRetries: 0 }));
  clearInterval(timer);
  assert.match(waited.message, /no/);
  assert.equal(waited.name, 'GatewayInvalidRequestError');
  assert.equal(asked.message, 'no');
});

test('a video that fails behind comments ends with an event that the SDK reads as an error', () => {
  const failure = { kind: 'overloaded', message: 'Not finished.' } as const;
  const frame = videoErrorFrame(failure, { requestId: 'req_1', nowMs: 0 });
  const { message, ...error } = JSON.parse(frame.replace(/^data: /, '')) as JsonObject;
  assert.match(String(message), /Not finished\./);
  assert.deepEqual(error, { type: 'error', errorType: 'internal_server_error', statusCode: 503, param: null });
});

test('a video of another key is none', async () => {
  const begun = await gateway.fetch('/v4/ai/video-model/start', {
    headers: { 'ai-model-id': 'film-openai' },
    json: { prompt: 'x', n: 1 },
  });
  const { operation } = (await begun.json()) as JsonObject;
  const own = await gateway.fetch('/v4/ai/video-model/status', { json: { operation } });
  assert.deepEqual(await own.json(), { status: 'pending' });
  const stranger = await gateway.fetch('/v4/ai/video-model/status', {
    headers: { authorization: `Bearer ${otherKey}` },
    json: { operation },
  });
  assert.equal(stranger.status, 404);
});

test('calls that are none are refused with their field, in the words of the AI SDK', async () => {
  for (const [kind, model, body, status, field] of [
    ['image', 'draw-openai', {}, 400, /'prompt'/],
    ['image', 'draw-openai', { prompt: 'x', n: 99 }, 400, /'n'/],
    ['image', 'draw-openai', { prompt: 'x', size: '1x1' }, 400, /'size'/],
    ['image', 'draw-openai', { prompt: 'x', files: [{ type: 'url', url: 'ftp://x' }] }, 400, /'files'/],
    ['image', 'nobody', { prompt: 'x' }, 404, /nobody/],
    ['image', 'talk', { prompt: 'x' }, 400, /talk/],
    ['speech', 'speak-openai', { text: ' ' }, 400, /'text'/],
    ['speech', 'speak-openai', { text: 'x', outputFormat: 'ogg' }, 400, /'outputFormat'/],
    ['speech', 'speak-openai', { text: 'x', speed: 9 }, 400, /'speed'/],
    ['transcription', 'write', { audio: 'AAAA', mediaType: 'audio/wav' }, 400, /'audio'/],
    ['transcription', 'write', { audio: 5 }, 400, /'audio'/],
    ['reranking', 'rank-openai', { query: 'x' }, 400, /'documents'/],
    ['reranking', 'rank-openai', { query: 'x', documents: { type: 'text', values: [] } }, 400, /documents\.values/],
    ['video', 'film-openai', { prompt: 'x', n: 2 }, 400, /'n'/],
    ['video', 'film-openai', { prompt: 'x', duration: 2.5 }, 400, /'duration'/],
    ['video', 'film-openai', { prompt: 'x', callbackUrl: 'https://x' }, 400, /'callbackUrl'/],
    ['video', 'film-openai', { prompt: 'x', resolution: 'large' }, 400, /'resolution'/],
  ] as const) {
    const answer = await gateway.fetch(`/v4/ai/${kind}-model`, { headers: { 'ai-model-id': model }, json: body });
    const text = await answer.text();
    assert.notEqual(answer.status, 200, `${kind} ${JSON.stringify(body)}: ${text}`);
    const { error } = JSON.parse(text) as { error: { message: string; type: string } };
    assert.equal(answer.status, status, `${kind} ${JSON.stringify(body)}: ${error.message}`);
    assert.match(error.message, field);
    assert.equal(error.type, status === 404 ? 'model_not_found' : 'invalid_request_error');
  }
  const nameless = await gateway.fetch('/v1/ai/image-model', { json: { prompt: 'x' } });
  assert.match(await nameless.text(), /ai-model-id/);
  const error = await failureOf(generateImage({ model: vercel.image('nobody'), prompt: 'x', maxRetries: 0 }));
  assert.equal(error.name, 'GatewayModelNotFoundError');
});

test('models are listed by what they are', async () => {
  const { models: listed } = await vercel.getAvailableModels();
  const types = new Map(listed.map(({ id, modelType }) => [id, modelType]));
  assert.deepEqual(
    ['draw-openai', 'speak-google', 'write', 'rank-cohere', 'film-google'].map((id) => types.get(id)),
    ['image', 'speech', 'transcription', 'reranking', 'video'],
  );
});

test('the ledger has rows of the families', async () => {
  for (const [kind, model, body, endpoint] of [
    ['image', 'draw-openai', { prompt: 'x', n: 1 }, 'image'],
    ['reranking', 'rank-openai', { query: 'x', documents: { type: 'text', values: ['x'] } }, 'rerank'],
  ] as const) {
    const answer = await gateway.fetch(`/v4/ai/${kind}-model`, { headers: { 'ai-model-id': model }, json: body });
    await answer.arrayBuffer();
    const id = answer.headers.get('x-culvert-request-id')!;
    const record = (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as JsonObject;
    assert.equal(record.endpoint, endpoint);
  }
});
