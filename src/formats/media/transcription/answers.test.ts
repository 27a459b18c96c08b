import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainTranscription } from '../../../../test/plain-requests.ts';
import type { TranscriptionRequest } from '../../neutral/transcript.ts';
import { readTranscriptEvents, TextPieces } from './events.ts';
import type { TranscriptionDialectId } from './format.ts';
import { transcriptionDialects } from './index.ts';

/* How the answers of services that write down speech read: by their documentation. */

const plain: TranscriptionRequest = { ...plainTranscription, language: 'nl' };
const lists: Partial<TranscriptionRequest> = { format: 'verbose_json', timestamps: 'words' };
const withWords = { ...lists, lists: { segments: false, words: true } };
const withSegments = { ...lists, lists: { segments: true, words: false } };
const diarized: Partial<TranscriptionRequest> = { format: 'diarized_json' };

const noSegments = 'malformed: the answer has no segments, which were asked for';
const noWords = 'malformed: the answer has no words, which were asked for';
const noSpeakers = 'malformed: the answer does not tell who said what, which was asked for';

interface Read {
  text: string;
  language?: string | null;
  durationS?: number | null;
  segments?: string[] | null;
  words?: string[] | null;
}

const deepgramBest = {
  transcript: 'Hi there.',
  words: [
    { word: 'hi', punctuated_word: 'Hi', start: 0, end: 1 },
    { word: 'there', start: 1, end: 2 },
  ],
};
const deepgram = (more: object, channel: object = {}) => ({
  results: { channels: [{ alternatives: [deepgramBest], ...channel }], ...more },
});
const spoken = (text: string, type = 'word', more: object = {}) => ({ text, type, start: 1, end: 2, ...more });

