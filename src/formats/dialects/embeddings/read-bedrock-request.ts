import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { bodySchema, type JsonSchema } from '../../neutral/described-check.ts';
import type { AnswerForm, EmbeddingRequest } from '../../neutral/embedding.ts';
import {
  anyJson,
  arrayOf,
  asFailure,
  boolean,
  integerIn,
  members,
  needed,
  oneOf,
  string,
  stringOf,
} from '../../neutral/value-checks.ts';
import { checkFields, plainTable } from '../field-table.ts';
import { dimensionsMax, inputsMax, readEmbeddingRequest } from './read-request.ts';

const dimensions = integerIn(1, dimensionsMax);

/** Members of Amazon Titan, Amazon Nova and Cohere, of which a body has those of one. */
const fields = plainTable({
  model: string,
  inputText: string,
  dimensions,
  normalize: boolean,
  embeddingTypes: arrayOf(oneOf('float'), 1, 1, "form: 'float'"),
  embeddingConfig: members('an object', { outputEmbeddingLength: dimensions }),
  texts: arrayOf(string, 1, inputsMax, 'texts'),
  input_type: stringOf(1, 64),
  truncate: oneOf('NONE', 'START', 'END', 'LEFT', 'RIGHT'),
  embedding_types: arrayOf(oneOf('float'), 1, 1, "form: 'float'"),
  output_dimension: dimensions,
  taskType: oneOf('SINGLE_EMBEDDING'),
  singleEmbeddingParams: members("an object with 'text'", {
    embeddingPurpose: string,
    embeddingDimension: dimensions,
    text: needed(
      members("an object with 'value'", { value: needed(string, 'a text'), truncationMode: string }),
      "an object with 'value': only texts are embedded here",
    ),
  }),
  schemaVersion: anyJson,
});

const required = new Map([['model', 'the name of an embedding model (GET /v1/models lists them)']]);

/** A body of InvokeModel with texts to embed, and the model of its path. */
export function readBedrockRequest(body: JsonObject): EmbeddingRequest | Failure {
  const complaint = checkFields(fields, body, required);
  if (complaint !== null) return asFailure(complaint);
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
