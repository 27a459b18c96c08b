import type { JsonObject } from '../kernel/json.ts';

export interface TimedPart {
  startS: number;
  endS: number;
  text: string;
}

const wordsPerSegment = 8;

/**
 * A text as if it were spoken evenly over `seconds`. Every part begins where the one before it ends, by how many letters
 * it has.
 */
export function timed(text: string, seconds: number) {
  const textWords = text.split(/\s+/).filter((word) => word !== '');
  const chars = textWords.reduce((sum, word) => sum + word.length, 0);
  const words: TimedPart[] = [];
  let before = 0;
  for (const word of textWords) {
    const startS = at(before / chars, seconds);
    before += word.length;
    words.push({ startS, endS: at(before / chars, seconds), text: word });
  }
  const segments: TimedPart[] = [];
  for (let from = 0; from < words.length; from += wordsPerSegment) {
    const part = words.slice(from, from + wordsPerSegment);
    const line = part.map((word) => word.text).join(' ');
    segments.push({ startS: part[0]!.startS, endS: part.at(-1)!.endS, text: ` ${line}` });
  }
  return { segments, words };
}

function at(share: number, seconds: number): number {
  return Math.round(share * seconds * 1_000) / 1_000;
}

/** A segment as Whisper describes it. */
export function segmentJson({ startS, endS, text }: TimedPart, id: number): JsonObject {
  return {
    id,
    seek: 0,
    start: startS,
    end: endS,
    text,
    tokens: [50_364, 50_364 + text.length],
    temperature: 0,
    avg_logprob: -0.25,
    compression_ratio: 1,
    no_speech_prob: 0.01,
  };
}

export function srtOf(segments: readonly TimedPart[]): string {
  return segments
    .map(({ startS, endS, text }, at) => `${at + 1}\n${clock(startS, ',')} --> ${clock(endS, ',')}\n${text.trim()}\n`)
    .join('\n');
}

export function vttOf(segments: readonly TimedPart[]): string {
  const cues = segments.map(
    ({ startS, endS, text }) => `${clock(startS, '.')} --> ${clock(endS, '.')}\n${text.trim()}\n`,
  );
  return `WEBVTT\n\n${cues.join('\n')}`;
}

function clock(seconds: number, point: string): string {
  const ms = Math.round(seconds * 1_000);
  const two = (count: number) => String(count).padStart(2, '0');
  const whole = `${two(Math.floor(ms / 3_600_000))}:${two(Math.floor(ms / 60_000) % 60)}:${two(Math.floor(ms / 1_000) % 60)}`;
  return `${whole}${point}${String(ms % 1_000).padStart(3, '0')}`;
}
