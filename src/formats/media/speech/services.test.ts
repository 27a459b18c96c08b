import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../kernel/json.ts';
import type { AudioFormat, SpeechRequest } from '../../neutral/speech.ts';
import { providerTypes } from '../../providers/catalog.ts';
import type { SpeechDialectId, SpeechFacts } from './format.ts';
import { readGeminiSound } from './gemini.ts';
import { speechDialects } from './index.ts';
import { readMistralSound } from './mistral.ts';
import { readOpenAiSound } from './openai.ts';
import { readSpeechRequest, tooLong } from './read-request.ts';
import { findVoice, kokoroVoices, sameStandardVoices, unknownVoices, type VoiceFacts, voicesOf } from './voices.ts';

/* What each service that speaks is sent, by its documentation, and which voice it gets. */

const plain: SpeechRequest = {
  model: 'alias',
  input: 'Hello',
  characters: 5,
  voice: 'alloy',
  voiceKind: 'name',
  format: 'mp3',
  speed: 1,
  instructions: null,
  delivery: 'audio',
  user: null,
  extra: {},
};

interface Order {
  model?: string;
  voice?: string;
  format?: AudioFormat;
  request?: Partial<SpeechRequest>;
  facts?: Partial<SpeechFacts>;
}

function sent(id: SpeechDialectId, { model = 'm', voice = 'v', format = 'mp3', request, facts }: Order) {
  return speechDialects[id].encode({
    model,
    voice,
    format,
    request: { ...plain, ...request },
    facts: { format: id, path: '/say', outputs: [], voices: [], speed: 'taken', instructions: 'taken', ...facts },
    apiVersion: null,
  });
}

