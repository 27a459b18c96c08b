import type { JsonObject } from '../../src/kernel/json.ts';
import { picturesOf } from '../../src/simulator/endpoints/speak-images.ts';
import { soundSteps } from '../../src/simulator/endpoints/speak-sound.ts';
import type { FaultSpec } from '../../src/simulator/faults/fault-spec.ts';
import { speechMs } from '../../src/simulator/media/sound.ts';
import type { Prompt } from '../../src/simulator/prompt.ts';
import { stringsOf } from '../../src/simulator/prompt.ts';

const side = 1_024;

/** Media that Google's models answer beside text, when `responseModalities` names them. */
export function mediaWishOf(config: JsonObject, text: string): Pick<Prompt, 'speech' | 'drawn'> {
  const modalities = stringsOf(config.responseModalities);
  if (modalities.includes('AUDIO')) return { speech: { format: 'pcm', ms: speechMs([...text].length, 1) } };
  if (!modalities.includes('IMAGE')) return {};
  return { drawn: { count: 1, width: side, height: side, form: 'base64', partials: 0 } };
}

/** The parts of such an answer, as a stream sends them; null when text was asked for. */
export function mediaParts(prompt: Prompt, spec: FaultSpec): JsonObject[] | null {
  if (prompt.speech !== undefined) {
    const pieces = [...soundSteps(prompt.speech, spec)].filter((step) => typeof step !== 'number');
    return pieces.map((piece) => inline('audio/L16;codec=pcm;rate=24000', Buffer.from(piece)));
  }
  if (prompt.drawn === undefined) return null;
  return picturesOf(prompt, spec).map((picture) => inline('image/png', picture));
}

/** The same in one piece: a whole answer holds all the sound in one part. */
export function wholeMediaParts(prompt: Prompt, spec: FaultSpec): JsonObject[] | null {
  if (prompt.speech === undefined) return mediaParts(prompt, spec);
  const pieces = [...soundSteps(prompt.speech, spec)].filter((step) => typeof step !== 'number');
  return [inline('audio/L16;codec=pcm;rate=24000', Buffer.concat(pieces.map((piece) => Buffer.from(piece))))];
}

function inline(mimeType: string, bytes: Buffer): JsonObject {
  return { inlineData: { mimeType, data: bytes.toString('base64') } };
}
