import { embeddingPrompt, wholeOnly } from '../../src/simulator/embed-prompt.ts';
import { vectorsOf } from '../../src/simulator/embed-vectors.ts';
import type { ErrorWords, Speech } from '../../src/simulator/endpoints/speech.ts';

/** `POST /embed` of Hugging Face's text-embeddings-inference: one model a server, and a list of lists as the answer. */
export const teiEmbedSpeech: Speech = {
  ...wholeOnly,
  read: (body) =>
    embeddingPrompt({
      model: '',
      input: body.inputs,
      inputParam: 'inputs',
      dimensions: body.dimensions,
      encoding: 'float',
    }),
  whole: (_answer, prompt, spec) =>
    `[${vectorsOf(prompt, spec)
      .map(({ json }) => json)
      .join(',')}]`,
  errorBody: teiError,
  errorFrame: (words) => `data: ${teiError(words)}\n\n`,
};

function teiError({ status, message, type }: ErrorWords): string {
  const typeOfStatus = status === 429 ? 'Overloaded' : status < 500 ? 'Validation' : 'Backend';
  return JSON.stringify({ error: message, error_type: type ?? typeOfStatus });
}
