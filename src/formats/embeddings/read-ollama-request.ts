import { type Failure, isFailure } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { checkFields, plainTable } from '../dialects/field-table.ts';
import { furtherMembers } from '../dialects/forward-body.ts';
import { bodySchema, type JsonSchema } from '../neutral/described-check.ts';
import type { EmbeddingRequest } from '../neutral/embedding.ts';
import { anyJson, arrayOf, asFailure, boolean, integerIn, object, string, textOr } from '../neutral/value-checks.ts';
import { dimensionsMax, inputsMax, readEmbeddingRequest } from './read-request.ts';

const model = ['model', 'the name of a model (GET /api/tags lists them)'] as const;

const fields = plainTable({
  model: string,
  input: textOr(arrayOf(string, 1, inputsMax, 'texts')),
  prompt: string,
  dimensions: integerIn(1, dimensionsMax),
  truncate: boolean,
  options: object,
  keep_alive: anyJson,
});

/** `keep_alive` says nothing here: operators decide which models stay in memory. */
const taken = new Set(['model', 'input', 'prompt', 'dimensions', 'keep_alive']);

const requiredOfMany = new Map([model, ['input', 'a text, or an array of texts']]);

/** The body of Ollama's `POST /api/embed`, or of `/api/embeddings`, whose text is `prompt`. */
export function readOllamaRequest(body: JsonObject): EmbeddingRequest | Failure {
  const isOne = body.input === undefined && body.prompt !== undefined;
  const complaint = checkFields(fields, body, isOne ? new Map([model]) : requiredOfMany);
  if (complaint !== null) return asFailure(complaint);
  const { model: name = '', input = '', prompt = '', dimensions = null } = body;
  const read = readEmbeddingRequest({ model: name, input: isOne ? prompt : input, dimensions });
  if (isFailure(read)) return read;
  return { ...read, answerForm: isOne ? 'ollama-one' : 'ollama', extra: furtherMembers(body, taken) };
}

/** Schema of such a body for `/openapi.json`. */
export function ollamaEmbeddingSchema(): JsonSchema {
  return bodySchema(fields, requiredOfMany);
}
