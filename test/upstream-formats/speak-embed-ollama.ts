import { embeddingPrompt, wholeOnly } from '../../src/simulator/embed-prompt.ts';
import { vectorsOf } from '../../src/simulator/embed-vectors.ts';
import type { Speech } from '../../src/simulator/endpoints/speech.ts';

/** `POST /api/embed` of Ollama. */
export const ollamaEmbedSpeech: Speech = {
  ...wholeOnly,
  read(body) {
    if (typeof body.model !== 'string' || body.model === '') return { refused: 'model is required', param: 'model' };
    return embeddingPrompt({
      model: body.model,
      input: body.input,
      inputParam: 'input',
      dimensions: body.dimensions,
      encoding: 'float',
    });
  },
  whole({ model, inputTokens }, prompt, spec) {
    const embeddings = vectorsOf(prompt, spec).map(({ json }) => json);
    const usage = (spec.omit ?? []).includes('usage') ? '' : `,"prompt_eval_count":${inputTokens}`;
    return `{"model":${JSON.stringify(model)},"embeddings":[${embeddings.join(',')}],"total_duration":1000000,"load_duration":1000${usage}}`;
  },
  errorBody: ({ message }) => JSON.stringify({ error: message }),
  errorFrame: ({ message }) => `${JSON.stringify({ error: message })}\n`,
};
