import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { type EmbeddingRequest, inputTypeOf } from '../../neutral/embedding.ts';
import { asFailure, complain, integerIn, optional, stringOf, within } from '../../neutral/value-checks.ts';
import { pathModel } from '../gemini/path-members.ts';
import { asInReference, staysHere } from '../gemini/read-request.ts';
import { dimensionsMax, inputsMax } from './read-request.ts';

const rules = { taskType: stringOf(1, 64), outputDimensionality: integerIn(1, dimensionsMax) };
const known = new Set([pathModel, 'model', 'requests', 'content', ...Object.keys(rules)]);

/**
 * The body of Google's `embedContent`, or of `batchEmbedContents` where it holds `requests`, as `withPathModel` gives it.
 */
export function readGeminiRequest(raw: JsonObject): EmbeddingRequest | Failure {
  const body = asInReference(raw);
  const batch = body.requests !== undefined;
  const requests = batch ? body.requests : [body];
  if (!Array.isArray(requests) || requests.length === 0) {
    return asFailure(complain('requests', requests as JsonValue, `an array of 1 to ${inputsMax} requests`));
  }
  if (requests.length > inputsMax) {
    return invalid('requests', `'requests' has ${requests.length} members. Send at most ${inputsMax}.`);
  }
  const texts: string[] = [];
  const [first] = requests;
  for (const [i, request] of requests.entries()) {
    const path = batch ? `requests[${i}]` : '';
    const read = readContent(request, path);
    if (isFailure(read)) return read;
    texts.push(read);
    const other = otherThanFirst(first as JsonObject, request as JsonObject);
    if (other !== null) {
      return invalid(`${path}.${other}`, `'${path}.${other}' must be the same for all requests of one call.`);
    }
  }
  const { taskType, outputDimensionality } = first as JsonObject;
  return {
    model: raw[pathModel] as string,
    inputs: { kind: 'texts', texts },
    dimensions: typeof outputDimensionality === 'number' ? outputDimensionality : null,
    inputType: typeof taskType === 'string' && taskType !== 'TASK_TYPE_UNSPECIFIED' ? inputTypeOf(taskType) : null,
    inputTypeWord: null,
    purpose: 'query',
    encoding: 'float',
    answerForm: batch ? 'gemini-batch' : 'gemini-one',
    user: null,
    extra: Object.fromEntries(
      Object.entries(first as JsonObject).filter(
        ([name, value]) => !known.has(name) && !staysHere.has(name) && value !== null,
      ),
    ),
  };
}

/** The text of a request's content, its parts joined. */
function readContent(request: JsonValue, path: string): string | Failure {
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  if (!isObject(request)) return asFailure(complain(path, request, "an object with 'content'"));
  for (const [name, rule] of Object.entries(rules)) {
    const complaint = optional(request, name, rule);
    if (complaint !== null) return asFailure(path === '' ? complaint : within(path, complaint));
  }
  const { content } = request;
  const parts = isObject(content) ? content.parts : undefined;
  if (!Array.isArray(parts)) {
    return asFailure(complain(at('content'), content, "an object with 'parts' that hold text"));
  }
  let text = '';
  for (const [i, part] of parts.entries()) {
    if (!isObject(part) || typeof part.text !== 'string') {
      return asFailure(complain(at(`content.parts[${i}]`), part, "an object with 'text': texts alone are embedded"));
    }
    text += part.text;
  }
  if (text === '')
    return invalid(at('content'), `'${at('content')}' is empty, so there is nothing to embed. Send some text.`);
  return text;
}

/** Member in which a request differs from the first one; null when none. */
function otherThanFirst(first: JsonObject, request: JsonObject): string | null {
  return Object.keys(rules).find((name) => (request[name] ?? null) !== (first[name] ?? null)) ?? null;
}
