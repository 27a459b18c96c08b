import { setImmediate } from 'node:timers/promises';
import type { StandardVoice } from '../formats/neutral/speech.ts';
import { createResampler } from './audio/resample.ts';
import { engineFailed } from './engine-error.ts';
import type { Espeak } from './espeak.ts';
import { sentencesOf } from './sentences.ts';
import type { SpeechEngine } from './speech-engine.ts';

export const espeakModel = 'espeak-ng';

/** Design §13. */
const standardVoices: Readonly<Record<StandardVoice, string>> = {
  alloy: 'en-us',
  echo: 'en-us+m3',
  fable: 'en-gb',
  onyx: 'en-us+m7',
  nova: 'en-us+f3',
  shimmer: 'en-us+f4',
};

/** Languages that every espeak-ng since 1.50 has, each a voice. */
const languages =
  'af ar bg bn bs ca cmn cs cy da de el en-gb en-us eo es es-419 et eu fa fi fr-fr ga gu hi hr hu hy id is it ja ka kk kn ko ku ky la lt lv mk ml mr ms mt my nb ne nl or pa pl pt pt-br ro ru sd si sk sl sq sr sv sw ta te th tr tt uk ur uz vi yue'.split(
    ' ',
  );

/** That of nearly all its voices: what converts the sound further does so off the loop, in 3 ms a piece. */
const sampleRateHz = 22_050;

/** Its usual pace, and its bounds: it does not speak slower than 80. */
const wordsAMinute = 175;
const wordsAMinuteMin = 80;

/** Speech by rule: robotic, in many languages, at hand wherever espeak-ng is installed; 16 ms a sentence. */
export function createEspeakSpeech(espeak: Espeak): SpeechEngine {
  const voices = [...new Set([...Object.values(standardVoices), ...languages])];
  return {
    model: espeakModel,
    sampleRateHz,
    voices,
    standardVoices,
    async *speak({ tenant, text, voice, speed, signal }) {
      if (!voices.includes(voice)) throw engineFailed(`espeak-ng has no voice '${voice}'`);
      const pace = Math.max(wordsAMinuteMin, Math.round(wordsAMinute * speed));
      let samples = 0;
      for (const sentence of sentencesOf(text)) {
        const wav = await espeak.run(
          tenant,
          ['--stdout', '-b', '1', '-v', voice, '-s', String(pace)],
          sentence,
          signal,
        );
        for (const piece of atEngineRate(soundIn(wav))) {
          // The first samples of a short sentence may still wait for those after them.
          if (piece.length === 0) continue;
          samples += piece.length / 2;
          yield piece;
          signal.throwIfAborted();
          await setImmediate();
        }
      }
      if (samples === 0) throw engineFailed('espeak-ng made no audio from this text');
    },
  };
}

interface Sound {
  rateHz: number;
  sound: Int16Array;
}

/** Made at one go; between pieces others get the loop. */
const pieceSamples = 8_192;

function* atEngineRate({ rateHz, sound }: Sound): Generator<Buffer> {
  const resampler = createResampler(rateHz, sampleRateHz);
  for (let start = 0; start < sound.length; start += pieceSamples) {
    yield pcmOf(resampler.push(Float32Array.from(sound.subarray(start, start + pieceSamples))));
  }
  yield pcmOf(resampler.end());
}

/** Samples in units of the pcm's; louder than it can say is cut. */
function pcmOf(samples: Float32Array): Buffer {
  const pcm = Int16Array.from(samples, (sample) => Math.max(-32_768, Math.min(32_767, Math.round(sample))));
  return Buffer.from(pcm.buffer);
}

/** Its wav: mono, 16 bits, written before it knew how long it would be, so that its sizes say nothing. */
function soundIn(wav: Buffer): Sound {
  const data = wav.indexOf('data', 12, 'latin1');
  // It writes nothing at all for a text without a word.
  if (wav.length === 0 || data === -1) return { rateHz: sampleRateHz, sound: new Int16Array(0) };
  const bytes = wav.subarray(data + 8);
  const aligned = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + (bytes.length & ~1));
  return { rateHz: wav.readUInt32LE(24), sound: new Int16Array(aligned) };
}
