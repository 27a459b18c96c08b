import { isObject, type JsonObject, type JsonValue, objectIn } from '../../kernel/json.ts';
import { faultInList } from '../dialects/forwarded/read-whole.ts';
import { leaveOut } from '../neutral/loss.ts';
import type { Fault } from '../neutral/outcome.ts';
import { reportedCount } from '../neutral/usage.ts';
import {
  type EmbeddingFormat,
  type EmbeddingOrder,
  type EncodedEmbeddings,
  inputTypeMember,
  lossesOf,
} from './format.ts';
import { malformed, readRows } from './read-rows.ts';

/** OpenAI's format, which nearly everybody took over; where services differ is in their `EmbeddingFacts`. */
export const openAiEmbeddings: EmbeddingFormat = {
  id: 'openai',
  encode,
  decode(body, count) {
    const found = faultInList(body, ['data'], 0);
    if (found !== null) return found;
    if (!isObject(body) || !Array.isArray(body.data)) return malformed("the answer has no 'data'");
    const vectors = inOrder(body.data, count);
    if (!Array.isArray(vectors)) return vectors as Fault;
    // Voyage and Jina tell the total alone.
    const { prompt_tokens: prompt, total_tokens: total } = objectIn(body.usage);
    return readRows(vectors, count, reportedCount(prompt) || total);
  },
};

function encode(order: EmbeddingOrder): EncodedEmbeddings {
  const { model, inputs, dimensions, request, facts } = order;
  // Services refuse members of other formats, such as Cohere's `truncate`.
  const extra = request.answerForm === 'openai' ? request.extra : {};
  const body: JsonObject = {
    ...extra,
    model,
    input: inputs.kind === 'texts' ? [...inputs.texts] : inputs.tokens.map((tokens) => [...tokens]),
  };
  const encoding = facts.encoding === 'asked' ? request.encoding : facts.encoding;
  // Every server answers floats if nothing is asked for, and some refuse the field.
  if (encoding !== undefined && encoding !== 'float' && !isOfIntegers(order))
    body[facts.encodingField ?? 'encoding_format'] = encoding;
  if (dimensions !== null) body[facts.dimensionsField ?? 'dimensions'] = dimensions;
  // LiteLLM's name for a purpose that the service has its word for.
  if (typeof facts.inputType === 'object') delete body.task_type;
  Object.assign(body, inputTypeMember(order));
  if (request.user !== null && facts.takesUser) body.user = request.user;
  const losses = lossesOf(order, extra === request.extra ? 'all' : []);
  return { body, losses: [...losses, ...leaveOut(body, facts.without)] };
}

/** Whether the caller chose vectors of integers (Voyage's `output_dtype`, Jina's `embedding_type`), read as numbers alone. */
function isOfIntegers({ request: { extra }, facts: { encodingField = 'output_dtype' } }: EmbeddingOrder): boolean {
  const type = extra.output_dtype ?? extra[encodingField];
  return typeof type === 'string' && /int|binary/.test(type);
}

/** `index` says which input each is of: all of them once, or none of them has one. */
function inOrder(data: readonly JsonValue[], count: number): (JsonValue | undefined)[] | Fault {
  const rows = data.filter(isObject);
  if (rows.length !== count || data.length !== count) {
    return malformed(`answered ${data.length} vectors for ${count} inputs`);
  }
  if (rows.every(({ index }) => index === undefined)) return rows.map(({ embedding }) => embedding);
  const ordered = new Array<JsonValue | undefined>(count);
  for (const { index, embedding } of rows) {
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count || index in ordered) {
      return malformed('answered indexes that are not those of the inputs');
    }
    ordered[index] = embedding;
  }
  return ordered;
}
