import type { SessionSettings } from '../../../formats/media/realtime/session-settings.ts';

/** Sound of the realtime API: PCM, 16 bits, one channel. */
export const sampleRateHz = 24_000;
const bytesPerMs = (sampleRateHz * 2) / 1_000;
const frameMs = 20;
const frameBytes = frameMs * bytesPerMs;
/** Root mean square of a frame, of 1 at most: a quiet room has some 0.002, speech into a microphone 0.03 and more. */
const speechLevel = 0.012;
/** So much of it at least is speech, and no click. */
const speechMinMs = 60;
const silenceUsualMs = 500;
/** Shorter pauses are within words, and each piece of speech is a call that is paid. */
const silenceMinMs = 100;
const prefixUsualMs = 300;
/** Longest sound that is kept from before the speech, and longest silence that ends it. */
const paddingMaxMs = 10_000;

export interface DetectorTimes {
  /** Length of the silence that ends a turn. */
  silenceMs: number;
  /** Kept from before the speech. */
  prefixMs: number;
}

export type DetectedSpeech = { kind: 'begins'; atMs: number } | { kind: 'ends'; atMs: number; sound: Buffer };

/** Finds speech by its loudness in sound that comes in pieces. `soundMaxMs` of speech end it too. */
export class SpeechDetector {
  readonly #times: DetectorTimes;
  readonly #soundMaxMs: number;
  #rest: Buffer = Buffer.alloc(0);
  /** Frames of the speech, or before it. */
  #frames: Buffer[] = [];
  #speaking = false;
  #loudMs = 0;
  #quietMs = 0;
  #receivedMs = 0;

  constructor(times: DetectorTimes, soundMaxMs: number) {
    this.#times = times;
    this.#soundMaxMs = soundMaxMs;
  }

  push(sound: Buffer): DetectedSpeech[] {
    const bytes = this.#rest.length === 0 ? sound : Buffer.concat([this.#rest, sound]);
    const found: DetectedSpeech[] = [];
    let at = 0;
    for (; at + frameBytes <= bytes.length; at += frameBytes) {
      const detected = this.#frame(bytes.subarray(at, at + frameBytes));
      if (detected !== null) found.push(detected);
    }
    this.#rest = bytes.subarray(at);
    return found;
  }

  /** Forgets the sound that has come. Times go on. */
  clear(): void {
    this.#rest = Buffer.alloc(0);
    this.#frames = [];
    this.#speaking = false;
    this.#loudMs = 0;
  }

  #frame(frame: Buffer): DetectedSpeech | null {
    this.#receivedMs += frameMs;
    this.#frames.push(frame);
    const isLoud = loudness(frame) >= speechLevel;
    this.#loudMs = isLoud ? this.#loudMs + frameMs : 0;
    this.#quietMs = isLoud ? 0 : this.#quietMs + frameMs;
    if (!this.#speaking) {
      if (this.#loudMs >= speechMinMs) {
        this.#speaking = true;
        return { kind: 'begins', atMs: this.#receivedMs - this.#loudMs };
      }
      const framesMax = Math.ceil((this.#times.prefixMs + speechMinMs) / frameMs);
      if (this.#frames.length >= framesMax) this.#frames.shift();
      return null;
    }
    if (this.#quietMs < this.#times.silenceMs && this.#frames.length * frameMs < this.#soundMaxMs) return null;
    const sound = Buffer.concat(this.#frames);
    this.#frames = [];
    this.#speaking = false;
    this.#loudMs = 0;
    return { kind: 'ends', atMs: this.#receivedMs, sound };
  }
}

function loudness(frame: Buffer): number {
  let sum = 0;
  for (let at = 0; at < frame.length; at += 2) {
    const sample = frame.readInt16LE(at) / 32_768;
    sum += sample * sample;
  }
  return Math.sqrt(sum / (frame.length / 2));
}

/** The detector of a session whose sound is at most so long; null: its client commits its turns. */
export function detectorFor({ turns }: SessionSettings, soundMaxMs: number): SpeechDetector | null {
  if (turns.by === 'commit') return null;
  const { silenceMs, prefixMs } = turns;
  return new SpeechDetector(
    {
      silenceMs: Math.max(silenceMinMs, Math.min(silenceMs ?? silenceUsualMs, paddingMaxMs)),
      prefixMs: Math.min(prefixMs ?? prefixUsualMs, paddingMaxMs),
    },
    soundMaxMs,
  );
}
