import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainTranscription } from '../../../../test/plain-requests.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { TranscriptionRequest } from '../../neutral/transcript.ts';
import type { TranscriptionDialectId, TranscriptionFacts, TranscriptionOrder } from './format.ts';
import { transcriptionDialects } from './index.ts';

/* What each service that writes down speech is sent, and how its answers read: by its documentation. */

const timed: Partial<TranscriptionRequest> = {
  format: 'verbose_json',
  timestamps: 'words',
  lists: { segments: true, words: true },
};
const diarized: Partial<TranscriptionRequest> = { format: 'diarized_json', timestamps: 'segments' };
const keywords = [
  { name: 'keywords', value: 'Culvert' },
  { name: 'keywords[]', value: 'otter' },
  { name: 'keywordsx', value: 'no' },
];
const languages = [
  { name: 'languages[]', value: 'en' },
  { name: 'languages[]', value: 'de' },
];

interface Order {
  model?: string;
  request?: Partial<TranscriptionRequest>;
  facts?: Partial<TranscriptionFacts>;
  body?: JsonObject;
  stream?: boolean;
}

function orderOf(format: TranscriptionDialectId, { model = 'm', request, facts, body = {}, stream = false }: Order) {
  return {
    model,
    request: { ...plainTranscription, ...request },
    file: { extension: 'mp3', mime: 'audio/mpeg' },
    facts: { format, paths: { transcribe: '/hear', translate: '/translate' }, timestamps: 'words', ...facts },
    apiVersion: null,
    stream,
    body,
    boundary: 'edge',
  } satisfies TranscriptionOrder;
}

/** Its path with its query, the fields of its form, and what is lost. */
function sent(format: TranscriptionDialectId, order: Order) {
  const { path, pieces, losses } = transcriptionDialects[format].encode(orderOf(format, order));
  const text = pieces.map((piece) => (typeof piece === 'string' ? `<${piece}>` : piece.text)).join('');
  const fields = [...text.matchAll(/name="([^"]+)"\r\n\r\n(.*?)\r\n--edge/gs)].map(
    ([, name, value]) => `${name}=${value}`,
  );
  return { path, fields, lost: losses.map(({ field, why }) => `${field} ${why}`) };
}