const answers: readonly [TranscriptionDialectId, Partial<TranscriptionRequest>, body: unknown, Read | string][] = [
  [
    'deepgram',
    withWords,
    {
      ...deepgram(
        { utterances: [{ start: 0, end: 2, transcript: 'Hi there.', speaker: 0 }] },
        { detected_language: 'en' },
      ),
      metadata: { duration: 2 },
    },
    { text: 'Hi there.', language: 'en', durationS: 2, segments: ['0-2 0: Hi there.'], words: ['0-1 Hi', '1-2 there'] },
  ],
  [
    'deepgram',
    {},
    deepgram({ utterances: [{}] }),
    { text: 'Hi there.', language: 'nl', segments: null, words: ['0-1 Hi', '1-2 there'] },
  ],
  ['deepgram', diarized, deepgram({ utterances: [{ start: 0, end: 2, transcript: 'Hi' }] }), noSpeakers],
  ['deepgram', diarized, deepgram({}), noSpeakers],
  ['deepgram', withSegments, deepgram({}), noSegments],
  ['deepgram', {}, { results: { channels: [] } }, 'malformed: the answer has no transcript'],
  ['deepgram', {}, [], 'malformed: the answer has no transcript'],
  ['deepgram', {}, { error: { message: 'Busy.' } }, ': Busy.'],
  [
    'elevenlabs',
    withWords,
    {
      text: 'Hi you. “Yes!” No',
      language_code: 'en',
      audio_duration_secs: 3,
      words: [
        spoken(' ', 'spacing'),
        spoken('Hi', 'word', { speaker_id: 'a', start: 0 }),
        spoken(' ', 'spacing'),
        spoken('you.', 'word', { speaker_id: 'a', end: 2.5 }),
        spoken(' ', 'spacing'),
        spoken('“Yes!”', 'word', { speaker_id: 'a' }),
        spoken('No', 'word', { speaker_id: 'a' }),
        spoken('No', 'word', { speaker_id: 'b' }),
        spoken('(laughs)', 'audio_event', { speaker_id: 'b' }),
      ],
    },
    {
      text: 'Hi you. “Yes!” No',
      language: 'en',
      durationS: 3,
      segments: ['0-2.5 a: Hi you.', '1-2 a: “Yes!”', '1-2 a: No', '1-2 b: No(laughs)'],
      words: ['0-2 Hi', '1-2.5 you.', '1-2 “Yes!”', '1-2 No', '1-2 No'],
    },
  ],
  ['elevenlabs', {}, { text: 'Hi', words: [] }, { text: 'Hi', segments: null, words: null }],
  ['elevenlabs', withWords, { text: 'Hi' }, noWords],
  ['elevenlabs', withWords, { text: ' ' }, { text: ' ', segments: null, words: null }],
  ['elevenlabs', {}, { transcript: 'Hi' }, "malformed: the answer has no 'text'"],
  ['elevenlabs', {}, { error: 'Busy.' }, ': Busy.'],
  [
    'fish',
    withSegments,
    { text: 'Hi', duration: '2.5', language_code: 'en', segments: [{ text: 'Hi', start: 0, end: 2 }] },
    { text: 'Hi', language: 'en', durationS: 2.5, segments: ['0-2 Hi'], words: null },
  ],
  ['fish', withWords, { text: 'Hi' }, noWords],
  ['fish', {}, {}, "malformed: the answer has no 'text'"],
  [
    'whisper-cpp',
    withWords,
    {
      text: ' Hi \n\n there.\n',
      language: 'en',
      duration: 2,
      segments: [
        { text: 'Hi', start: 0, end: 2, words: [{ word: 'Hi', start: 0, end: 1 }] },
        { text: '', start: 2, end: 1 },
      ],
    },
    { text: 'Hi there.', language: 'en', durationS: 2, segments: ['0-2 Hi', '2-2 '], words: ['0-1 Hi'] },
  ],
  ['whisper-cpp', { format: 'srt' }, { text: 'Hi', segments: [{ text: 'Hi', start: 0 }] }, noSegments],
  ['whisper-cpp', withWords, { text: 'Hi', segments: [{ text: 'Hi', start: 0, end: 2 }, 'no'] }, noWords],
  ['whisper-cpp', {}, { error: 'failed to read audio' }, ': failed to read audio'],
  ['whisper-cpp', {}, [], "malformed: the answer has no 'text'"],
  [
    'assemblyai',
    { ...withWords, format: 'diarized_json' },
    {
      status: 'completed',
      text: 'Hi',
      audio_duration: 2,
      utterances: [{ start: 100, end: 2_000, text: 'Hi', speaker: 'A' }],
      words: [{ start: 100, end: 900, text: 'Hi' }],
    },
    { text: 'Hi', language: 'nl', durationS: 2, segments: ['0.1-2 A: Hi'], words: ['0.1-0.9 Hi'] },
  ],
  ['assemblyai', { format: 'vtt' }, { status: 'completed', text: 'Hi', utterances: null }, noSegments],
  [
    'assemblyai',
    {},
    { status: 'completed', text: 'Hi', language_code: 'en' },
    { text: 'Hi', language: 'en', segments: null },
  ],
  [
    'assemblyai',
    {},
    { status: 'error', error: 'Transcoding failed' },
    'caller_fault: could not write it down: Transcoding f',
  ],
  [
    'assemblyai',
    {},
    { status: 'error', error: 'Server trouble' },
    'transient: could not write it down: Server trouble',
  ],
  ['assemblyai', {}, { status: 'completed' }, 'malformed: the answer has no transcript'],
  ['assemblyai', {}, 'text', 'malformed: the answer is no object'],
  [
    'gemini',
    {},
    {
      candidates: [
        {
          finishReason: 'STOP',
          content: { parts: [{ text: 'Hm', thought: true }, { text: ' Hi' }, { text: ' there. ' }] },
        },
      ],
    },
    { text: 'Hi there.', language: null, durationS: null, segments: null, words: null },
  ],
  ['gemini', {}, { candidates: [{ finishReason: 'STOP' }] }, { text: '' }],
  ['gemini', {}, { candidates: [{ finishReason: 'MAX_TOKENS' }] }, 'malformed: gave no whole transcript (MAX_TOKENS)'],
  ['gemini', {}, { candidates: [] }, 'malformed: gave no whole transcript (no candidate)'],
  ['gemini', {}, { promptFeedback: { blockReason: 'OTHER' } }, 'filtered: refused the audio: OTHER'],
  ['gemini', {}, { error: { message: 'Busy.' } }, 'malformed: Busy.'],
  ['gemini', {}, [], 'malformed: the answer is not an object'],
  [
    'openai',
    withWords,
    {
      text: 'Hi',
      language: 'english',
      duration: 2,
      segments: [{ text: 'Hi', start: 0, end: 2, speaker_id: 's' }],
      words: [{ word: 'Hi', start: '0.5', end: 1 }],
    },
    { text: 'Hi', language: 'english', durationS: 2, segments: ['0-2 s: Hi'], words: ['0.5-1 Hi'] },
  ],
  ['openai', {}, { text: 'Hi', usage: { type: 'duration', seconds: 3 } }, { text: 'Hi', language: null, durationS: 3 }],
  ['openai', {}, { text: 'Hi', duration: 1_000_001 }, { text: 'Hi', durationS: null }],
  ['openai', {}, { text: 'Hi', duration: 1_000_000 }, { text: 'Hi', durationS: 1_000_000 }],
  ['openai', {}, { text: 'Hi', duration: -1 }, { text: 'Hi', durationS: null }],
  ['openai', withWords, { text: 'Hi', words: [{ word: 'Hi', start: 0 }] }, noWords],
  ['openai', diarized, { text: 'Hi', segments: [{ text: 'Hi', start: 0, end: 1 }] }, noSpeakers],
  ['openai', {}, { text: 1 }, "malformed: the answer has no 'text'"],
];

