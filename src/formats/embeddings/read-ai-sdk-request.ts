import { type Failure, isFailure } from '../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import { checkFields, plainTable } from '../dialects/field-table.ts';
import { withFirst } from '../dialects/gemini/path-members.ts';
import { bodySchema, type JsonSchema } from '../neutral/described-check.ts';
import type { EmbeddingRequest } from '../neutral/embedding.ts';
import { arrayOf, asFailure, integerIn, object, string, textOr } from '../neutral/value-checks.ts';
import { dimensionsMax, inputsMax, readEmbeddingRequest } from './read-request.ts';

const texts = arrayOf(string, 1, inputsMax, 'texts');
const fields = plainTable({
  model: string,
  values: texts,
  // Of the AI SDK's version 5.
  input: textOr(texts),
  dimensions: integerIn(1, dimensionsMax),
  providerOptions: object,
});

const required = new Map([['values', 'an array of texts']]);
const earlier = new Map([['input', 'a text, or an array of texts']]);

/** A body with the model of its header as its first member. */
export function withHeaderModel(raw: Buffer, model: string): Buffer {
  return withFirst(raw, `"model":${JSON.stringify(model.toWellFormed())}`);
}

/** The body of an embedding call of the AI SDK, with the model of its header. */
export function readAiSdkRequest(body: JsonObject): EmbeddingRequest | Failure {
  const complaint = checkFields(fields, body, body.input === undefined ? required : earlier);
  if (complaint !== null) return asFailure(complaint);
  const { model = '', values, input = values ?? [], dimensions = null, providerOptions } = body;
  const read = readEmbeddingRequest({ model, input, dimensions });
  if (isFailure(read)) return read;
  // Options of vendors have no place elsewhere: one that says something is reported as lost.
  const options = isObject(providerOptions) && Object.keys(providerOptions).length > 0 ? { providerOptions } : {};
  return { ...read, answerForm: 'ai-sdk', extra: { ...read.extra, ...options } };
}

/** Schema of such a body for `/openapi.json`. */
export function aiSdkEmbeddingSchema(): JsonSchema {
  const { model: _, input: __, ...rest } = Object.fromEntries(fields);
  return bodySchema(Object.entries(rest), required);
}
