import { kokoroStandardVoices } from '../formats/neutral/speech.ts';
import type { SpeakOrder } from './child/speak-kokoro.ts';
import type { EngineChild } from './engine-child.ts';
import { engineFailed, engineMissing } from './engine-error.ts';
import { type Espeak, espeakFix } from './espeak.ts';
import { kokoroVoices } from './extras/model-manifest.ts';
import { phonemesOf } from './phonemes.ts';
import { sentencesOf } from './sentences.ts';
import type { SpeechEngine } from './speech-engine.ts';

export interface KokoroParts {
  model: string;
  /** Throws why it cannot be asked yet. */
  ready(): void;
  child: EngineChild;
  /** Null where espeak-ng is not installed: without phonemes it cannot speak. */
  espeak(): Espeak | null;
}

/** Kokoro in a child process, sentence by sentence; the phonemes come from the system's espeak-ng. */
export function createKokoroSpeech({ model, ready, child, espeak }: KokoroParts): SpeechEngine {
  return {
    model,
    sampleRateHz: 24_000,
    voices: kokoroVoices,
    standardVoices: kokoroStandardVoices,
    async *speak({ tenant, text, voice, speed, signal }) {
      ready();
      if (!kokoroVoices.includes(voice)) throw engineFailed(`${model} has no voice '${voice}'`);
      const speller = espeak();
      if (speller === null) throw engineMissing(`${model} needs espeak-ng for its phonemes: ${espeakFix}`);
      let samples = 0;
      for (const sentence of sentencesOf(text)) {
        const phonemes = await phonemesOf({ espeak: speller, tenant }, sentence, voice, signal);
        if (phonemes === '') continue;
        const order: SpeakOrder = { phonemes, voice, speed };
        const sound = await child.ask<Float32Array>(tenant, order, signal);
        samples += sound.length;
        if (sound.length > 0) yield pcmOf(sound);
      }
      if (samples === 0) throw engineFailed(`${model} made no audio from this text`);
    },
  };
}

/** Louder than pcm can say is cut. */
function pcmOf(sound: Float32Array): Buffer {
  const pcm = Int16Array.from(sound, (value) => Math.max(-32_768, Math.min(32_767, Math.round(value * 32_767))));
  return Buffer.from(pcm.buffer);
}
