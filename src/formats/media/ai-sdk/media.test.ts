import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../kernel/json.ts';
import type { ImageModelFacts } from '../images/format.ts';
import {
  imageAnswer,
  objectsWarning,
  rerankAnswer,
  speechAnswer,
  transcriptionAnswer,
  warningsOf,
} from './media-answer.ts';
import {
  imageCallOf,
  ranksObjects,
  rerankCallOf,
  speechCallOf,
  transcriptionCallOf,
  videoCallOf,
} from './media-request.ts';

/* Calls of the AI SDK's media models as requests of OpenAI's format, and the answers in its words. */

const paramOf = (read: object) => ('kind' in read ? (read as { param?: string }).param : null);
const target = (more: Partial<ImageModelFacts>): ImageModelFacts => ({
  format: 'openai',
  perCall: 1,
  sizes: { kind: 'any' },
  gives: 'asked',
  takes: 'all',
  ...more,
});
const listed = target({ sizes: { kind: 'listed', sizes: ['1024x1024', '1536x1024'] }, takes: [] });
const picture = { type: 'file', mediaType: 'image/jpeg', data: 'AA==' };
const link = { type: 'url', url: 'https://a.example/1.png' };

const drawings: readonly [JsonObject, readonly ImageModelFacts[], body: JsonObject, lost?: string[]][] = [
  [{ n: null }, [], {}],
  [{ n: 2, size: '512x256', seed: 0 }, [listed, target({})], { n: 2, size: '512x256', seed: 0 }],
  [{ seed: 7 }, [listed], {}, ['seed']],
  [{ seed: 7 }, [target({ format: 'fal', takes: [] })], { seed: 7 }],
  [{ aspectRatio: '3:2' }, [listed], { size: '1536x1024' }],
  [{ aspectRatio: '16:9' }, [listed], {}, ['aspectRatio']],
  [{ aspectRatio: '16:9' }, [listed, target({})], { size: '1344x768' }],
  [{ aspectRatio: '16:9' }, [target({ sizes: { kind: 'ratios', ratios: { '1:1': null } } })], {}, ['aspectRatio']],
  [{ aspectRatio: '7:1' }, [target({})], {}, ['aspectRatio']],
  [{ aspectRatio: '1:1', size: '512x256' }, [target({})], { size: '512x256' }, ['aspectRatio']],
  [
    { files: [picture, link, { type: 'file', data: 'BB==' }], mask: link },
    [],
    {
      images: [
        { image_url: 'data:image/jpeg;base64,AA==' },
        { image_url: link.url },
        { image_url: 'data:image/png;base64,BB==' },
      ],
      mask: { image_url: link.url },
    },
  ],
  [{ mask: link }, [], {}, ['mask']],
  [
    {
      providerOptions: {
        openai: { quality: 'high', style: null, outputFormat: 'png', logitBias: {} },
        gateway: { user: 'u', order: ['a'] },
        google: { seed: 1 },
        other: 'x',
      },
      maxRetries: 2,
    },
    [],
    { quality: 'high', output_format: 'png', user: 'u' },
    ['maxRetries', 'providerOptions.openai.logitBias', 'providerOptions.gateway.order', 'providerOptions.google.seed'],
  ],
];

for (const [body, targets, expected, lost = []] of drawings) {
  test(`a call for pictures with ${JSON.stringify(body).slice(0, 90)}`, () => {
    const basics = { model: 'm', prompt: 'Otters', n: 1, response_format: 'b64_json' };
    assert.deepEqual(imageCallOf({ prompt: 'Otters', ...body }, 'm', targets), {
      body: { ...basics, ...expected },
      lost,
    });
  });
}