const lostInstructions = { field: 'instructions', why: 'unsupported' } as const;
const clampedSpeed = { field: 'speed', why: 'clamped' } as const;
const orders: readonly [SpeechDialectId, Order, object][] = [
  [
    'openai',
    {},
    { path: '/say', body: { model: 'm', input: 'Hello', voice: 'v', response_format: 'mp3' }, losses: [] },
  ],
  [
    'openai',
    {
      format: 'wav',
      request: { voiceKind: 'id', speed: 2, instructions: 'softly', extra: { seed: 1, user: 'u' } },
      facts: { events: /^m$/, pathOf: (model) => `/of/${model}` },
    },
    {
      path: '/of/m',
      body: {
        seed: 1,
        user: 'u',
        model: 'm',
        input: 'Hello',
        voice: { id: 'v' },
        response_format: 'wav',
        speed: 2,
        instructions: 'softly',
        stream_format: 'sse',
      },
      losses: [],
    },
  ],
  [
    'openai',
    {
      request: { speed: 2, instructions: 'softly' },
      facts: { speed: 'not taken', instructions: 'not taken', events: /^n$/ },
    },
    {
      path: '/say',
      body: { model: 'm', input: 'Hello', voice: 'v', response_format: 'mp3' },
      losses: [lostInstructions],
    },
  ],
  [
    'elevenlabs',
    { voice: '../a b', request: { speed: 1.3, extra: { voice_settings: { style: 1 } } } },
    {
      path: '/say/..%2Fa%20b/stream?output_format=mp3_44100_128',
      body: { voice_settings: { style: 1, speed: 1.2 }, text: 'Hello', model_id: 'm' },
      losses: [clampedSpeed],
    },
  ],
  [
    'elevenlabs',
    { voice: '..', format: 'opus', request: { speed: 0.69 } },
    {
      path: '/say/-/stream?output_format=opus_48000_64',
      body: { text: 'Hello', model_id: 'm', voice_settings: { speed: 0.7 } },
      losses: [clampedSpeed],
    },
  ],
  ...([0.7, 1.2] as const).map((speed): [SpeechDialectId, Order, object] => [
    'elevenlabs',
    { format: 'wav', request: { speed } },
    {
      path: '/say/v/stream?output_format=pcm_24000',
      body: { text: 'Hello', model_id: 'm', voice_settings: { speed } },
      losses: [],
    },
  ]),
  [
    'elevenlabs',
    { format: 'pcm' },
    { path: '/say/v/stream?output_format=pcm_24000', body: { text: 'Hello', model_id: 'm' }, losses: [] },
  ],
  [
    'deepgram',
    {
      model: 'aura-2',
      voice: 'thalia-en',
      request: { extra: { seed: 1 }, instructions: 'softly' },
      facts: { instructions: 'not taken' },
    },
    {
      path: '/say?model=aura-2-thalia-en&encoding=mp3',
      body: { text: 'Hello' },
      losses: [lostInstructions, { field: 'seed', why: 'unknown' }],
    },
  ],
  [
    'deepgram',
    { model: 'aura-2-luna-en', format: 'opus' },
    { path: '/say?model=aura-2-luna-en&encoding=opus&container=ogg', body: { text: 'Hello' }, losses: [] },
  ],
  [
    'deepgram',
    { model: 'aura', format: 'flac' },
    { path: '/say?model=aura-v&encoding=flac', body: { text: 'Hello' }, losses: [] },
  ],
  ['deepgram', { format: 'aac' }, { path: '/say?model=m&encoding=aac', body: { text: 'Hello' }, losses: [] }],
  [
    'deepgram',
    { format: 'wav' },
    { path: '/say?model=m&encoding=linear16&container=wav&sample_rate=24000', body: { text: 'Hello' }, losses: [] },
  ],
  [
    'deepgram',
    { format: 'pcm' },
    { path: '/say?model=m&encoding=linear16&container=none&sample_rate=24000', body: { text: 'Hello' }, losses: [] },
  ],
  ...(
    [
      ['mp3', { container: 'mp3', sample_rate: 44_100, bit_rate: 128_000 }],
      ['wav', { container: 'wav', encoding: 'pcm_s16le', sample_rate: 24_000 }],
      ['pcm', { container: 'raw', encoding: 'pcm_s16le', sample_rate: 24_000 }],
    ] as const
  ).map(([format, output]): [SpeechDialectId, Order, object] => [
    'cartesia',
    { format, request: { extra: { language: 'en' } } },
    {
      path: '/say',
      body: {
        language: 'en',
        model_id: 'm',
        transcript: 'Hello',
        voice: { mode: 'id', id: 'v' },
        output_format: output,
      },
      losses: [],
    },
  ]),
  [
    'fish',
    { format: 'wav', request: { speed: 2.1, extra: { prosody: { volume: 1 } } } },
    {
      path: '/say',
      header: ['model', 'm'],
      body: { prosody: { volume: 1, speed: 2 }, text: 'Hello', format: 'wav', reference_id: 'v', sample_rate: 24_000 },
      losses: [clampedSpeed],
    },
  ],
  [
    'fish',
    { voice: 'default', format: 'pcm', request: { speed: 0.49 } },
    {
      path: '/say',
      header: ['model', 'm'],
      body: { text: 'Hello', format: 'pcm', sample_rate: 24_000, prosody: { speed: 0.5 } },
      losses: [clampedSpeed],
    },
  ],
  [
    'fish',
    { request: { speed: 2 } },
    {
      path: '/say',
      header: ['model', 'm'],
      body: { text: 'Hello', format: 'mp3', reference_id: 'v', prosody: { speed: 2 } },
      losses: [],
    },
  ],
  [
    'fish',
    {},
    { path: '/say', header: ['model', 'm'], body: { text: 'Hello', format: 'mp3', reference_id: 'v' }, losses: [] },
  ],
  [
    'gemini',
    { request: { instructions: 'Say softly' }, facts: { pathOf: (model) => `/of/${model}` } },
    {
      path: '/of/m',
      body: {
        contents: [{ role: 'user', parts: [{ text: 'Say softly:\nHello' }] }],
        generationConfig: {
          responseModalities: ['AUDIO'],
          speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'v' } } },
        },
      },
      losses: [],
    },
  ],
];

for (const [id, order, expected] of orders) {
  test(`${id} is asked ${JSON.stringify(order).slice(0, 90)}`, () => assert.deepEqual(sent(id, order), expected));
}

