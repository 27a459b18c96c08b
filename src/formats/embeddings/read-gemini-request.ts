import { type Failure, invalid, isFailure } from '../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, objectIn } from '../../kernel/json.ts';
import { pathModel } from '../dialects/gemini/path-members.ts';
import { asInReference, staysHere } from '../dialects/gemini/read-request.ts';
import { type EmbeddingRequest, inputTypeOf } from '../neutral/embedding.ts';
import { asFailure, complain, integerIn, optional, stringOf, within } from '../neutral/value-checks.ts';
import { dimensionsMax, inputsMax } from './read-request.ts';

const rules = { taskType: stringOf(1, 64), outputDimensionality: integerIn(1, dimensionsMax) };
const known = new Set([pathModel, 'model', 'requests', 'content', ...Object.keys(rules)]);

/**
 * The body of Google's `embedContent`, of `batchEmbedContents` where it holds `requests`, or of Vertex AI's `predict` where it holds
 * `instances`, as `withPathModel` gives it.
 */
export function readGeminiRequest(raw: JsonObject): EmbeddingRequest | Failure {
  const { embedContentConfig, ...body } = asInReference(raw);
  const list = ['requests', 'instances'].find((name) => body[name] !== undefined);
  const given = list === undefined ? [{ ...body, ...objectIn(embedContentConfig) }] : body[list];
  if (!Array.isArray(given) || given.length === 0) {
    return asFailure(complain(list ?? 'requests', given as JsonValue, `an array of 1 to ${inputsMax} requests`));
  }
  if (given.length > inputsMax) {
    return invalid(list ?? null, `'${list}' has ${given.length} members. Send at most ${inputsMax}.`);
  }
  const requests = list === 'instances' ? given.map((one) => requestOf(one, objectIn(body.parameters))) : given;
  const texts: string[] = [];
  const [first] = requests;
  for (const [i, request] of requests.entries()) {
    const path = list === undefined ? '' : `${list}[${i}]`;
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
    answerForm: list === undefined ? 'gemini-one' : list === 'requests' ? 'gemini-batch' : 'vertex',
    user: null,
    extra: Object.fromEntries(
      Object.entries(first as JsonObject).filter(
        ([name, value]) => !known.has(name) && !staysHere.has(name) && value !== null,
      ),
    ),
  };
}

/** An instance of Vertex AI's `predict`, with the parameters of all, as a request of `batchEmbedContents`. */
function requestOf(instance: JsonValue, parameters: JsonObject): JsonValue {
  if (!isObject(instance) || typeof instance.content !== 'string') return instance;
  return { ...parameters, ...instance, content: { parts: [{ text: instance.content }] } };
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
  if (path.startsWith('instances') && !isObject(content)) return asFailure(complain(at('content'), content, 'a text'));
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
