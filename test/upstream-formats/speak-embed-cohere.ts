import { embeddingPrompt, wholeOnly } from '../../src/simulator/embed-prompt.ts';
import { vectorsOf } from '../../src/simulator/embed-vectors.ts';
import type { Speech } from '../../src/simulator/endpoints/speech.ts';
import { stringsOf } from '../../src/simulator/prompt.ts';
import { cohereRerankSpeech } from './speak-rerank-cohere.ts';

/** `POST /v2/embed`, after the reference of api.cohere.com: the vectors stand by their type. */
export const cohereEmbedSpeech: Speech = {
  ...wholeOnly,
  read(body) {
    if (typeof body.model !== 'string') return { refused: 'invalid request: model is required', param: 'model' };
    if (typeof body.input_type !== 'string') {
      return {
        refused: 'invalid request: valid input_type must be provided with the provided model',
        param: 'input_type',
      };
    }
    return embeddingPrompt({
      model: body.model,
      input: body.texts,
      inputParam: 'texts',
      dimensions: body.output_dimension,
      encoding: stringsOf(body.embedding_types).includes('base64') ? 'base64' : 'float',
    });
  },
  whole({ serial, inputTokens }, prompt, spec) {
    const vectors = vectorsOf(prompt, spec).map(({ json }) => json);
    const embeddings = `{"${prompt.encoding}":[${vectors.join(',')}]}`;
    const units = (spec.omit ?? []).includes('usage') ? '' : `,"billed_units":{"input_tokens":${inputTokens}}`;
    return `{"id":"sim-embed-${serial}","embeddings":${embeddings},"texts":${JSON.stringify(prompt.items ?? [])},"meta":{"api_version":{"version":"2"}${units}},"response_type":"embeddings_by_type"}`;
  },
  errorBody: cohereRerankSpeech.errorBody,
  errorFrame: cohereRerankSpeech.errorFrame,
};