test('the sound of Gemini comes in pieces, with its rate where one is likely, and its refusal is one', () => {
  const part = (data: string, mimeType: string) => ({ inlineData: { data, mimeType } });
  const heard = (parts: JsonObject[], more: JsonObject = {}) =>
    readGeminiSound({ candidates: [{ content: { parts }, ...more }] });
  const rateOf = (type: string) => {
    const read = heard([part('AAAA', type)]);
    return 'rateHz' in read ? read.rateHz : read;
  };
  const two = heard(
    [part('AAEC', 'audio/L16'), { text: 'no' }, part('AwQ=', 'audio/L16; rate=16000'), part('', 'audio/L16;rate=8000')],
    {
      finishReason: 'STOP',
    },
  );
  assert.deepEqual(two, { sound: Buffer.from([0, 1, 2, 3, 4]), rateHz: 16_000, finish: 'STOP', usage: null });
  assert.deepEqual(
    ['audio/L16;codec=pcm;rate=4000', 'audio/l16;RATE=192000', 'audio/L16;rate=3999', 'audio/L16;rate=192001'].map(
      rateOf,
    ),
    [4_000, 192_000, null, null],
  );
  assert.deepEqual(readGeminiSound({}), { sound: null, rateHz: null, finish: null, usage: null });
  const snake = readGeminiSound({
    candidates: [{ content: { parts: [{ inline_data: { data: 'AA==', mime_type: 'audio/L16;rate=24000' } }] } }],
  });
  assert.ok('rateHz' in snake && snake.rateHz === 24_000 && snake.sound?.length === 1);
  const refused = readGeminiSound({ promptFeedback: { blockReason: 'SAFETY' } });
  assert.deepEqual('class' in refused && [refused.class, refused.status], ['filtered', 400]);
  assert.equal('class' in readGeminiSound('text'), true);
});

test('the events of OpenAI bring sound, its end and its usage', () => {
  assert.deepEqual(readOpenAiSound({ type: 'speech.audio.delta', audio: 'AAE=' }), {
    sound: Buffer.from([0, 1]),
    rateHz: null,
    finish: null,
    usage: null,
  });
  const usage = (counts: object) => {
    const read = readOpenAiSound({ type: 'speech.audio.done', usage: { ...counts } });
    assert.ok('finish' in read && read.finish === 'done');
    return read.usage;
  };
  assert.deepEqual(usage({ input_tokens: 7, output_tokens: 9 }), { inputTokens: 7, outputTokens: 9 });
  assert.deepEqual(usage({ input_tokens: 7 }), { inputTokens: 7, outputTokens: 0 });
  assert.equal(usage({ output_tokens: 9 }), null);
  assert.equal('class' in readOpenAiSound([]), true);
});

test('a voice is found by its name, by the operator’s word, or as the standard one that sounds most like it', () => {
  const few: VoiceFacts = {
    names: ['Kore', 'alloy'],
    standard: { ...sameStandardVoices, alloy: 'Zephyr', onyx: 'Orus', fable: 'Puck', nova: 'Leda' },
  };
  const found = (name: string, facts = few, more: { mapped?: string; listed?: string[] } = {}) => {
    const voice = findVoice(name, facts, { mapped: more.mapped, listed: more.listed ?? [] });
    return voice && `${voice.name} ${voice.how}`;
  };
  assert.equal(found('Kore'), 'Kore as asked');
  assert.equal(found('alloy'), 'Zephyr as asked');
  assert.equal(found('alloy', few, { listed: ['alloy'] }), 'alloy as asked');
  assert.equal(found('onyx'), 'Orus as asked');
  assert.equal(found('marin'), 'Leda instead');
  assert.equal(found('cedar', unknownVoices), 'cedar as asked');
  assert.equal(found('cedar', unknownVoices, { listed: ['one'] }), 'onyx instead');
  assert.equal(found('mine', unknownVoices), 'mine as asked');
  assert.equal(found('af_bella(2)+af_sky(1.5)-am_adam', kokoroVoices), 'af_bella(2)+af_sky(1.5)-am_adam as asked');
  assert.equal(found('af_bella(2)+', kokoroVoices), null);
  for (const [native, voice] of [
    ['am_onyx', 'Orus'],
    ['am_adam', 'Orus'],
    ['bm_george', 'Puck'],
    ['af_sky', 'Leda'],
    ['bf_emma', 'Leda'],
  ])
    assert.equal(found(native!), `${voice} instead`, native);
  assert.equal(found('nobody'), null);
  assert.equal(found('alloy', few, { mapped: 'Newer' }), 'Newer as asked');
  const entries: VoiceFacts[] = [{ ...few, models: /^aura$/ }];
  assert.equal(voicesOf(entries, 'AURA').names, few.names);
  assert.equal(voicesOf(entries, 'other'), unknownVoices);
});