const orders: readonly [TranscriptionDialectId, Order, path: string, fields: string[], lost?: string[]][] = [
  ['deepgram', {}, '/hear?model=m&smart_format=true&detect_language=true', []],
  ['deepgram', { request: { language: 'en' } }, '/hear?model=m&smart_format=true&language=en', []],
  [
    'deepgram',
    { model: 'nova-3', request: { extra: [...keywords, ...languages], prompt: 'p', temperature: 0 } },
    '/hear?model=nova-3&smart_format=true&detect_language=en&detect_language=de&keyterm=Culvert&keyterm=otter',
    [],
    ['keywordsx unknown', 'prompt unsupported', 'temperature unsupported'],
  ],
  ['deepgram', { request: { extra: languages.slice(0, 1) } }, '/hear?model=m&smart_format=true&detect_language=en', []],
  [
    'deepgram',
    { model: 'nova-2-general', request: { ...timed, language: 'en', extra: [...keywords.slice(0, 2), ...languages] } },
    '/hear?model=nova-2-general&smart_format=true&language=en&keywords=Culvert&keywords=otter&utterances=true',
    [],
    ['languages[] unknown', 'languages[] unknown'],
  ],
  [
    'deepgram',
    { request: { ...diarized, timestamps: 'none', language: 'en' }, body: { smart_format: false, tier: 'x' } },
    '/hear?model=m&smart_format=false&language=en&utterances=true&diarize=true&tier=x',
    [],
  ],
  [
    'elevenlabs',
    { model: 'scribe_v1', request: { language: 'en-GB', extra: keywords.slice(0, 1) } },
    '/hear',
    ['model_id=scribe_v1', 'timestamps_granularity=none', 'tag_audio_events=false', 'language_code=en'],
    ['keywords unknown'],
  ],
  [
    'elevenlabs',
    {
      model: 'scribe_v2',
      request: {
        ...diarized,
        timestamps: 'none',
        temperature: 0.5,
        prompt: 'p',
        extra: [...keywords.slice(0, 1), ...languages.slice(0, 1)],
      },
      body: { tag_audio_events: true },
    },
    '/hear',
    [
      'model_id=scribe_v2',
      'timestamps_granularity=word',
      'tag_audio_events=true',
      'diarize=true',
      'language_code=en',
      'temperature=0.5',
      'keyterms=Culvert',
    ],
    ['prompt unsupported'],
  ],
  [
    'elevenlabs',
    { model: 'scribe_v2', request: { ...timed, extra: languages } },
    '/hear',
    ['model_id=scribe_v2', 'timestamps_granularity=word', 'tag_audio_events=false'],
    ['languages[] unknown', 'languages[] unknown'],
  ],
  ['fish', {}, '/hear', ['ignore_timestamps=true'], []],
  [
    'fish',
    { request: { ...timed, language: 'en-US', prompt: 'p', temperature: 1 }, body: { more: 1 } },
    '/hear',
    ['ignore_timestamps=false', 'language=en', 'more=1'],
    ['prompt unsupported', 'temperature unsupported'],
  ],
  ['whisper-cpp', {}, '/hear', ['response_format=json', 'language=auto']],
  [
    'whisper-cpp',
    {
      request: {
        ...timed,
        task: 'translate',
        language: 'de-AT',
        prompt: 'p',
        temperature: 0.2,
        extra: keywords.slice(0, 1),
      },
      body: { suppress: true },
    },
    '/translate',
    ['response_format=verbose_json', 'language=de', 'translate=true', 'prompt=p', 'temperature=0.2', 'suppress=true'],
    ['keywords unknown'],
  ],
  ['openai', {}, '/hear', ['model=m', 'response_format=json']],
  [
    'openai',
    {
      request: {
        ...timed,
        language: 'pt-BR',
        prompt: 'p',
        temperature: 0.2,
        include: ['logprobs'],
        extra: keywords.slice(0, 1),
      },
      stream: true,
      body: { prompt: 'theirs', threshold: { low: 1 } },
    },
    '/hear',
    [
      'model=m',
      'response_format=verbose_json',
      'language=pt',
      'prompt=theirs',
      'temperature=0.2',
      'timestamp_granularities[]=word',
      'timestamp_granularities[]=segment',
      'include[]=logprobs',
      'stream=true',
      'keywords=Culvert',
      'threshold={"low":1}',
    ],
  ],
  [
    'openai',
    { request: { ...timed, lists: { segments: false, words: true } }, facts: { granularitiesField: 'times' } },
    '/hear',
    ['model=m', 'response_format=verbose_json', 'times=word'],
  ],
  [
    'openai',
    { request: { format: 'srt', timestamps: 'segments' }, facts: { omit: ['response_format'] } },
    '/hear',
    ['model=m', 'timestamp_granularities[]=segment'],
  ],
  [
    'openai',
    { request: { prompt: 'p', include: ['logprobs'] }, facts: { omit: ['prompt', 'include[]'] } },
    '/hear',
    ['model=m', 'response_format=json'],
    ['prompt unsupported', 'include unsupported'],
  ],
  [
    'openai',
    { request: diarized, facts: { diarizeField: 'diarize', chunked: /^m$/ } },
    '/hear',
    [
      'model=m',
      'response_format=diarized_json',
      'timestamp_granularities[]=segment',
      'diarize=true',
      'chunking_strategy=auto',
    ],
  ],
  [
    'openai',
    {
      request: {
        ...diarized,
        extra: [
          { name: 'diarize', value: '2' },
          { name: 'chunking_strategy[type]', value: 'vad' },
        ],
      },
      facts: { diarizeField: 'diarize', chunked: /^m$/, pathOf: (model) => `/of/${model}` },
    },
    '/of/m',
    [
      'model=m',
      'response_format=diarized_json',
      'timestamp_granularities[]=segment',
      'diarize=2',
      'chunking_strategy[type]=vad',
    ],
  ],
  ['assemblyai', { request: { temperature: 1 } }, '/upload', [], ['temperature unsupported']],
];

