import { isObject, type JsonObject, type JsonValue } from '../../src/kernel/json.ts';
import { embeddingPrompt, wholeOnly } from '../../src/simulator/embed-prompt.ts';
import { vectorsOf } from '../../src/simulator/embed-vectors.ts';
import { messagesSpeech } from '../../src/simulator/endpoints/speak-messages.ts';
import type { Speech } from '../../src/simulator/endpoints/speech.ts';
import { textOf } from '../../src/simulator/prompt.ts';
import { geminiSpeech } from './speak-gemini.ts';

/** Anthropic's Messages by `rawPredict`: the model stands in the path alone, the version in the body. */
export const vertexMessagesSpeech: Speech = {
  ...messagesSpeech,
  read(body, pathModel) {
    if ('model' in body) return { refused: 'model: Extra inputs are not permitted', param: 'model' };
    const version = 'anthropic_version';
    // Anthropic's SDKs from 1.0 on say the version of Messages here.
    if (!/^(vertex-2023-10-16|20\d\d-\d\d-\d\d)$/.test(String(body[version])))
      return { refused: `${version}: Field required`, param: version };
    return messagesSpeech.read({ ...body, model: pathModel }, pathModel);
  },
};

const shared = {
  ...wholeOnly,
  errorBody: geminiSpeech.errorBody,
  errorFrame: geminiSpeech.errorFrame,
} as const satisfies Partial<Speech>;

/** Embeddings by `predict`: 250 texts a call, but one for `gemini-embedding-001`. */
export const vertexPredictSpeech: Speech = {
  ...shared,
  read(body, pathModel) {
    const instances = Array.isArray(body.instances) ? body.instances : [];
    const most = pathModel?.startsWith('gemini-embedding') ? 1 : 250;
    if (instances.length > most)
      return { refused: `${instances.length} instance(s) is more than ${most}.`, param: null };
    const parameters = isObject(body.parameters) ? body.parameters : {};
    return embeddingPrompt({
      model: pathModel ?? '',
      input: instances.map((one) => (isObject(one) ? (one.content ?? null) : null)),
      inputParam: 'instances',
      dimensions: parameters.outputDimensionality,
      encoding: 'float',
    });
  },
  whole(_answer, prompt, spec) {
    const predictions = vectorsOf(prompt, spec).map(
      ({ json }) => `{"embeddings":{"values":${json},"statistics":{"token_count":4,"truncated":false}}}`,
    );
    return `{"predictions":[${predictions.join(',')}],"metadata":{"billableCharacterCount":11}}`;
  },
};

/** Embeddings by `embedContent`, of one text. */
export const vertexContentSpeech: Speech = {
  ...shared,
  read(body, pathModel) {
    const config = isObject(body.embedContentConfig) ? body.embedContentConfig : {};
    return embeddingPrompt({
      model: pathModel ?? '',
      input: [contentText(body)],
      inputParam: 'content',
      dimensions: config.outputDimensionality,
      encoding: 'float',
    });
  },
  whole(_answer, prompt, spec) {
    const [vector] = vectorsOf(prompt, spec);
    return `{"embedding":{"values":${vector?.json ?? '[]'}},"usageMetadata":{"promptTokenCount":4},"truncated":false}`;
  },
};

/** `publishers.models.list` of v1beta1. */
export const vertexListSpeech: Speech = {
  ...geminiSpeech,
  models: {
    list: (publisherModels) => ({ publisherModels: [...publisherModels] }),
    one: (id) => ({ name: `publishers/google/models/${id}`, versionId: 'default', launchStage: 'GA' }),
  },
};

function contentText({ content }: JsonObject): JsonValue {
  return isObject(content) ? textOf(content.parts) : null;
}