test('a call that says no prompt, too many pictures, or a number out of bounds is refused by its field', () => {
  const files = (count: number) => Array.from({ length: count }, () => picture);
  for (const [read, field] of [
    [imageCallOf({}, 'm', []), 'prompt'],
    [imageCallOf({ prompt: 'P', n: 0 }, 'm', []), 'n'],
    [imageCallOf({ prompt: 'P', files: files(16) }, 'm', []), 'files'],
    [imageCallOf({ prompt: 'P', files: files(15) }, 'm', []), null],
    [imageCallOf({ prompt: 'P', files: [] }, 'm', []), 'files'],
    [speechCallOf({ text: 'T', speed: 0.2 }, 'm'), 'speed'],
    [speechCallOf({ text: 'T', speed: 4 }, 'm'), null],
    [speechCallOf({}, 'm'), 'text'],
    [transcriptionCallOf({}, 'm', 'none'), 'audio'],
    [rerankCallOf({ query: 'Q' }, 'm'), 'documents'],
    [rerankCallOf({ query: 'Q', documents: { type: 'text', values: [] } }, 'm'), 'documents.values'],
    [videoCallOf({}, 'm', 'google'), 'prompt'],
    [videoCallOf({ prompt: 'P', duration: 0.5 }, 'm', 'google'), 'duration'],
    [videoCallOf({ prompt: 'P', fps: 1_001 }, 'm', 'google'), 'fps'],
    [videoCallOf({ prompt: 'P', n: 2 }, 'm', 'google'), 'n'],
    [videoCallOf({ prompt: 'P', callbackUrl: 'https://a.example' }, 'm', 'google'), 'callbackUrl'],
    [videoCallOf({ prompt: 'P', inputReferences: files(16), duration: 3_600 }, 'm', 'google'), null],
    [videoCallOf({ prompt: 'P', inputReferences: files(17) }, 'm', 'google'), 'inputReferences'],
  ] as const)
    assert.equal(paramOf(read), field, JSON.stringify(read));
});

test('a call for speech has a voice and a format where it names none; its fields come before its options', () => {
  assert.deepEqual(speechCallOf({ text: 'Hi' }, 'm'), {
    body: { model: 'm', input: 'Hi', voice: 'alloy', response_format: 'mp3' },
    lost: [],
  });
  const providerOptions = { openai: { instructions: 'loudly', speed: 3 }, other: { pitch: 1 } };
  const call = {
    text: 'Hi',
    voice: 'nova',
    outputFormat: 'wav',
    instructions: 'softly',
    speed: 2,
    language: 'en',
    providerOptions,
  };
  assert.deepEqual(speechCallOf(call, 'm'), {
    body: { model: 'm', input: 'Hi', voice: 'nova', response_format: 'wav', instructions: 'softly', speed: 2 },
    lost: ['providerOptions.other.pitch', 'language'],
  });
  assert.deepEqual(speechCallOf({ text: 'Hi', providerOptions }, 'm'), {
    body: { model: 'm', input: 'Hi', voice: 'alloy', response_format: 'mp3', instructions: 'loudly', speed: 3 },
    lost: ['providerOptions.other.pitch'],
  });
});

test('a call for a transcript wants times where all targets give them, or where it says so', () => {
  const read = (openai: JsonObject, times: 'given' | 'none' = 'none') => {
    const call = transcriptionCallOf(
      { audio: 'AA==', mediaType: 'audio/mpeg', providerOptions: { openai }, more: 1 },
      'm',
      times,
    );
    if ('kind' in call) return paramOf(call);
    assert.deepEqual([call.audioBase64, call.mediaType], ['AA==', 'audio/mpeg']);
    return [...call.fields.map(({ name, value }) => `${name}=${value}`), ...call.lost.map((name) => `lost ${name}`)];
  };
  assert.deepEqual(read({}), ['model=m', 'response_format=json', 'lost more']);
  assert.deepEqual(read({}, 'given'), ['model=m', 'response_format=verbose_json', 'lost more']);
  assert.deepEqual(read({ timestampGranularities: [], responseFormat: 'diarized_json' }), [
    'response_format=diarized_json',
    'model=m',
    'lost more',
  ]);
  assert.deepEqual(read({ timestampGranularities: ['word', 'segment'], language: 'en', temperature: 0.5, chunk: 1 }), [
    'timestamp_granularities[]=word',
    'timestamp_granularities[]=segment',
    'language=en',
    'temperature=0.5',
    'model=m',
    'response_format=verbose_json',
    'lost more',
    'lost providerOptions.openai.chunk',
  ]);
  assert.equal(read({ responseFormat: 'srt' }), 'providerOptions.openai.responseFormat');
  assert.equal(read({ prompt: { text: 'p' } }), 'providerOptions.openai.prompt');
  const untyped = transcriptionCallOf({ audio: 'AA==' }, 'm', 'none');
  assert.ok('mediaType' in untyped && untyped.mediaType === null);
});

test('a call for a ranking of objects ranks their JSON, and is warned', () => {
  const documents = { type: 'object', values: [{ a: 1 }] };
  const body = { model: 'm', query: 'Q', documents: ['{"a":1}'], top_n: 1 };
  assert.deepEqual(rerankCallOf({ query: 'Q', documents, topN: 1, extra: true }, 'm'), { body, lost: ['extra'] });
  assert.deepEqual(
    [ranksObjects({ documents }), ranksObjects({ documents: { type: 'text', values: ['a'] } })],
    [true, false],
  );
  const results = [{ index: 1, relevance_score: 0.5, document: 'x' }];
  assert.deepEqual(rerankAnswer({ results }, [objectsWarning]), {
    ranking: [{ index: 1, relevanceScore: 0.5 }],
    warnings: [objectsWarning],
  });
});

