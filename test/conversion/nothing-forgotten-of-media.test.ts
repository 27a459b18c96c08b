import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EmbeddingFormatId } from '../../src/formats/embeddings/format.ts';
import { embeddingFormats } from '../../src/formats/embeddings/index.ts';
import type { ImageFormatId } from '../../src/formats/media/images/format.ts';
import { imageFormats } from '../../src/formats/media/images/index.ts';
import type { SpeechDialectId } from '../../src/formats/media/speech/format.ts';
import { speechDialects } from '../../src/formats/media/speech/index.ts';
import type { TranscriptionDialectId } from '../../src/formats/media/transcription/format.ts';
import { transcriptionDialects } from '../../src/formats/media/transcription/index.ts';
import { lossesOf } from '../../src/formats/media/videos/format.ts';
import type { EmbeddingRequest } from '../../src/formats/neutral/embedding.ts';
import type { ImageRequest } from '../../src/formats/neutral/image.ts';
import type { Loss } from '../../src/formats/neutral/loss.ts';
import type { SpeechRequest } from '../../src/formats/neutral/speech.ts';
import type { TranscriptionRequest } from '../../src/formats/neutral/transcript.ts';
import { plainTranscription } from '../plain-requests.ts';

/*
 * Requests of the families beside conversations, in each format of theirs: a member that no format knows is a loss, and
 * so is each optional one whose two values make one body.
 */

interface Encoded {
  sent: string;
  lost: string[];
}

const seen = (sent: unknown, losses: readonly Loss[]): Encoded => ({
  sent: JSON.stringify(sent),
  lost: losses.map(({ field }) => field),
});