for (const [format, order, path, fields, lost = []] of orders) {
  test(`${format} is asked ${JSON.stringify(order).slice(0, 90)}`, () => {
    assert.deepEqual(sent(format, order), { path, fields, lost });
  });
}

test('Gemini gets an instruction for a transcript or a translation, with the language and names, and the sound', () => {
  const bodyOf = (order: Order) => {
    const { pieces } = transcriptionDialects.gemini.encode(orderOf('gemini', order));
    assert.equal(pieces[1], 'file-base64');
    return pieces.map((piece) => (typeof piece === 'string' ? 'SOUND' : piece.text)).join('');
  };
  const read = (order: Order) => {
    const { contents, ...rest } = JSON.parse(bodyOf(order)) as { contents: { parts: JsonObject[] }[] };
    const [text, sound] = contents[0]!.parts;
    assert.deepEqual(sound, { inlineData: { mimeType: 'audio/mpeg', data: 'SOUND' } });
    return [text!.text as string, rest] as const;
  };
  const [transcript, without] = read({});
  assert.match(
    transcript,
    /^Write down word for word what is said in this audio, in the language that is spoken\.\nAnswer with/,
  );
  assert.deepEqual(without, {});
  const [translation, rest] = read({
    request: { task: 'translate', language: 'de', prompt: 'Culvert', temperature: 0 },
    body: { safetySettings: [] },
  });
  assert.match(
    translation,
    /^Write down in English .*\nIt is spoken in the language 'de'\.\nNames .*: Culvert\nAnswer with/,
  );
  assert.deepEqual(rest, { generationConfig: { temperature: 0 }, safetySettings: [] });
});

test('AssemblyAI gets an order for an uploaded file, and its state has a path', () => {
  const { job } = transcriptionDialects.assemblyai;
  assert.ok(job !== undefined);
  const ordered = (order: Order) =>
    job.order({ upload_url: 'https://cdn.example/1' }, orderOf('assemblyai', order))?.body;
  const basics = { audio_url: 'https://cdn.example/1', speech_models: ['m'] };
  assert.deepEqual(ordered({}), { ...basics, language_detection: true });
  assert.deepEqual(
    ordered({ request: { ...timed, language: 'en-US', extra: keywords.slice(0, 2) }, body: { speech_models: ['n'] } }),
    {
      audio_url: basics.audio_url,
      speech_models: ['n'],
      language_code: 'en',
      keyterms_prompt: ['Culvert', 'otter'],
      speaker_labels: true,
    },
  );
  assert.deepEqual(
    ordered({ request: { ...diarized, timestamps: 'none', prompt: 'p', extra: [...keywords, ...languages] } }),
    {
      ...basics,
      language_detection: true,
      language_detection_options: { expected_languages: ['en', 'de'] },
      prompt: 'p\n\nContext: Culvert, otter',
      speaker_labels: true,
    },
  );
  assert.equal(ordered({ request: { prompt: 'p' } })?.prompt, 'p');
  assert.equal(job.order({}, orderOf('assemblyai', {})), null);
  assert.deepEqual(
    [job.at({ id: 'a/b' }, orderOf('assemblyai', {})), job.at({}, orderOf('assemblyai', {}))],
    ['/hear/a%2Fb', null],
  );
  for (const status of ['queued', 'processing']) assert.equal(job.runs({ status }), true);
  for (const status of ['completed', 'error']) assert.equal(job.runs({ status }), false);
});
