import type { JsonObject } from '../../../kernel/json.ts';
import type { EmbeddingInputs, EmbeddingRequest, InputType, VectorEncoding } from '../../neutral/embedding.ts';
import type { Loss } from '../../neutral/loss.ts';
import type { Fault } from '../../neutral/outcome.ts';

/** The formats in which upstreams are asked for embeddings. */
export type EmbeddingFormatId = 'openai' | 'cohere' | 'gemini' | 'vertex' | 'tei' | 'ollama' | 'engine';

/** One of them. Pure: no I/O, no clock. */
export interface EmbeddingFormat {
  id: EmbeddingFormatId;
  encode(order: EmbeddingOrder): EncodedEmbeddings;
  /** What a 2xx answer holds; a Fault when that is not `count` vectors of one length. */
  decode(body: unknown, count: number): DecodedEmbeddings | Fault;
}

/** One call of an upstream: some of a request's inputs. */
export interface EmbeddingOrder {
  /** Upstream model id. */
  model: string;
  inputs: EmbeddingInputs;
  /** To be told to the upstream; null = nothing is said. */
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

/** How a service embeds, as data. */
export interface EmbeddingFacts {
  format: EmbeddingFormatId;
  /** Below the base URL, or from the origin. */
  path: string | { fromOrigin: string };
  /** The path below the base URL where it depends on the model; wins over `path`. */
  pathOf?: (model: string, options: { apiVersion: string | null }) => string;
  /** Most inputs of one call, unless the configuration says another number. */
  batch: number;
  /** Models that take one input a call. */
  singly?: (model: string) => boolean;
  /** Most tokens of one call over all its inputs, by estimate; absent: no such bound is known. */
  batchTokens?: number;
  /** Takes tokens for text. */
  takesTokens: boolean;
  /**
   * Which models shorten their vectors on demand. `asked`: nobody here knows, so it is told what callers ask and
   * judges itself; a pattern: those do, and are told the length that the alias declares too.
   */
  dimensions: 'never' | 'asked' | RegExp;
  /** OpenAI's format only: what it calls `dimensions`. */
  dimensionsField?: string;
  /** Absent: nobody here knows, so that services of OpenAI's format get the caller's word as it is. */
  inputType?: InputTypeFacts | 'refused' | undefined;
  /**
   * How vectors are asked for. `base64`: always so, the cheapest to read; `asked`: as the caller wants them, for
   * servers that may not know base64; absent: nothing is said.
   */
  encoding?: VectorEncoding | 'asked';
  /** OpenAI's format only: what it calls `encoding_format`. */
  encodingField?: string;
  /** Takes the end user's id as `user`. */
  takesUser?: true;
}

/** Of these facts, what encoding needs: plain data. */
export type EncodingFacts = Omit<EmbeddingFacts, 'path' | 'pathOf' | 'singly'>;

/** How a service is told what inputs are for. */
export interface InputTypeFacts {
  field: string;
  words: Readonly<Partial<Record<InputType, string>>>;
  /** Models that embed queries otherwise than documents: they are told one of both when the caller leaves it open. */
  asymmetric: 'all' | RegExp;
}

/** The service's word for what the inputs of an order are for; null when nothing is to be said. */
export function inputTypeFor({ model, request, facts }: EmbeddingOrder): string | null {
  const known = facts.inputType;
  if (known === undefined || known === 'refused') return null;
  const asymmetric = known.asymmetric === 'all' || known.asymmetric.test(model);
  const asked = request.inputType ?? (asymmetric ? request.purpose : null);
  return asked === null ? null : (known.words[asked as InputType] ?? asked);
}

/** The member that tells an order's purpose as it goes to a service of OpenAI's format; null: none does. */
export function inputTypeMember(order: EmbeddingOrder): JsonObject | null {
  const { inputType: known } = order.facts;
  if (known === 'refused') return null;
  const [field, word] =
    known === undefined ? ['input_type', order.request.inputTypeWord] : [known.field, inputTypeFor(order)];
  return word === null ? null : { [field]: word };
}

function goesAsItIs({ request, facts }: Pick<EmbeddingOrder, 'request' | 'facts'>): boolean {
  return facts.inputType === undefined && request.inputTypeWord !== null;
}

/** What of a request a format has no place for. `extra: 'taken'`: members that nobody here knows go on as they are. */
export function lossesOf({ request, facts }: EmbeddingOrder, { extra }: { extra: 'taken' | 'lost' }): Loss[] {
  const losses: Loss[] = [];
  const told = typeof facts.inputType === 'object' || (extra === 'taken' && goesAsItIs({ request, facts }));
  if (request.inputType !== null && !told) {
    losses.push({ field: 'input_type', why: 'unsupported' });
  }
  if (request.user !== null && facts.takesUser !== true) losses.push({ field: 'user', why: 'unsupported' });
  if (extra === 'lost') for (const field in request.extra) losses.push({ field, why: 'unknown' });
  return losses;
}
