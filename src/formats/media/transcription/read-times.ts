import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { TranscriptSegment, TranscriptWord } from '../../neutral/transcript.ts';

/** Null when the value is not a list of segments that all have their times. */
export function readSegments(value: JsonValue | undefined): TranscriptSegment[] | null {
  if (!Array.isArray(value)) return null;
  const segments: TranscriptSegment[] = [];
  for (const item of value) {
    const times = timesOf(item);
    if (times === null || !isObject(item) || typeof item.text !== 'string') return null;
    // Mistral's name for it.
    const speaker = item.speaker ?? item.speaker_id;
    segments.push({ ...times, text: item.text, ...(typeof speaker === 'string' && { speaker }) });
  }
  return segments;
}

/** The same for words, which some servers put into each segment instead. */
export function readWords(value: JsonValue | undefined): TranscriptWord[] | null {
  if (!Array.isArray(value)) return null;
  const words: TranscriptWord[] = [];
  for (const item of value) {
    const times = timesOf(item);
    const word = isObject(item) ? (item.word ?? item.text) : undefined;
    if (times === null || typeof word !== 'string') return null;
    words.push({ word, ...times });
  }
  return words;
}

/** No file lasts eleven days: a server that reports more has counted wrong, and the ledger could not hold all of it. */
const secondsMax = 1_000_000;

/** Seconds; null for anything else. Some write numbers as text. */
export function secondsOf(value: JsonValue | undefined): number | null {
  const number = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && number >= 0 && number <= secondsMax ? number : null;
}

function timesOf(item: JsonValue): { startS: number; endS: number } | null {
  if (!isObject(item)) return null;
  const startS = secondsOf(item.start);
  const endS = secondsOf(item.end);
  return startS === null || endS === null ? null : { startS, endS: Math.max(startS, endS) };
}

/** Words of all segments, if they have any; null if none does. */
export function wordsInSegments(value: JsonValue | undefined): TranscriptWord[] | null {
  if (!Array.isArray(value)) return null;
  const lists = value.map((item) => (isObject(item) ? readWords((item as JsonObject).words) : null));
  return lists.some((list) => list !== null) ? lists.flatMap((list) => list ?? []) : null;
}
