import type { TranscribedWindow, TranscribeOrder } from './child/transcribe-whisper.ts';
import type { EngineChild } from './engine-child.ts';
import type { TranscribedSegment, TranscriptionEngine } from './transcription-engine.ts';

const rateHz = 16_000;
const windowSamples = 30 * rateHz;
/** Less than this at a file's end is not a word. */
const restSamplesMin = rateHz / 10;

export interface WhisperParts {
  model: string;
  /** Throws why it cannot be asked yet. */
  ready(): void;
  child: EngineChild;
  /** A file's audio at 16 kHz, from -1 to 1. */
  decode(tenant: string, path: string, options: { rateHz: number; signal: AbortSignal }): AsyncIterable<Float32Array>;
}

/**
 * Whisper in a child process, window by window of 30 s. A window ends where its last whole segment does: the next one
 * gets a segment that was cut in the middle again, whole.
 */
export function createWhisperTranscription({ model, ready, child, decode }: WhisperParts): TranscriptionEngine {
  return {
    model,
    translates: true,
    async *transcribe({ tenant, path, language, task, words, signal }) {
      ready();
      const sound = decode(tenant, path, { rateHz, signal })[Symbol.asyncIterator]();
      let held = new Float32Array(0);
      let startS = 0;
      let ended = false;
      let detected = language;
      try {
        for (;;) {
          while (!ended && held.length <= windowSamples) {
            const next = await sound.next();
            if (next.done) ended = true;
            else held = joined(held, next.value);
          }
          const last = ended && held.length <= windowSamples;
          const window = held.slice(0, windowSamples);
          if (window.length < restSamplesMin && startS > 0) return;
          const order: TranscribeOrder = {
            samples: window,
            language: detected,
            task: task === 'english' ? 'translate' : 'transcribe',
            words: words === 'wanted',
          };
          const transcribed = await child.ask<TranscribedWindow>(tenant, order, signal);
          detected ??= transcribed.language;
          const { segments, usedSamples } = last
            ? { ...transcribed, usedSamples: window.length }
            : wholeOf(transcribed);
          for (const segment of segments) yield shifted(segment, startS, detected);
          if (last) return;
          held = held.slice(usedSamples);
          startS += usedSamples / rateHz;
        }
      } finally {
        await sound.return?.();
      }
    },
  };
}

type Segments = TranscribedWindow['segments'];

/** Without the last segment, where others come before it: it may be cut. */
function wholeOf({ segments }: TranscribedWindow): { segments: Segments; usedSamples: number } {
  const cut = segments.at(-1);
  const usedSamples = Math.round((cut?.startS ?? 0) * rateHz);
  // One segment, or one that begins at once, would be heard for ever.
  if (cut === undefined || segments.length < 2 || usedSamples < rateHz) return { segments, usedSamples: windowSamples };
  return { segments: segments.slice(0, -1), usedSamples };
}

function shifted(segment: Segments[number], byS: number, language: string | null): TranscribedSegment {
  return {
    startS: hundredths(segment.startS + byS),
    endS: hundredths(segment.endS + byS),
    text: segment.text,
    words:
      segment.words?.map(({ word, startS, endS }) => ({
        word,
        startS: hundredths(startS + byS),
        endS: hundredths(endS + byS),
      })) ?? null,
    language,
  };
}

/** Rounds to hundredths: Whisper is no more exact. */
function hundredths(seconds: number): number {
  return Math.round(seconds * 100) / 100;
}

function joined(one: Float32Array, other: Float32Array): Float32Array<ArrayBuffer> {
  const both = new Float32Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}