for (const [format, request, body, expected] of answers) {
  test(`${format} answers ${JSON.stringify(body).slice(0, 70)} to a request for ${request.format ?? 'json'}`, () => {
    const read = transcriptionDialects[format].decode(body, { request: { ...plain, ...request } });
    if (typeof expected === 'string') {
      assert.ok('class' in read, JSON.stringify(read));
      assert.ok(`${read.class}: ${read.message}`.includes(expected), `${read.class}: ${read.message}`);
      return;
    }
    assert.ok('transcript' in read, JSON.stringify(read));
    const { text, language, durationS, segments, words } = read.transcript;
    const shown: Required<Read> = {
      text,
      language,
      durationS,
      segments:
        segments?.map(
          (one) => `${one.startS}-${one.endS} ${one.speaker === undefined ? '' : `${one.speaker}: `}${one.text}`,
        ) ?? null,
      words: words?.map((one) => `${one.startS}-${one.endS} ${one.word}`) ?? null,
    };
    assert.deepEqual(shown, { ...shown, ...expected });
  });
}

test('of the events of a transcript only text is content, and the last one ends it with its usage', () => {
  const reader = readTranscriptEvents();
  const step = (event: unknown) => {
    const { content, fault, usageOnly } = reader.step({ event: null, data: JSON.stringify(event) } as never);
    return fault === null
      ? `${content ? 'content' : 'aside'}${usageOnly ? ', usage' : ''}`
      : `${fault.class}: ${fault.message}`;
  };
  assert.deepEqual(
    [
      { type: 'transcript.text.delta', delta: 'Hi' },
      { type: 'transcript.text.segment' },
      { type: 'other' },
      'text',
      [],
    ].map(step),
    ['content', 'content', 'aside', 'aside', 'aside'],
  );
  assert.deepEqual(reader.seen, { usage: null, terminal: false, outputTokensSeen: 0 });
  assert.equal(step({ type: 'transcript.text.done', usage: { seconds: 2 } }), 'aside');
  assert.deepEqual(reader.seen, {
    usage: { inputTokens: 0, outputTokens: 0, audioMs: 2_000 },
    terminal: true,
    outputTokensSeen: 0,
  });
  assert.match(step({ type: 'error', error: { message: 'Busy.' } }), /: Busy\.$/);
  assert.match(step({ error: { message: 'Busy.' } }), /: Busy\.$/);
  assert.equal(reader.step({ event: null, data: '{' } as never).content, false);
});

test('segments that come one by one make a text without blanks at its ends', () => {
  const pieces = new TextPieces();
  assert.deepEqual(
    [' ', ' Hi ', '', 'there', ' \n', ' you. '].map((segment) => pieces.add(segment)),
    ['', 'Hi', '', ' there', '', ' \n you.'],
  );
  assert.equal(pieces.text, 'Hi there \n you.');
});
