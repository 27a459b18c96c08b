import { engineProvider } from '../engines/embedding-engine.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';
import type { Target } from '../routing/target.ts';
import { engineTarget } from './embed-engine.ts';

/** A target that an engine of this machine speaks for instead of an upstream. */
export function speechEngineTarget({ model }: Pick<SpeechEngine, 'model'>): Target {
  const { embedding: _, ...target } = engineTarget({ model, dimensions: 0 });
  return { ...target, id: `${engineProvider}/${model}`, stream: true };
}