const speech: SpeechRequest = {
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
const encodeSpeech = (format: SpeechDialectId, request: SpeechRequest) => {
  const { path, body, losses } = speechDialects[format].encode({
    model: 'a-model',
    voice: 'alloy',
    format: 'mp3',
    request,
    facts: { format, path: '/speech', outputs: ['mp3'], voices: [], speed: 'taken', instructions: 'not taken' },
    apiVersion: null,
  });
  return seen([path, body], losses);
};

const encodeTranscription = (format: TranscriptionDialectId, request: TranscriptionRequest) => {
  const order = {
    model: 'a-model',
    request,
    file: { extension: 'wav', mime: 'audio/wav' },
    facts: { format, paths: { transcribe: '/transcribe', translate: null }, timestamps: 'words' as const },
    apiVersion: null,
    stream: false,
    body: {},
    boundary: 'a-boundary',
  };
  const dialect = transcriptionDialects[format];
  const { path, pieces, losses } = dialect.encode(order);
  return seen([path, pieces, dialect.job?.order({ upload_url: 'https://a.example/1' }, order)], losses);
};

const image: ImageRequest = {
  model: 'alias',
  prompt: 'A cat',
  n: 1,
  size: null,
  quality: null,
  style: null,
  background: null,
  moderation: null,
  outputFormat: null,
  outputCompression: null,
  answerForm: 'b64_json',
  stream: null,
  inputFidelity: null,
  user: null,
  extra: {},
};
const encodeImage = (format: ImageFormatId, request: ImageRequest) => {
  const facts = { format, perCall: 1, sizes: { kind: 'any' }, gives: 'its-own', takes: [] } as const;
  const order = { model: 'a-model', count: 1, request, facts: facts as never, source: null };
  const { body, losses } = imageFormats[format].encode(order);
  return seen(body, losses);
};

const embedding: EmbeddingRequest = {
  model: 'alias',
  inputs: { kind: 'texts', texts: ['Hi'] },
  dimensions: null,
  inputType: null,
  inputTypeWord: null,
  purpose: 'query',
  encoding: 'float',
  answerForm: 'openai',
  user: null,
  extra: {},
};
const encodeEmbedding = (format: EmbeddingFormatId, request: EmbeddingRequest) => {
  const facts = { format, batch: 1, takesTokens: false, dimensions: 'asked' } as const;
  const { inputs, dimensions } = request;
  const { body, losses } = embeddingFormats[format].encode({ model: 'a-model', inputs, dimensions, request, facts });
  return seen(body, losses);
};

/** Two values of each optional member; the rest is seen to by the family before a format is asked. */
const speechValues: Partial<{ [Name in keyof SpeechRequest]: [SpeechRequest[Name], SpeechRequest[Name]] }> = {
  instructions: ['Slowly', 'Fast'],
  user: ['someone', 'another'],
  extra: [{ pitch: 1 }, { pitch: 2 }],
};
const transcriptionValues: Partial<{
  [Name in keyof TranscriptionRequest]: [TranscriptionRequest[Name], TranscriptionRequest[Name]];
}> = {
  language: ['en', 'de'],
  prompt: ['One', 'Two'],
  temperature: [0.25, 0.5],
  include: [['logprobs'], ['other']],
  user: ['someone', 'another'],
  extra: [[{ name: 'hotwords', value: '1' }], [{ name: 'hotwords', value: '2' }]],
};
const imageValues: Partial<{ [Name in keyof ImageRequest]: [ImageRequest[Name], ImageRequest[Name]] }> = {
  quality: ['high', 'low'],
  style: ['vivid', 'natural'],
  background: ['transparent', 'transparent'],
  moderation: ['low', 'low'],
  outputFormat: ['png', 'webp'],
  outputCompression: [50, 60],
  inputFidelity: ['high', 'low'],
  user: ['someone', 'another'],
  extra: [{ seed: 1 }, { seed: 2 }],
};
const embeddingValues: Partial<{ [Name in keyof EmbeddingRequest]: [EmbeddingRequest[Name], EmbeddingRequest[Name]] }> =
  {
    inputType: ['query', 'document'],
    user: ['someone', 'another'],
    extra: [{ late_chunking: true }, { late_chunking: false }],
  };

function look<Format extends string, Request extends object>(
  family: string,
  formats: readonly Format[],
  base: Request,
  values: Readonly<Record<string, readonly unknown[]>>,
  encode: (format: Format, request: Request) => Encoded,
): void {
  for (const format of formats) {
    test(`each member of a request for ${family} is sent or listed as lost: ${format}`, () => {
      assert.deepEqual(encode(format, base).lost, []);
      assert.deepEqual(encode(format, { ...base, persona: 'a pirate' }).lost, ['persona']);
      const forgotten = Object.entries(values).filter(([name, [one, other]]) => {
        const [first, second] = [one, other].map((value) => encode(format, { ...base, [name]: value }));
        return first!.sent === second!.sent && first!.lost.length === 0;
      });
      assert.deepEqual(forgotten, []);
    });
  }
}

const idsOf = <Id extends string>(table: Readonly<Record<Id, unknown>>) => Object.keys(table) as Id[];

look('speech', idsOf(speechDialects), speech, speechValues, encodeSpeech);
look('a transcript', idsOf(transcriptionDialects), plainTranscription, transcriptionValues, encodeTranscription);
look('pictures', idsOf(imageFormats), image, imageValues, encodeImage);
look('embeddings', idsOf(embeddingFormats), embedding, embeddingValues, encodeEmbedding);

test('members of a request for a video that no format knows are losses', () => {
  const request = { model: 'alias', prompt: 'A cat', seconds: 4, size: null, pictureUrl: null, extra: {}, user: null };
  assert.deepEqual(lossesOf(request), []);
  const asked = { ...request, user: 'someone', persona: 'a pirate' };
  assert.deepEqual(
    lossesOf(asked).map(({ field }) => field),
    ['user', 'persona'],
  );
});

test("a speed leaves the caller's other settings of the voice", () => {
  const asked = (extra: SpeechRequest['extra']): SpeechRequest => ({ ...speech, speed: 1.1, extra });
  const settings = { stability: 0.5 };
  for (const [format, name] of [
    ['elevenlabs', 'voice_settings'],
    ['fish', 'prosody'],
  ] as const) {
    const { sent } = encodeSpeech(format, asked({ [name]: settings }));
    const [, body] = JSON.parse(sent) as [string, Record<string, unknown>];
    assert.deepEqual(body[name], { ...settings, speed: 1.1 });
  }
});