const films: readonly [JsonObject, 'google' | 'others', body: JsonObject, lost?: string[]][] = [
  [{ n: 1 }, 'others', {}],
  [
    { aspectRatio: '16:9', duration: 5, seed: 7, generateAudio: false },
    'google',
    { seed: 7, generateAudio: false, seconds: 5, size: '1280x720' },
  ],
  [{ aspectRatio: '9:16', seed: 7, fps: 24 }, 'others', { size: '720x1280' }, ['fps', 'seed']],
  [{ aspectRatio: '1:1' }, 'google', {}, ['aspectRatio']],
  [{ aspectRatio: '16:9', resolution: '1920x1080' }, 'google', { size: '1920x1080' }, ['aspectRatio']],
  [
    { image: link, inputReferences: [picture] },
    'google',
    { input_reference: { image_url: link.url } },
    ['inputReferences[0]'],
  ],
  [
    {
      frameImages: [
        { image: picture, frameType: 'last_frame' },
        { image: link, frameType: 'first_frame' },
      ],
    },
    'google',
    { input_reference: { image_url: link.url } },
    ['frameImages[0]'],
  ],
  [{ frameImages: [{ image: picture, frameType: 'last_frame' }] }, 'google', {}, ['frameImages[0]']],
  [
    { inputReferences: [picture, link] },
    'google',
    { input_reference: { image_url: 'data:image/jpeg;base64,AA==' } },
    ['inputReferences[1]'],
  ],
];

for (const [body, maker, expected, lost = []] of films) {
  test(`a call for a video of ${maker} with ${JSON.stringify(body).slice(0, 90)}`, () => {
    assert.deepEqual(videoCallOf({ prompt: 'Otters', ...body }, 'm', maker), {
      body: { model: 'm', prompt: 'Otters', ...expected },
      lost,
    });
  });
}

test('answers have the texts, times and language of a transcript, in the words of the AI SDK', () => {
  const segments = [{ text: 'Hi', start: 0, end: 2, speaker: 'A' }, 'no', { id: 1 }];
  const timed = [
    { text: 'Hi', startSecond: 0, endSecond: 2 },
    { text: '', startSecond: 0, endSecond: 0 },
  ];
  const word = { text: 'Hi', startSecond: 0.5, endSecond: 1 };
  assert.deepEqual(
    transcriptionAnswer({ text: 'Hi', segments, language: 'german', duration: 2 }, warningsOf(['fps'])),
    {
      text: 'Hi',
      segments: timed,
      language: 'de',
      durationInSeconds: 2,
      warnings: [{ type: 'unsupported', feature: 'fps' }],
      providerMetadata: { culvert: { segments: [segments[0]] } },
    },
  );
  const usage = { type: 'duration', seconds: 3 };
  assert.deepEqual(transcriptionAnswer({ words: [{ word: 'Hi', start: 0.5, end: 1 }], usage, language: 'de-AT' }, []), {
    text: '',
    segments: [word],
    words: [word],
    language: 'de-AT',
    durationInSeconds: 3,
    warnings: [],
    usage,
    providerMetadata: {},
  });
  const languageOf = (language: string) => transcriptionAnswer({ language, usage: { type: 'tokens', seconds: 3 } }, []);
  assert.deepEqual(
    ['English', 'Hebrew', 'Klingon', 'yue'].map((name) => languageOf(name).language),
    ['en', 'he', null, 'yue'],
  );
  assert.equal(languageOf('en').durationInSeconds, null);
});

test('answers have pictures with their prompts and tokens, and sound in base64', () => {
  const data = [
    { b64_json: 'AA==', revised_prompt: 'Otters' },
    { b64_json: 'BB==', revised_prompt: null },
    { url: 'https://a.example' },
  ];
  const images = [{ revisedPrompt: 'Otters' }, {}, {}];
  const basics = { images: ['AA==', 'BB=='], warnings: [], providerMetadata: { culvert: { images } } };
  assert.deepEqual(imageAnswer({ data }, []), basics);
  assert.deepEqual(imageAnswer({ data, usage: { input_tokens: 7 } }, []), {
    ...basics,
    usage: { inputTokens: 7, outputTokens: null, totalTokens: null },
  });
  assert.deepEqual(speechAnswer(Buffer.from([0]), []), { audio: 'AA==', warnings: [], providerMetadata: {} });
});
