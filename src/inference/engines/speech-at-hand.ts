import { createEspeak, findEspeak } from './espeak.ts';
import { createEspeakSpeech } from './espeak-speech.ts';
import type { SpeechEngine } from './speech-engine.ts';

/** What speaks on this machine without having been added, by the model that targets name it by: nothing is started. */
export function speechEnginesAtHand(searchPath: string): ReadonlyMap<string, SpeechEngine> {
  const command = findEspeak(searchPath);
  const engines = command === null ? [] : [createEspeakSpeech(createEspeak(command))];
  return new Map(engines.map((engine) => [engine.model, engine]));
}
