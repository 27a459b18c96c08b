import { embeddingPrompt, wholeOnly } from '../embed-prompt.ts';
import { vectorsOf } from '../embed-vectors.ts';
import { asOpenAi } from './speak-chat.ts';
import type { Speech } from './speech.ts';

/**
 * Embeddings, after the reference of api.openai.com; Voyage, Mistral and Jina name the size and the encoding otherwise.
 * Errors are chat completions'.
 */
export const embeddingsSpeech: Speech = {
  ...asOpenAi,
  ...wholeOnly,
  read(body, pathModel) {
    const model = typeof body.model === 'string' && body.model !== '' ? body.model : pathModel;
    if (model === null) return { refused: 'you must provide a model parameter', param: 'model' };
    return embeddingPrompt({
      model,
      input: body.input,
      inputParam: 'input',
      dimensions: body.dimensions ?? body.output_dimension,
      encoding: (body.encoding_format ?? body.embedding_type) === 'base64' ? 'base64' : 'float',
    });
  },
  whole({ model, inputTokens }, prompt, spec) {
    const data = vectorsOf(prompt, spec).map(
      ({ index, json }) => `{"object":"embedding","index":${index},"embedding":${json}}`,
    );
    const usage = (spec.omit ?? []).includes('usage')
      ? ''
      : `,"usage":{"prompt_tokens":${inputTokens},"total_tokens":${inputTokens}}`;
    return `{"object":"list","data":[${data.join(',')}],"model":${JSON.stringify(model)}${usage}}`;
  },
};
