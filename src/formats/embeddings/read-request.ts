import { type Failure, invalid, isFailure } from '../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import { furtherMembers } from '../dialects/forward-body.ts';
import { invalidFieldIn, schemaBesideModel } from '../dialects/forwarded/read-fields.ts';
import { type Complaint, described, type JsonSchema, schemaOf } from '../neutral/described-check.ts';
import { type EmbeddingInputs, type EmbeddingRequest, inputTypeOf, type VectorType } from '../neutral/embedding.ts';
import * as v from '../neutral/value-checks.ts';

/** Inputs of one request (design §6). */
export const inputsMax = 2_048;
export const dimensionsMax = 65_536;
const tokenIdMax = 2 ** 31 - 1;

const known = new Set(['model', 'input', 'encoding_format', 'dimensions', 'user', 'input_type']);
/** Voyage's and Mistral's SDKs write `dimensions` so. It is no length of vectors of bits, where each number has eight. */
const knownOfFloats = new Set([...known, 'output_dimension']);
const rules = {
  dimensions: v.integerIn(1, dimensionsMax),
  output_dimension: v.integerIn(1, dimensionsMax),
  encoding_format: v.oneOf('float', 'base64', 'base64_int8', 'base64_binary'),
  input_type: v.stringOf(1, 64),
};

/** Perplexity's encodings are bytes of Cohere's small types. */
const packedTypes: Readonly<Record<string, VectorType>> = { base64_int8: 'int8', base64_binary: 'ubinary' };

const whatToSend = `a text, tokens, or an array of 1 to ${inputsMax} of either`;

/** Schema of such a body for `/openapi.json`. */
export function embeddingSchema(): JsonSchema {
  const tokens = v.arrayOf(v.integerIn(0, tokenIdMax), 1, Number.POSITIVE_INFINITY, 'tokens');
  const listOf = (item: typeof v.string) => schemaOf(v.arrayOf(item, 1, inputsMax, 'inputs'));
  const input = described(
    { anyOf: [{ type: 'string' }, listOf(v.string), schemaOf(tokens), listOf(tokens)] },
    () => null,
  );
  return schemaBesideModel({ input, ...rules }, { input: whatToSend });
}

/** The body of `POST /v1/embeddings`; the first fault found names its field. */
export function readEmbeddingRequest(body: JsonObject): EmbeddingRequest | Failure {
  const wrong = invalidFieldIn(body, null);
  if (wrong !== null) return wrong;
  for (const [name, rule] of Object.entries(rules)) {
    const complaint = v.optional(body, name, rule);
    if (complaint !== null) return v.asFailure(complaint);
  }
  const inputs = readInputs(body.input);
  if (isFailure(inputs)) return inputs;
  const emptyAt = emptyTextIn(body.input);
  const packed = packedTypes[String(body.encoding_format)];
  const isOfFloats = (body.output_dtype ?? 'float') === 'float';
  return {
    model: body.model as string,
    inputs,
    ...(emptyAt !== null && { emptyAt }),
    dimensions: ((body.dimensions ?? (isOfFloats ? body.output_dimension : null)) as number | null | undefined) ?? null,
    inputType: typeof body.input_type === 'string' ? inputTypeOf(body.input_type) : null,
    inputTypeWord: typeof body.input_type === 'string' ? body.input_type : null,
    encoding: body.encoding_format === 'base64' ? 'base64' : 'float',
    ...(packed !== undefined && { types: [packed] }),
    purpose: 'query',
    answerForm: 'openai',
    user: typeof body.user === 'string' ? v.cleanUser(body.user) : null,
    extra: furtherMembers(body, isOfFloats ? knownOfFloats : known),
  };
}

function readInputs(input: JsonValue | undefined): EmbeddingInputs | Failure {
  if (typeof input === 'string') return { kind: 'texts', texts: [input] };
  if (!Array.isArray(input)) return v.asFailure(v.complain('input', input, whatToSend));
  if (input.length === 0) return empty('input');
  if (typeof input[0] === 'number') {
    const complaint = wrongToken(input, 'input');
    return complaint === null ? { kind: 'tokens', tokens: [input as number[]] } : v.asFailure(complaint);
  }
  if (input.length > inputsMax) {
    return invalid('input', `'input' has ${input.length} inputs. Send at most ${inputsMax} in one request.`);
  }
  return typeof input[0] === 'string' ? readTexts(input) : readTokens(input);
}

function emptyTextIn(input: JsonValue | undefined): string | null {
  if (input === '') return 'input';
  const at = Array.isArray(input) ? input.indexOf('') : -1;
  return at === -1 ? null : `input[${at}]`;
}

function readTexts(input: readonly JsonValue[]): EmbeddingInputs | Failure {
  for (let i = 0; i < input.length; i++) {
    const text = input[i];
    if (typeof text !== 'string') {
      return v.asFailure(v.complain(`input[${i}]`, text, 'a text, as the inputs before it are'));
    }
  }
  return { kind: 'texts', texts: input as string[] };
}

function readTokens(input: readonly JsonValue[]): EmbeddingInputs | Failure {
  for (let i = 0; i < input.length; i++) {
    const tokens = input[i];
    if (!Array.isArray(tokens)) {
      return v.asFailure(v.complain(`input[${i}]`, tokens, i === 0 ? 'a text or tokens' : 'an array of tokens'));
    }
    if (tokens.length === 0) return empty(`input[${i}]`);
    const complaint = wrongToken(tokens, `input[${i}]`);
    if (complaint !== null) return v.asFailure(complaint);
  }
  return { kind: 'tokens', tokens: input as number[][] };
}

function wrongToken(tokens: readonly JsonValue[], path: string): Complaint | null {
  const at = tokens.findIndex(
    (token) => typeof token !== 'number' || !Number.isInteger(token) || token < 0 || token > tokenIdMax,
  );
  return at === -1 ? null : v.complain(`${path}[${at}]`, tokens[at], 'a token, which is an integer of 0 or more');
}

/** The 400 for an input without anything in it. */
export function empty(path: string): Failure {
  const fix = path === 'input' ? 'Send some text.' : 'Leave it out or send some text.';
  return invalid(path, `'${path}' is empty, so there is nothing to embed. ${fix}`);
}
