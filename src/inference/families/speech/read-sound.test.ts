import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AudioFormat } from '../../../formats/neutral/speech.ts';
import { readBase64Answer, readSoundBytes, type SoundReader } from './read-sound.ts';

const rest = Buffer.alloc(300, 0x91);
const begin = (bytes: string) => Buffer.concat([Buffer.from(bytes, 'latin1'), rest]);
const wav = begin('RIFF\xff\xff\xff\xffWAVEfmt ');
const mp3 = begin('\xff\xfb\x90\xc4');
const aac = begin('\xff\xf1\x50\x80');

/** Results of a reader for an answer in pieces of this many bytes. */
function read(reader: SoundReader, bytes: Buffer, pieceBytes: number) {
  const sound: Buffer[] = [];
  const keep = (piece: Buffer | null) => piece !== null && sound.push(piece);
  for (let at = 0; at < bytes.length; at += pieceBytes) keep(reader.push(bytes.subarray(at, at + pieceBytes)));
  keep(reader.finish());
  return { sound: Buffer.concat(sound), fault: reader.fault?.class ?? null, came: reader.came };
}

const cases: [string, string, AudioFormat, Buffer, AudioFormat | 'malformed'][] = [
  ['mp3', 'audio/mpeg', 'mp3', mp3, 'mp3'],
  ['mp3 with a tag', 'audio/mpeg', 'mp3', begin('ID3\x04'), 'mp3'],
  ['wav where mp3 was asked', 'audio/mpeg', 'mp3', wav, 'wav'],
  ['wav where pcm was asked', 'audio/pcm', 'pcm', wav, 'wav'],
  ['opus', 'audio/ogg', 'opus', begin('OggS\0\x02'), 'opus'],
  ['flac', '', 'flac', begin('fLaC\0\0\0\x22'), 'flac'],
  ['aac', 'application/octet-stream', 'aac', aac, 'aac'],
  ['pcm, which has no mark', 'audio/pcm', 'pcm', rest, 'pcm'],
  ['pcm that begins like mp3', 'audio/pcm', 'pcm', mp3, 'pcm'],
  ['nothing', 'audio/mpeg', 'mp3', Buffer.alloc(0), 'malformed'],
  ['less than a header', 'audio/wav', 'wav', wav.subarray(0, 20), 'malformed'],
  ['a page', 'text/html', 'mp3', Buffer.from('<html>'.repeat(50)), 'malformed'],
  ['words that call themselves pcm', 'audio/pcm', 'pcm', Buffer.from('no voice here\n'.repeat(50)), 'malformed'],
  ['endless words', 'text/plain', 'mp3', Buffer.alloc(200_000, 'a'), 'malformed'],
  ['bytes of no format', 'audio/mpeg', 'mp3', rest, 'malformed'],
];

for (const [what, contentType, requested, bytes, wanted] of cases) {
  test(`${what} is ${wanted}, however it is cut`, () => {
    for (const pieceBytes of [1, 7, 64, 1_000_000]) {
      const { sound, fault, came } = read(readSoundBytes(contentType, requested), bytes, pieceBytes);
      if (wanted === 'malformed') assert.deepEqual([fault, sound.length], ['malformed', 0]);
      else assert.deepEqual([fault, came.format, sound], [null, wanted, bytes]);
    }
  });
}

test('an error that stands in a 200 is told in its words', () => {
  const reader = readSoundBytes('application/json', 'mp3');
  reader.push(Buffer.from('{"error":{"message":"The voice box is broken","code":"server_error"}}'));
  reader.finish();
  assert.match(reader.fault!.message, /voice box is broken/);
});

function geminiEvent(pcm: Buffer, more: object = {}): string {
  const data = { mimeType: 'audio/L16;codec=pcm;rate=16000', data: pcm.toString('base64') };
  return JSON.stringify({ candidates: [{ content: { parts: [{ inlineData: data }] }, ...more }] });
}

test('Gemini’s events are heard as the pcm in them, however they are cut', () => {
  const pcm = Buffer.from(Array.from({ length: 999 }, (_, i) => i % 256));
  const events = [geminiEvent(pcm.subarray(0, 500)), geminiEvent(pcm.subarray(500), { finishReason: 'STOP' })];
  const bytes = Buffer.from(events.map((event) => `data: ${event}\r\n\r\n`).join(''));
  for (const pieceBytes of [1, 13, 1_000_000]) {
    const { sound, fault, came } = read(readBase64Answer('gemini', 'text/event-stream', 'pcm'), bytes, pieceBytes);
    assert.deepEqual([sound, fault, came], [pcm, null, { format: 'pcm', rateHz: 16_000 }]);
  }
});

for (const [what, contentType, body, wanted] of [
  ['cut before its last event', 'text/event-stream', `data: ${geminiEvent(rest)}\n\n`, 'truncated'],
  ['an event that is not JSON', 'text/event-stream', 'data: {"candidates"\n\n', 'malformed'],
  ['no sound', 'application/json', '{"candidates":[{"finishReason":"STOP"}]}', 'malformed'],
  ['not JSON', 'application/json', '<html>', 'malformed'],
  ['a list', 'application/json', '[1]', 'malformed'],
  ['a refused text', 'application/json', '{"promptFeedback":{"blockReason":"SAFETY"}}', 'filtered'],
] as const) {
  test(`an answer of Gemini's with ${what} is ${wanted}`, () => {
    assert.equal(read(readBase64Answer('gemini', contentType, 'pcm'), Buffer.from(body), 1_000).fault, wanted);
  });
}
