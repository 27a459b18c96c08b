import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, GoogleGenAI, Modality } from '@google/genai';
import { openThreeProviders } from './three-providers.ts';

/* Speech and pictures by Google's own SDK, over providers of several formats: by `responseModalities`, and by `:predict`. */

const { upstream, gateway } = await openThreeProviders({
  'speak-openai': { type: 'speech', targets: ['openai/tts-1'] },
  'speak-google': { type: 'speech', targets: ['google/gemini-2.5-flash-preview-tts'] },
  'draw-openai': { type: 'image', targets: ['openai/gpt-image-1'] },
  'draw-google': { type: 'image', targets: ['google/gemini-2.5-flash-image'] },
  'draw-nothing': { type: 'image', targets: ['openai/mock/status=500'] },
});
const google = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.url } });
const sent = () => JSON.stringify(upstream.requests().findLast(({ method }) => method === 'POST')!.body);
const hasStatus = (status: number, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ApiError, String(error));
  assert.equal(error.status, status);
  assert.match(error.message, message);
  return true;
};
const png = Buffer.from('89504e470d0a1a0a', 'hex');
const speech = {
  responseModalities: [Modality.AUDIO],
  speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'alloy' } } },
};

for (const model of ['speak-openai', 'speak-google']) {
  test(`${model}: a whole answer holds the sound`, async () => {
    const answer = await google.models.generateContent({ model, contents: 'Hello there', config: speech });
    const [part] = answer.candidates![0]!.content!.parts!;
    assert.equal(part!.inlineData!.mimeType, 'audio/L16;codec=pcm;rate=24000');
    const sound = Buffer.from(part!.inlineData!.data!, 'base64');
    assert.ok(sound.length > 4_800 && sound.length % 2 === 0);
    assert.equal(answer.candidates![0]!.finishReason, 'STOP');
    assert.ok(answer.usageMetadata!.promptTokenCount! > 0);
    assert.match(sent(), /Hello there/);
  });

  test(`${model}: a stream has the same sound in pieces`, async () => {
    const request = { model, contents: 'Hello there', config: speech };
    const whole = await google.models.generateContent(request);
    const pieces: Buffer[] = [];
    let reason: string | undefined;
    for await (const chunk of await google.models.generateContentStream(request)) {
      for (const part of chunk.candidates?.[0]?.content?.parts ?? []) {
        pieces.push(Buffer.from(part.inlineData!.data!, 'base64'));
      }
      reason = chunk.candidates?.[0]?.finishReason ?? reason;
    }
    assert.equal(reason, 'STOP');
    const data = whole.candidates![0]!.content!.parts![0]!.inlineData!.data!;
    assert.ok(Buffer.concat(pieces).equals(Buffer.from(data, 'base64')));
  });

  test(`${model}: words of a failure are Google’s`, async () => {
    const voiceConfig = { prebuiltVoiceConfig: { voiceName: 'nobody' } };
    const config = { ...speech, speechConfig: { voiceConfig } };
    const asked = google.models.generateContent({ model, contents: 'Hello', config });
    // OpenAI's format passes unknown voices on.
    if (model === 'speak-google') await assert.rejects(asked, hasStatus(400, /prebuiltVoiceConfig\.voiceName/));
    else await asked;
    const written = google.models.generateContent({ model, contents: 'Hello' });
    await assert.rejects(written, hasStatus(400, /responseModalities/));
  });
}

for (const model of ['draw-openai', 'draw-google']) {
  test(`${model}: a whole answer holds the picture`, async () => {
    const config = { responseModalities: [Modality.IMAGE], imageConfig: { aspectRatio: '1:1' } };
    const answer = await google.models.generateContent({ model, contents: 'A red panda', config });
    const [part] = answer.candidates![0]!.content!.parts!;
    assert.equal(part!.inlineData!.mimeType, 'image/png');
    assert.ok(Buffer.from(part!.inlineData!.data!, 'base64').subarray(0, 8).equals(png));
    assert.match(sent(), /A red panda/);
    const stream = await google.models.generateContentStream({ model, contents: 'A red panda', config });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    assert.equal(chunks.at(-1)!.candidates![0]!.finishReason, 'STOP');
    assert.ok(chunks.some((chunk) => chunk.candidates![0]!.content!.parts!.some(({ inlineData }) => inlineData)));
  });

  test(`${model}: a picture is changed`, async () => {
    const drawn = await google.models.generateContent({ model, contents: 'A red panda' });
    const { inlineData } = drawn.candidates![0]!.content!.parts![0]!;
    const parts = [{ text: 'Now asleep' }, { inlineData: inlineData! }];
    const answer = await google.models.generateContent({ model, contents: [{ role: 'user', parts }] });
    assert.equal(answer.candidates![0]!.content!.parts![0]!.inlineData!.mimeType, 'image/png');
  });

  // As Google's SDKs before version 3 ask.
  test(`${model}: predict gives several`, async () => {
    const response = await gateway.fetch(`/v1beta/models/${model}:predict`, {
      json: { instances: [{ prompt: 'A red panda' }], parameters: { sampleCount: 2, aspectRatio: '1:1' } },
    });
    const { predictions } = (await response.json()) as { predictions: Record<string, string>[] };
    assert.equal(predictions.length, 2);
    for (const { mimeType, bytesBase64Encoded } of predictions) {
      assert.equal(mimeType, 'image/png');
      assert.ok(Buffer.from(bytesBase64Encoded!, 'base64').subarray(0, 8).equals(png));
    }
  });
}

