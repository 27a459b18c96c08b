import type { JsonObject } from '../../kernel/json.ts';
import {
  type EmbeddingInputs,
  type EmbeddingRequest,
  type InputType,
  inputTypeOf,
  isInputType,
  type VectorEncoding,
} from '../neutral/embedding.ts';
import { type Loss, lossesOfRest } from '../neutral/loss.ts';
import type { Fault } from '../neutral/outcome.ts';

/** The formats in which upstreams are asked for embeddings. */
export type EmbeddingFormatId = 'openai' | 'cohere' | 'gemini' | 'vertex' | 'bedrock' | 'tei' | 'ollama' | 'engine';

/** One of them. Pure: no I/O, no clock. */
export interface EmbeddingFormat {
  id: EmbeddingFormatId;
  encode(order: EmbeddingOrder): EncodedEmbeddings;
  /** Contents of a 2xx answer; a Fault when that is not `count` vectors of one length. */
  decode(body: unknown, count: number): DecodedEmbeddings | Fault;
}

/** One call of an upstream: some of a request's inputs. */
export interface EmbeddingOrder {
  /** Upstream model id. */
  model: string;
  inputs: EmbeddingInputs;
  /** For the upstream; null: left out. */
  dimensions: number | null;
  request: Pick<
    EmbeddingRequest,
    'inputType' | 'inputTypeWord' | 'purpose' | 'encoding' | 'answerForm' | 'user' | 'extra'
  >;
  facts: EncodingFacts;
}

export interface EncodedEmbeddings {
  body: JsonObject;
  losses: Loss[];
}

export interface DecodedEmbeddings {
  /** Row after row, in the order of the inputs; every number is finite. */
  rows: Float64Array<ArrayBuffer>;
  /** Length of each. */
  size: number;
  /** Null when the upstream does not say. */
  inputTokens: number | null;
}

/** Facts of a service that embeds, as data. */
export interface EmbeddingFacts {
  format: EmbeddingFormatId;
  /** Below the base URL, or from what is above its `/v1`. */
  path: string | { fromOrigin: string };
  /** Path below the base URL, if it depends on the model; takes precedence over `path`. */
  pathOf?: (model: string, options: { apiVersion: string | null }) => string;
  /** Most inputs of one call, unless the configuration says another number. */
  batch: number;
  /** Models that take one input a call. */
  singly?: (model: string) => boolean;
  /** Most tokens of one call over all its inputs, by estimate; absent: no such bound is known. */
  batchTokens?: number;
  takesTokens: boolean;
  /**
   * Models that shorten their vectors on demand. `asked`: nobody here knows, so it gets the callers' wish and judges
   * itself; a pattern: those do, and get the length that the alias declares, too.
   */
  dimensions: 'never' | 'asked' | RegExp;
  /** OpenAI's format only: its name for `dimensions`. */
  dimensionsField?: string;
  /** Absent: nobody here knows, so services of OpenAI's format get the caller's word unchanged. */
  inputType?: InputTypeFacts | 'refused' | undefined;
  /**
   * Form in which vectors are requested. `base64`: always so, the cheapest to read; `asked`: only if the caller
   * wants it, for servers that may not know base64; absent: never.
   */
  encoding?: VectorEncoding | 'asked';
  /** OpenAI's format only: its name for `encoding_format`. */
  encodingField?: string;
  /** Takes the end user's id as `user`. */
  takesUser?: true;
  /** OpenAI's format only: further members by which an engine in the operator's network would fetch what a caller names. */
  without?: readonly string[];
}

/** The facts that encoding needs: plain data. */
export type EncodingFacts = Omit<EmbeddingFacts, 'path' | 'pathOf' | 'singly'>;

/** Form in which a service gets the purpose of inputs. */
export interface InputTypeFacts {
  field: string;
  words: Readonly<Partial<Record<InputType, string>>>;
  /** Models that embed queries in another way than documents: they get one of both if the caller leaves it open. */
  asymmetric: 'all' | RegExp;
}

/** The service's word for the purpose of an order's inputs; null when it gets none. A purpose that it lacks is left open. */
export function inputTypeFor({ model, request, facts }: EmbeddingOrder): string | null {
  const known = facts.inputType;
  if (known === undefined || known === 'refused') return null;
  const asymmetric = known.asymmetric === 'all' || known.asymmetric.test(model);
  const named = purposeNames(known)
    .map((name) => request.extra[name])
    .find((word) => typeof word === 'string');
  const byDefault = asymmetric ? (known.words[request.purpose] ?? null) : null;
  const requestedType = request.inputType ?? (named ? inputTypeOf(named) : null);
  if (requestedType === null) return byDefault;
  // The service judges words that are not known here.
  return isInputType(requestedType) ? (known.words[requestedType] ?? byDefault) : requestedType;
}

/** Members in which clients of the service, and LiteLLM's, name the purpose. */
const purposeNames = (facts: InputTypeFacts): string[] => [facts.field, 'task_type'];

/** The member that tells an order's purpose as it goes to a service of OpenAI's format; null: none does. */
export function inputTypeMember(order: EmbeddingOrder): JsonObject | null {
  const { inputType: known } = order.facts;
  if (known === 'refused') return null;
  const [field, word] =
    known === undefined ? ['input_type', order.request.inputTypeWord] : [known.field, inputTypeFor(order)];
  return word === null ? null : { [field]: word };
}

/** The purpose of inputs as a loss, by its name in the caller's format. */
export function purposeLoss({ answerForm }: Pick<EmbeddingRequest, 'answerForm'>): Loss {
  return { field: /^(?:gemini|vertex)/.test(answerForm) ? 'taskType' : 'input_type', why: 'unsupported' };
}

/** Members that each format takes, or that are seen to before one is asked. */
const taken: ReadonlySet<string> = new Set<keyof EmbeddingRequest>([
  'model',
  'inputs',
  'emptyAt',
  'dimensions',
  'inputType',
  'inputTypeWord',
  'purpose',
  'encoding',
  'types',
  'answerForm',
  'user',
  'extra',
]);

/** Losses of a request in a format. `sent`: further members that go on; `all`: they all do, unchanged. */
export function lossesOf({ request, facts }: EmbeddingOrder, sent: readonly string[] | 'all' = []): Loss[] {
  const losses: Loss[] = [];
  // A plain request has nothing to list.
  for (const name in request) {
    if (taken.has(name)) continue;
    losses.push(...lossesOfRest(request, taken));
    break;
  }
  const asItIs = sent === 'all' && facts.inputType === undefined && request.inputTypeWord !== null;
  const { words = {} } = typeof facts.inputType === 'object' ? facts.inputType : {};
  const hasWord =
    request.inputType === null || !isInputType(request.inputType) || words[request.inputType] !== undefined;
  const isPassedOn = (typeof facts.inputType === 'object' && hasWord) || asItIs;
  if (request.inputType !== null && !isPassedOn) losses.push(purposeLoss(request));
  if (request.user !== null && facts.takesUser !== true) losses.push({ field: 'user', why: 'unsupported' });
  const read = typeof facts.inputType === 'object' ? purposeNames(facts.inputType) : [];
  if (sent !== 'all')
    for (const field in request.extra)
      if (!read.includes(field) && !sent.includes(field)) losses.push({ field, why: 'unknown' });
  return losses;
}
