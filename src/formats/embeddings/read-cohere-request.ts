import { type Failure, invalid, isFailure } from '../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, jsonText } from '../../kernel/json.ts';
import { checkFields, plainTable } from '../dialects/field-table.ts';
import { bodySchema, type JsonSchema } from '../neutral/described-check.ts';
import { type EmbeddingRequest, vectorTypes } from '../neutral/embedding.ts';
import * as v from '../neutral/value-checks.ts';
import { dimensionsMax, inputsMax, readEmbeddingRequest } from './read-request.ts';

const textPart = v.byType(
  "an object such as {'type': 'text', 'text': '…'}",
  "'text': pictures cannot be embedded here",
  { text: v.members("an object with 'text'", { text: v.needed(v.string, 'a text') }) },
);

const inputItem = v.members("an object with 'content'", {
  content: v.needed(v.arrayOf(textPart, 1, 100, 'parts'), 'an array of parts'),
});

const fields = plainTable({
  model: v.string,
  texts: v.arrayOf(v.string, 1, inputsMax, 'texts'),
  inputs: v.arrayOf(inputItem, 1, inputsMax, 'inputs'),
  input_type: v.stringOf(1, 64),
  output_dimension: v.integerIn(1, dimensionsMax),
  embedding_types: v.arrayOf(v.oneOf(...vectorTypes), 1, vectorTypes.length, 'types'),
  truncate: v.oneOf('NONE', 'START', 'END'),
  max_tokens: v.anyJson,
  priority: v.anyJson,
});

const required = new Map([['model', 'the name of an embedding model (GET /v1/models lists them)']]);

/** Members that are read as those of OpenAI's body are. */
const passed = ['input_type', 'truncate', 'max_tokens', 'priority'] as const;

/** The body of Cohere's `POST /v2/embed`, of texts. */
export function readCohereRequest(body: JsonObject): EmbeddingRequest | Failure {
  const complaint = checkFields(fields, body, required);
  if (complaint !== null) return v.asFailure(complaint);
  const { images, model, texts, inputs, output_dimension: dimensions = null, embedding_types: given } = body;
  if ((images ?? null) !== null) return invalid('images', "'images' cannot be embedded here: send 'texts'.");
  const input = texts ?? (Array.isArray(inputs) ? inputs.map(textOf) : undefined);
  if (input === undefined) return invalid('texts', "Missing 'texts': send an array of texts.");
  const read = readEmbeddingRequest({
    model,
    input,
    dimensions,
    ...Object.fromEntries(passed.flatMap((name) => (v.isGiven(body[name]) ? [[name, body[name]]] : []))),
  });
  if (isFailure(read)) return read;
  const types = vectorTypes.filter((type) => Array.isArray(given) && given.includes(type));
  const encoding = types.length === 1 && types[0] === 'base64' ? 'base64' : 'float';
  return { ...read, encoding, answerForm: 'cohere', ...(types.length > 0 && { types }) };
}

/** The texts of an input that has several parts, one a line. */
function textOf(one: JsonValue): string {
  const parts = isObject(one) && Array.isArray(one.content) ? one.content : [];
  return parts.map((part) => (isObject(part) ? jsonText(part.text) : '')).join('\n');
}

/** Schema of such a body for `/openapi.json`. */
export function cohereEmbeddingSchema(): JsonSchema {
  return bodySchema(fields, required);
}