test('what a family cannot say is named', async () => {
  const response = await gateway.fetch('/v1beta/models/speak-openai:generateContent', {
    json: {
      system_instruction: { parts: [{ text: 'Speak slowly' }] },
      contents: [{ parts: [{ text: 'before' }] }, { parts: [{ text: 'Hello' }] }],
      generationConfig: { responseModalities: ['AUDIO'], temperature: 1, speechConfig: { languageCode: 'de-DE' } },
      tools: [{ googleSearch: {} }],
    },
  });
  assert.equal(response.status, 200);
  const dropped = response.headers.get('x-culvert-dropped')!;
  for (const field of ['contents', 'tools', 'generationConfig.temperature', 'speechConfig.languageCode']) {
    assert.ok(dropped.includes(field), `${field} of ${dropped}`);
  }
  assert.match(sent(), /Speak slowly/);
  await response.arrayBuffer();
});

test('bad requests for media are 400 or 404, naming the field', async () => {
  const contents = [{ parts: [{ text: 'x' }] }];
  const modalities = { responseModalities: ['AUDIO'] };
  const twoVoices = { multiSpeakerVoiceConfig: { speakerVoiceConfigs: [] } };
  for (const [path, json, status, field] of [
    ['speak-openai:generateContent', { contents: [], generationConfig: modalities }, 400, /contents/],
    ['speak-openai:generateContent', { contents: 5, generationConfig: modalities }, 400, /contents/],
    [
      'speak-openai:generateContent',
      { contents, generationConfig: { ...modalities, speechConfig: twoVoices } },
      400,
      /multiSpeakerVoiceConfig/,
    ],
    ['draw-openai:generateContent', { contents, generationConfig: modalities }, 400, /responseModalities/],
    ['draw-openai:generateContent', { contents: [] }, 400, /contents/],
    ['draw-openai:generateContent', { contents, generationConfig: { candidateCount: 99 } }, 400, /candidateCount/],
    ['draw-openai:predict', {}, 400, /instances/],
    ['draw-openai:predict', { instances: [{ prompt: 'x' }], parameters: { sampleCount: 99 } }, 400, /sampleCount/],
    ['nope:predict', { instances: [{ prompt: 'x' }] }, 404, /nope/],
  ] as const) {
    const response = await gateway.fetch(`/v1beta/models/${path}`, { json });
    const text = await response.text();
    assert.equal(response.status, status, `${path} ${text}`);
    assert.match(text, field);
    assert.match(text, /"status":"/);
  }
});

test('the ledger has a row of the family', async () => {
  const response = await gateway.fetch('/v1beta/models/draw-openai:generateContent', {
    json: { contents: [{ parts: [{ text: 'x' }] }] },
  });
  await response.arrayBuffer();
  const id = response.headers.get('x-culvert-request-id')!;
  const record = await (await gateway.fetch(`/v1/requests/${id}`)).json();
  assert.equal((record as { endpoint: string }).endpoint, 'image');
});

test('the ledger has the status of a request that failed', async () => {
  const json = { contents: [{ parts: [{ text: 'x' }] }] };
  const response = await gateway.fetch('/v1beta/models/draw-nothing:generateContent', { json });
  await response.arrayBuffer();
  assert.equal(response.status, 502);
  const id = response.headers.get('x-culvert-request-id')!;
  const record = await (await gateway.fetch(`/v1/requests/${id}`)).json();
  assert.equal((record as { status: number }).status, 502);
});
