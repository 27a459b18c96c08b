import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Failure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { mediaAnswer, picturesIn, predictions, soundPart } from './media-answer.ts';
import { type MediaRequest, pictureRequestOf, predictedPicturesOf, speechRequestOf } from './media-request.ts';
import { videoRequestOf } from './video-request.ts';

/* Requests for sound, pictures and videos that callers of Google's format make, as those of OpenAI's; what is lost has Google's words. */

/** Members in addition to those that every request of the kind has, or the field that is refused. */
type Outcome = { body?: JsonObject; lost?: string[] } | string;

function check(read: MediaRequest | Failure, basics: JsonObject, expected: Outcome) {
  if (typeof expected === 'string') assert.equal('kind' in read && (read as { param?: string }).param, expected);
  else assert.deepEqual(read, { body: { model: 'm', ...basics, ...expected.body }, lost: expected.lost ?? [] });
}

const says = (...texts: string[]) => texts.map((text) => ({ role: 'user', parts: [{ text }] }));
const audio = { responseModalities: ['MODALITY_UNSPECIFIED', 'AUDIO'] };
const voice = (voiceName: string) => ({ speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName } } } });
const sounds: readonly [JsonObject, Outcome][] = [
  [{ contents: says('Hello'), generationConfig: audio }, {}],
  [{ contents: says('Hello'), generationConfig: { ...audio, ...voice('Kore') } }, { body: { voice: 'Kore' } }],
  [{ contents: says('Hello'), generationConfig: { ...audio, ...voice('') } }, {}],
  [
    {
      contents: [...says('Before'), { parts: [{ text: 'Hm', thought: true }, { text: 'Hel' }, { text: 'lo' }, 'no'] }],
      system_instruction: { parts: [{ text: 'Softly' }] },
      generation_config: {
        response_modalities: ['AUDIO'],
        candidateCount: 1,
        seed: 7,
        topK: null,
        speechConfig: { languageCode: 'de' },
      },
      tools: [],
      cachedContent: null,
      safetySettings: [],
      labels: {},
    },
    {
      body: { input: 'Hel\nlo', instructions: 'Softly' },
      lost: ['contents', 'tools', 'generationConfig.seed', 'generationConfig.speechConfig.languageCode'],
    },
  ],
  [{ contents: says('Hello') }, 'generationConfig.responseModalities'],
  [
    { contents: says('Hello'), generationConfig: { responseModalities: ['AUDIO', 'TEXT'] } },
    'generationConfig.responseModalities',
  ],
  [{ contents: says(' '), generationConfig: audio }, 'contents'],
  [{ contents: [], generationConfig: audio }, 'contents'],
  [
    { contents: says('Hello'), generationConfig: { ...audio, speechConfig: { multiSpeakerVoiceConfig: {} } } },
    'generationConfig.speechConfig.multiSpeakerVoiceConfig',
  ],
];

for (const [written, expected] of sounds) {
  test(`sound for ${JSON.stringify(written).slice(0, 100)}`, () => {
    const basics = { input: 'Hello', voice: 'alloy', response_format: 'pcm', stream_format: 'sse' };
    check(speechRequestOf(written, 'm'), basics, expected);
  });
}

const shaped = (imageConfig: JsonObject) => ({ contents: says('Otters'), generationConfig: { imageConfig } });
const pictures: readonly [JsonObject, Outcome][] = [
  [{ contents: says('Otters') }, {}],
  [
    {
      contents: [
        {
          parts: [
            { inlineData: { mimeType: 'image/jpeg', data: 'a-b_' } },
            { fileData: { fileUri: 'https://a.example/1.png' } },
          ],
        },
        { parts: [{ text: 'Otters' }, { inlineData: { data: 'AA==' } }, { inlineData: {} }, { fileData: {} }] },
      ],
      systemInstruction: { parts: [{ text: 'Draw' }] },
      generationConfig: { responseModalities: ['TEXT', 'IMAGE'], candidateCount: 2, temperature: 1 },
    },
    {
      body: {
        prompt: 'Draw\n\nOtters',
        n: 2,
        images: [
          { image_url: 'data:image/jpeg;base64,a+b/' },
          { image_url: 'https://a.example/1.png' },
          { image_url: 'data:image/png;base64,AA==' },
        ],
      },
      lost: ['generationConfig.temperature'],
    },
  ],
  [{ contents: says('Before', 'Otters') }, { lost: ['contents'] }],
  [{ contents: [] }, { body: { prompt: '' } }],
  [shaped({ aspectRatio: '16:9' }), { body: { size: '1344x768' } }],
  [shaped({ aspectRatio: '2:3', imageSize: '2K' }), { body: { size: '1664x2496' } }],
  [shaped({ imageSize: '4K' }), { body: { size: '4096x4096' } }],
  [shaped({ imageSize: '1K' }), { body: { size: '1024x1024' } }],
  [
    shaped({ aspectRatio: '7:1', imageSize: '8K', personGeneration: 'ALLOW_ALL' }),
    {
      lost: [
        'generationConfig.imageConfig.personGeneration',
        'generationConfig.imageConfig.aspectRatio',
        'generationConfig.imageConfig.imageSize',
      ],
    },
  ],
  [
    { contents: says('Otters'), generationConfig: { responseModalities: ['TEXT'] } },
    'generationConfig.responseModalities',
  ],
];

for (const [written, expected] of pictures) {
  test(`pictures for ${JSON.stringify(written).slice(0, 100)}`, () => {
    check(pictureRequestOf(written, 'm'), { prompt: 'Otters', response_format: 'b64_json', n: 1 }, expected);
  });
}

