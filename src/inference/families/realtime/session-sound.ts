import { decodeG711, encodeG711, g711RateHz } from '../../../engines/audio/g711.ts';
import { createResampler } from '../../../engines/audio/resample.ts';
import { readSamples, toS16le } from '../../../engines/audio/wav.ts';
import type { SoundFormat } from '../../../formats/media/realtime/session-settings.ts';
import type { Failure } from '../../../kernel/failure.ts';
import type { JsonValue } from '../../../kernel/json.ts';
import type { RoomHold } from '../../../kernel/sharing/room.ts';
import { sampleRateHz } from './speech-detector.ts';

/** The bytes of a caller's base64; null: it is none. */
export function decodedSound(base64: JsonValue | undefined): Buffer | null {
  if (typeof base64 !== 'string') return null;
  const bytes = Buffer.from(base64, 'base64');
  // Node leaves out characters that are not base64. Some encoders break it into lines.
  const isWhole = (text: string) => bytes.length === Buffer.byteLength(text, 'base64');
  return isWhole(base64) || isWhole(base64.replace(/\s/g, '')) ? bytes : null;
}

/** Sound of one turn, with its place in the room for bodies until it is dropped. */
export class HeldSound {
  readonly #pieces: Buffer[] = [];
  readonly #hold: RoomHold;
  bytes = 0;

  constructor(hold: RoomHold) {
    this.#hold = hold;
  }

  /** A refusal, and nothing is added; null: there is room. */
  push(sound: Buffer): Failure | null {
    const noRoom = this.#hold.take(sound.length);
    if (noRoom !== null) return noRoom;
    this.#pieces.push(sound);
    this.bytes += sound.length;
    return null;
  }

  whole(): Buffer {
    return Buffer.concat(this.#pieces);
  }

  drop(): void {
    this.#pieces.length = 0;
    this.#hold.giveBack();
  }
}

/** Converts a caller's sound, piece by piece, to PCM of 24 kHz. */
export function soundReader(format: SoundFormat): (bytes: Buffer) => Buffer {
  if (format === 'pcm') return (bytes) => bytes;
  const resampler = createResampler(g711RateHz, sampleRateHz);
  return (bytes) => toS16le(resampler.push(decodeG711(bytes, format)));
}

/** PCM of 24 kHz, cut anywhere, in the caller's format. */
export interface SoundWriter {
  push(pcm: Buffer): Buffer;
  end(): Buffer;
}

export function soundWriter(format: SoundFormat): SoundWriter {
  let rest: Buffer = Buffer.alloc(0);
  const whole = (pcm: Buffer) => {
    const bytes = rest.length === 0 ? pcm : Buffer.concat([rest, pcm]);
    const end = bytes.length - (bytes.length % 2);
    rest = bytes.subarray(end);
    return bytes.subarray(0, end);
  };
  if (format === 'pcm') return { push: whole, end: () => Buffer.alloc(0) };
  const resampler = createResampler(sampleRateHz, g711RateHz);
  const mono = { encoding: 's16', channels: 1 } as const;
  return {
    push: (pcm) => encodeG711(resampler.push(readSamples(whole(pcm), mono)), format),
    end: () => encodeG711(resampler.end(), format),
  };
}
