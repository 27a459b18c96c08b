import { type Failure, invalid, isFailure } from '../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { checkFields, plainTable } from '../dialects/field-table.ts';
import { bodySchema, type JsonSchema } from '../neutral/described-check.ts';
import type { AnswerForm, EmbeddingRequest } from '../neutral/embedding.ts';
import * as v from '../neutral/value-checks.ts';
import { dimensionsMax, inputsMax, readEmbeddingRequest } from './read-request.ts';

const dimensions = v.integerIn(1, dimensionsMax);

/** Members of Amazon Titan, Amazon Nova and Cohere, of which a body has those of one. */
const fields = plainTable({
  model: v.string,
  inputText: v.string,
  dimensions,
  normalize: v.boolean,
  embeddingTypes: v.arrayOf(v.oneOf('float'), 1, 1, "form: 'float'"),
  embeddingConfig: v.members('an object', { outputEmbeddingLength: dimensions }),
  texts: v.arrayOf(v.string, 1, inputsMax, 'texts'),
  input_type: v.stringOf(1, 64),
  truncate: v.oneOf('NONE', 'START', 'END', 'LEFT', 'RIGHT'),
  embedding_types: v.arrayOf(v.oneOf('float'), 1, 1, "form: 'float'"),
  output_dimension: dimensions,
  taskType: v.oneOf('SINGLE_EMBEDDING'),
  singleEmbeddingParams: v.members("an object with 'text'", {
    embeddingPurpose: v.string,
    embeddingDimension: dimensions,
    text: v.needed(
      v.members("an object with 'value'", { value: v.needed(v.string, 'a text'), truncationMode: v.string }),
      "an object with 'value': only texts are embedded here",
    ),
  }),
  schemaVersion: v.anyJson,
});

const required = new Map([['model', 'the name of an embedding model (GET /v1/models lists them)']]);

/** A body of InvokeModel with texts to embed, and the model of its path. */
export function readBedrockRequest(body: JsonObject): EmbeddingRequest | Failure {
  const complaint = checkFields(fields, body, required);
  if (complaint !== null) return v.asFailure(complaint);
  const { model, images, inputImage } = body;
  if ((images ?? inputImage ?? null) !== null) {
    return invalid(images == null ? 'inputImage' : 'images', 'Only texts are embedded here.');
  }
  const settings = settingsIn(body);
  if (settings === null) {
    const message = "Missing 'inputText': send a text, or Cohere's 'texts', or Nova's 'singleEmbeddingParams'.";
    return invalid('inputText', message);
  }
  const { form, input, size, others } = settings;
  const read = readEmbeddingRequest({ model, input, dimensions: size ?? null, ...others });
  return isFailure(read) ? read : { ...read, answerForm: form };
}

interface EmbeddingSettings {
  form: AnswerForm;
  input: JsonValue;
  size: JsonValue | undefined;
  /** Members that are passed on by their names, or reported as lost. */
  others: JsonObject;
}

/** Null: there is no text in it. */
function settingsIn(body: JsonObject): EmbeddingSettings | null {
  const { inputText, dimensions: size, normalize, embeddingConfig, texts, singleEmbeddingParams: single } = body;
  if (typeof inputText === 'string') {
    const length = isObject(embeddingConfig) ? embeddingConfig.outputEmbeddingLength : size;
    return { form: 'titan', input: inputText, size: length, others: normalize === false ? { normalize } : {} };
  }
  if (Array.isArray(texts)) {
    const { input_type: type, truncate, embedding_types: types, output_dimension: length } = body;
    const others = { ...(type != null && { input_type: type }), ...(truncate != null && { truncate }) };
    return { form: types == null ? 'cohere-floats' : 'cohere', input: texts, size: length, others };
  }
  if (!isObject(single) || !isObject(single.text)) return null;
  const { embeddingPurpose: purpose, embeddingDimension: length, text } = single;
  const type = typeof purpose === 'string' ? (purposes.get(purpose) ?? null) : null;
  return { form: 'nova', input: text.value ?? '', size: length, others: type === null ? {} : { input_type: type } };
}

/** Nova's words for a purpose, as Cohere says them. */
const purposes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    GENERIC_INDEX: 'search_document',
    GENERIC_RETRIEVAL: 'search_query',
    TEXT_RETRIEVAL: 'search_query',
    CLASSIFICATION: 'classification',
    CLUSTERING: 'clustering',
  }),
);

/** Schema of such a body for `/openapi.json`. */
export function bedrockEmbeddingSchema(): JsonSchema {
  const { model: _, ...rest } = Object.fromEntries(fields);
  return bodySchema(Object.entries(rest), new Map());
}