const predicted: readonly [JsonObject, Outcome][] = [
  [{ instances: [{ prompt: 'Otters' }] }, {}],
  [
    {
      instances: [{ prompt: 'Otters', image: {}, mask: null }, { prompt: 'More' }],
      parameters: {
        sampleCount: 10,
        aspectRatio: '1:1',
        sampleImageSize: '2K',
        outputOptions: { mimeType: 'image/webp', compressionQuality: 80 },
        seed: 7,
        language: null,
      },
    },
    {
      body: { n: 10, size: '2048x2048', output_format: 'webp', output_compression: 80 },
      lost: ['instances', 'instances.image', 'parameters.seed'],
    },
  ],
  [
    {
      instances: [{ prompt: 'Otters' }],
      parameters: { aspectRatio: '7:1', sampleImageSize: '8K', outputOptions: { mimeType: 'image/tiff' } },
    },
    { lost: ['parameters.outputOptions.mimeType', 'parameters.aspectRatio', 'parameters.sampleImageSize'] },
  ],
  ...[0, 11, 1.5, '2'].map((sampleCount): [JsonObject, Outcome] => [
    { instances: [{ prompt: 'Otters' }], parameters: { sampleCount } },
    'parameters.sampleCount',
  ]),
  ...[{}, { instances: [] }, { instances: [{ prompt: 1 }] }, { instances: 'Otters' }].map(
    (written): [JsonObject, Outcome] => [written, 'instances'],
  ),
];

for (const [written, expected] of predicted) {
  test(`predicted pictures for ${JSON.stringify(written).slice(0, 100)}`, () => {
    check(predictedPicturesOf(written, 'm'), { prompt: 'Otters', response_format: 'b64_json', n: 1 }, expected);
  });
}

const film = (parameters: JsonObject | null, instance: JsonObject = {}) => ({
  instances: [{ prompt: 'Otters', ...instance }],
  parameters,
});
const videos: readonly [JsonObject, 'google' | 'others', Outcome][] = [
  [film(null), 'google', {}],
  [film({ aspectRatio: '9:16' }), 'google', { body: { size: '720x1280' } }],
  [film({ resolution: '1080p', durationSeconds: 4 }), 'google', { body: { size: '1920x1080', seconds: 4 } }],
  [film({ resolution: '4k', aspectRatio: '16:9' }), 'google', { body: { size: '3840x2160' } }],
  [film({ seed: 7, negativePrompt: null, sampleCount: 1 }), 'google', { body: { seed: 7 } }],
  [film({ seed: 7, negativePrompt: null }), 'others', { lost: ['parameters.seed'] }],
  [
    { instances: [{ prompt: 'Otters', lastFrame: {}, video: null }, {}] },
    'google',
    { lost: ['instances', 'instances.lastFrame'] },
  ],
  [
    film(null, { image: { bytesBase64Encoded: 'AA==', mimeType: 'image/png' } }),
    'google',
    { body: { input_reference: { image_url: 'data:image/png;base64,AA==' } } },
  ],
  [
    film(null, { image: { inlineData: { data: 'AA==', mimeType: 'image/jpeg' } } }),
    'others',
    { body: { input_reference: { image_url: 'data:image/jpeg;base64,AA==' } } },
  ],
  [film(null, { image: null }), 'google', {}],
  [film(null, { image: { bytesBase64Encoded: 'AA==' } }), 'google', 'instances[0].image'],
  [film(null, { image: 'AA==' }), 'google', 'instances[0].image'],
  [film({ sampleCount: 2 }), 'google', 'parameters.sampleCount'],
  [film({ aspectRatio: '1:1' }), 'google', 'parameters.aspectRatio'],
  [film({ resolution: '480p' }), 'google', 'parameters.aspectRatio'],
  [{ instances: [{}] }, 'google', 'instances'],
  [{}, 'google', 'instances'],
];

for (const [written, maker, expected] of videos) {
  test(`a video of ${maker} for ${JSON.stringify(written).slice(0, 100)}`, () => {
    check(videoRequestOf(written, 'm', maker), { prompt: 'Otters', seconds: 8 }, expected);
  });
}

test('pictures and sound come back in Google’s words, the last of them with its usage', () => {
  const data = [
    { b64_json: '/9j/A' },
    { b64_json: 'UklGRA' },
    { b64_json: 'R0lGODA' },
    { b64_json: 'iVBOR' },
    { url: 'https://a.example' },
  ];
  const types = ['image/jpeg', 'image/webp', 'image/gif', 'image/png'];
  assert.deepEqual(
    picturesIn({ data }).map(({ mimeType }) => mimeType),
    types,
  );
  assert.deepEqual(predictions({ data: data.slice(0, 1) }), {
    predictions: [{ mimeType: 'image/jpeg', bytesBase64Encoded: '/9j/A' }],
  });
  const part = soundPart('AA==');
  assert.deepEqual(part, { inlineData: { mimeType: 'audio/L16;codec=pcm;rate=24000', data: 'AA==' } });
  const candidate = { content: { role: 'model', parts: [part] }, index: 0 };
  assert.deepEqual(mediaAnswer([part], 'm', null), { candidates: [candidate], modelVersion: 'm' });
  const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 0, totalTokenCount: 7 };
  const candidates = [{ ...candidate, finishReason: 'STOP' }];
  assert.deepEqual(mediaAnswer([part], 'm', { usage: { input_tokens: 7 } }), {
    candidates,
    usageMetadata,
    modelVersion: 'm',
  });
  assert.deepEqual(mediaAnswer([part], 'm', { usage: undefined }), { candidates, modelVersion: 'm' });
});
