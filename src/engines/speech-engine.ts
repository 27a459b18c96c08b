import type { StandardVoice } from '../formats/neutral/speech.ts';

/** An order to an engine to speak. */
export interface SpeechInput {
  /** Tenant whose turn it takes. */
  tenant: string;
  text: string;
  /** One of the engine's own voices. */
  voice: string;
  /** 1 is the engine's usual pace; 0.25 to 4. */
  speed: number;
  /** Aborted when nobody listens any more: the engine must stop. */
  signal: AbortSignal;
}

/** A model in this process, or in a child of it, that speaks. Holds no state of a request and may be shared. */
export interface SpeechEngine {
  /** The upstream model id that targets name it by. */
  readonly model: string;
  /** Rate of its audio. */
  readonly sampleRateHz: number;
  /** The voices it has, as `speak` takes them. */
  readonly voices: readonly string[];
  /** Its own voice for each of the six standard ones. */
  readonly standardVoices: Readonly<Record<StandardVoice, string>>;
  /**
   * Sound, piece by piece, as soon as there is some: sentence by sentence. PCM, s16le, mono, at `sampleRateHz`; a
   * piece holds whole samples. Throws when it cannot speak, before or between pieces; made no faster than it is taken.
   */
  speak(input: SpeechInput): AsyncIterable<Buffer>;
}
