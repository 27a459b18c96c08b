import { isObject, type JsonValue } from '../../src/kernel/json.ts';
import { embeddingPrompt, wholeOnly } from '../../src/simulator/embed-prompt.ts';
import { vectorsOf } from '../../src/simulator/embed-vectors.ts';
import type { Speech } from '../../src/simulator/endpoints/speech.ts';
import { textOf } from '../../src/simulator/prompt.ts';
import { geminiSpeech } from './speak-gemini.ts';

const shared = {
  ...wholeOnly,
  errorBody: geminiSpeech.errorBody,
  errorFrame: geminiSpeech.errorFrame,
} as const satisfies Partial<Speech>;

/** `embedContent`, after the reference of generativelanguage.googleapis.com (v1beta). */
export const geminiEmbedSpeech: Speech = {
  ...shared,
  read: (body, pathModel) =>
    embeddingPrompt({
      model: pathModel ?? '',
      input: [contentText(body)],
      inputParam: 'content',
      dimensions: body.outputDimensionality,
      encoding: 'float',
    }),
  whole(_answer, prompt, spec) {
    const [values] = valuesOf(vectorsOf(prompt, spec));
    return `{"embedding":${values ?? '{}'}}`;
  },
};

/** `batchEmbedContents`: the first request's size stands for all. */
export const geminiBatchEmbedSpeech: Speech = {
  ...shared,
  read(body, pathModel) {
    const requests = Array.isArray(body.requests) ? body.requests : [];
    const first = requests[0];
    return embeddingPrompt({
      model: pathModel ?? '',
      input: requests.map(contentText),
      inputParam: 'requests',
      dimensions: isObject(first) ? first.outputDimensionality : undefined,
      encoding: 'float',
    });
  },
  whole: (_answer, prompt, spec) => `{"embeddings":[${valuesOf(vectorsOf(prompt, spec)).join(',')}]}`,
};

function valuesOf(vectors: readonly { json: string }[]): string[] {
  return vectors.map(({ json }) => `{"values":${json}}`);
}

/** Null, which is not a text, when it holds none. */
function contentText(request: JsonValue): string | null {
  if (!isObject(request) || !isObject(request.content)) return null;
  return textOf(request.content.parts);
}