for (const [body, field] of [
  [{ input: ' \n' }, 'input'],
  [{ input: 1 }, 'input'],
  [{ voice: '' }, 'voice'],
  [{ voice: 'x'.repeat(129) }, 'voice'],
  [{ voice: { name: 'mine' } }, 'voice'],
  [{ voice: null }, 'voice'],
  [{ speed: 0.24 }, 'speed'],
  [{ speed: 4.01 }, 'speed'],
  [{ response_format: 'ogg' }, 'response_format'],
  [{ instructions: 'x'.repeat(32_769) }, 'instructions'],
  [{ stream_format: 'events' }, 'stream_format'],
  [{ voice: 'x'.repeat(128), speed: 0.25, instructions: 'x'.repeat(32_768) }, null],
  [{ voice: { id: 'mine' }, speed: 4, stream_format: 'sse', response_format: null }, null],
] as const satisfies [JsonObject, string | null][]) {
  test(`a request for speech with ${JSON.stringify(body).slice(0, 60)} is ${field === null ? 'taken' : 'refused'}`, () => {
    const read = readSpeechRequest({ model: 'm', input: 'Hi', voice: 'alloy', ...body });
    assert.equal('kind' in read ? (read as { param?: string }).param : null, field);
  });
}

test('speech is read with its characters, the kind of its voice, and what was left out', () => {
  const read = (body: JsonObject) => {
    const request = readSpeechRequest({ model: 'm', input: 'Hi', voice: 'alloy', ...body });
    assert.ok('characters' in request, JSON.stringify(request));
    return request;
  };
  const halfCharacter = '\ud800';
  assert.deepEqual(read({ input: `👋 ${halfCharacter}` }), { ...plain, model: 'm', input: '👋 \ufffd', characters: 3 });
  const kinds = [{ id: 'mine' }, { id: 'alloy' }, { id: 'marin' }, 'mine'].map((voice) => read({ voice }).voiceKind);
  assert.deepEqual(kinds, ['id', 'name', 'name', 'name']);
  assert.equal(read({ stream_format: 'sse' }).delivery, 'events');
  assert.equal(read({ instructions: '' }).instructions, null);
  assert.deepEqual([tooLong({ characters: 5 }, 5), tooLong({ characters: 6 }, 5)?.kind], [null, 'invalid-request']);
});

test('Mistral names its voice by id, and has the sound in base64 in one object', () => {
  const { path, body } = sent('mistral', { voice: 'gb_jane_neutral' });
  assert.deepEqual(
    [path, body],
    ['/say', { model: 'm', input: 'Hello', voice_id: 'gb_jane_neutral', response_format: 'mp3' }],
  );
  const sound = readMistralSound({ audio_data: Buffer.from('ID3').toString('base64') });
  assert.deepEqual(sound, { sound: Buffer.from('ID3'), rateHz: null, finish: 'done', usage: null });
  for (const wrong of [{}, { audio_data: '' }, [], null])
    assert.equal((readMistralSound(wrong) as { class?: string }).class, 'malformed');
});

test('voices of hosts of open models have the names that their models know', () => {
  const voiceAt = (type: string, model: string, voice: string) => {
    const facts = voicesOf(providerTypes.get(type)!.speech!.voices, model);
    return findVoice(voice, facts, { mapped: undefined, listed: [] })?.name;
  };
  assert.equal(voiceAt('siliconflow', 'FunAudioLLM/CosyVoice2-0.5B', 'alloy'), 'FunAudioLLM/CosyVoice2-0.5B:anna');
  assert.equal(voiceAt('siliconflow', 'FunAudioLLM/CosyVoice2-0.5B', 'speech:mine:x'), 'speech:mine:x');
  assert.equal(voiceAt('deepinfra', 'hexgrad/Kokoro-82M', 'af_bella'), 'af_bella');
  assert.equal(voiceAt('mistral', 'voxtral-mini-tts-3-0', 'onyx'), 'en_paul_neutral');
});
