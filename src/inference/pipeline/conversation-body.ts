import { type Failure, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import { type JsonScan, scanJson } from '../../kernel/json-scan.ts';
import { jsonDepthMax } from '../../kernel/limits.ts';
import { whereJsonFails } from '../../kernel/where-json-fails.ts';
import type { CallerRequest, DialectId, Result } from '../dialects/dialect.ts';
import { readGeminiRequest } from '../dialects/embeddings/read-gemini-request.ts';
import { readEmbeddingRequest } from '../dialects/embeddings/read-request.ts';
import type { ForwardedEndpointId, ForwardedRequest } from '../dialects/forwarded/endpoint.ts';
import { forwardedEndpoints } from '../dialects/forwarded/index.ts';
import { readImageRequest } from '../dialects/images/read-request.ts';
import { type BodyObjects, type NamedObject, objectNotFound } from '../dialects/named-objects.ts';
import { readSpeechRequest } from '../dialects/speech/read-request.ts';
import { type CallersToolNames, fitToolNames } from '../neutral/fit-tool-names.ts';
import type { ImageRequest } from '../neutral/image.ts';
import type { Loss } from '../neutral/loss.ts';
import { type FetchedMedia, type MediaUrl, mediaUrlsIn, withMediaInline } from '../neutral/media-urls.ts';
import type { RequestNeeds } from '../neutral/request.ts';
import type { SpeechRequest } from '../neutral/speech.ts';
import { applyQuirks } from '../providers/apply-quirks.ts';
import { providerOf } from '../providers/catalog.ts';
import { quirksIn } from '../providers/model-facts.ts';
import type { ProviderQuirks } from '../providers/provider.ts';
import { callerDialectOf, upstreamDialectOf } from './dialect-table.ts';
import { type EmbeddingFactsOfBody, type EmbeddingOrderOfBody, embeddingBody } from './embedding-body.ts';
import { imageBody } from './image-body.ts';
import { notUtf8, readTwoWays } from './read-one-way.ts';
import { speechBody } from './speech-body.ts';

/**
 * A checked request body and what can be made of it. The body itself stays where it was parsed: here, or for a large
 * one in a worker (conversation-worker.ts), so everything that crosses is plain data.
 */
export interface ConversationBody {
  readonly facts: ConversationFacts;
  /** `MediaWanted`: to be asked again with them in `order.media`. */
  encode(order: EncodeOrder): Result<EncodedBody | MediaWanted> | Promise<Result<EncodedBody | MediaWanted>>;
  /** No more calls. */
  release(): void;
}

export type ConversationFacts = Pick<
  CallerRequest,
  'model' | 'stream' | 'includeUsage' | 'n' | 'seed' | 'user' | 'fallbackModels' | 'conversationStart' | 'echo'
> & {
  needs: RequestNeeds;
  /** Ids in it of what lives at a provider; absent: none. */
  named?: readonly NamedObject[];
  /** Which ids of its answer can be named later; absent: none. */
  answerGives?: Exclude<BodyObjects['answerGives'], 'nothing'>;
  /** Only a target of the caller's own format can answer it. */
  nativeOnly?: true;
  /** Of a request for embeddings. */
  embedding?: EmbeddingFactsOfBody;
  /** Of a request for speech, which is encoded from this. */
  speech?: SpeechRequest;
  /** Of a request for pictures, which is encoded from this. */
  image?: ImageRequest;
};

/** The target, as plain data. */
export interface EncodeOrder {
  /** Provider type of the catalog. */
  provider: string;
  dialect: DialectId;
  model: string;
  maxOutputTokens: number | null;
  /** Ask for a stream, when it must be converted. */
  stream: boolean;
  /** The model cannot stream: it is asked whole in the caller's own format too. */
  neverStreams?: boolean;
  /** A whole answer is asked as a stream in the caller's own format too, so that silence shows soon. */
  wholeByStream?: boolean;
  body: Readonly<Record<string, unknown>>;
  /** Whether the model takes a wish for reasoning; absent: it does. */
  reasoning?: 'taken' | 'refused';
  /** One child of a fan-out asks for one choice; null = as the caller wrote. */
  child: { seed: number | null } | null;
  /** Which inputs of a request for embeddings, and how they are asked for. */
  embedding?: EmbeddingOrderOfBody;
  /** Pictures and files that were fetched from their URLs for a target that takes them inline only. */
  media?: FetchedMedia;
}

/** What a target takes inline only and the caller named by URL. */
export interface MediaWanted {
  mediaWanted: readonly MediaUrl[];
}

export interface EncodedBody {
  bytes: Buffer | string;
  losses: readonly Loss[];
  answer: 'pass-through' | 'converted';
  unwrapTool: string | undefined;
  /** Set when tools go by other names than the caller's: calls must be given back by those. */
  callersToolNames?: CallersToolNames;
  streamed: boolean;
}

/** How a body is read: as a conversation in a dialect, or for an endpoint of one format. */
export type BodyKind = DialectId | ForwardedEndpointId | EmbeddingBodyKind | 'speech' | 'images';

/** Parses and checks; the failure is a 400 in every case. Synchronous: for bodies up to `offLoopBodyBytes`. */
export function readConversation(raw: Buffer, kind: BodyKind): Result<ConversationBody> {
  const parsed = parseBody(raw);
  if (!parsed.ok) return parsed;
  const { body, scan } = parsed.value;
  if (isEmbedding(kind)) {
    const read = embeddingReaders[kind](body);
    return read.ok ? { ok: true, value: embeddingBody(read.value) } : read;
  }
  if (kind === 'speech') {
    const read = readSpeechRequest(body);
    return read.ok ? { ok: true, value: speechBody(read.value) } : read;
  }
  if (kind === 'images') {
    // What nobody here knows of goes on to the provider, files that it keeps do not.
    const [named] = callerDialectOf('openai-chat').objectsIn(body).named;
    if (named !== undefined) return { ok: false, failure: objectNotFound(named.field) };
    const read = readImageRequest(body);
    return read.ok ? { ok: true, value: imageBody(read.value) } : read;
  }
  if (isForwarded(kind)) {
    const read = forwardedEndpoints[kind].readRequest(raw, body, scan);
    if (!read.ok) return read;
    const request = read.value;
    return { ok: true, value: { facts: factsOf(request), encode: (order) => forwarded(request, order), release() {} } };
  }
  const read = callerDialectOf(kind).readRequest(raw, body, scan);
  if (!read.ok) return read;
  const objects = objectsIn(body, kind, scan);
  return objects.ok ? { ok: true, value: bodyOf(read.value, kind, objects.value) } : objects;
}

/** Callers' formats for embeddings. */
const embeddingReaders = { embeddings: readEmbeddingRequest, 'gemini-embeddings': readGeminiRequest } as const;

export type EmbeddingBodyKind = keyof typeof embeddingReaders;

function isEmbedding(kind: BodyKind): kind is EmbeddingBodyKind {
  return Object.hasOwn(embeddingReaders, kind);
}

function isForwarded(kind: BodyKind): kind is ForwardedEndpointId {
  return Object.hasOwn(forwardedEndpoints, kind);
}

/** A JSON object that every parser reads the same way; the failure is a 400. */
export function parseBody(raw: Buffer): Result<{ body: JsonObject; scan: JsonScan }> {
  const scan = scanJson(raw, jsonDepthMax);
  const garbled = notUtf8(raw);
  if (garbled !== null) return { ok: false, failure: garbled };
  if (scan.tooDeep) return refuse(null, `The body nests deeper than ${jsonDepthMax} levels.`);
  let body: unknown;
  try {
    body = JSON.parse(raw.toString('utf8'));
  } catch (error) {
    return refuse(null, `The body is not valid JSON: ${whereJsonFails(error)}.`);
  }
  if (!isObject(body)) return refuse(null, 'The body must be a JSON object.');
  const ambiguous = readTwoWays(raw, body, scan);
  return ambiguous === null ? { ok: true, value: { body, scan } } : { ok: false, failure: ambiguous };
}

/** Ids that one body may name: a long conversation has hundreds. */
const namedMax = 4_096;

/** What a conversation says of objects at providers; a 400 when another parser could read other ids in it than we do. */
export function objectsIn(body: JsonObject, dialectId: DialectId, scan: JsonScan): Result<BodyObjects> {
  const objects = callerDialectOf(dialectId).objectsIn(body);
  if (objects.members !== scan.membersInAll) {
    return refuse(null, 'An object in the body has more than one member of one name.');
  }
  const { named } = objects;
  if (named.length <= namedMax) return { ok: true, value: objects };
  return refuse(named[namedMax]!.field, `The body names more than ${namedMax} objects that live at a provider.`);
}

function bodyOf(
  request: CallerRequest,
  dialectId: DialectId,
  { named, answerGives }: Pick<BodyObjects, 'named' | 'answerGives'>,
): ConversationBody {
  return {
    facts: {
      ...factsOf(request),
      ...(request.echo !== undefined && { echo: request.echo }),
      ...(named.length > 0 && { named }),
      ...(answerGives !== 'nothing' && { answerGives }),
      ...(request.nativeOnly !== undefined && { nativeOnly: true }),
    },
    encode: (order) => (order.dialect === dialectId ? forwarded(request, order) : converted(request, order)),
    release() {},
  };
}

function factsOf(request: ForwardedRequest): ConversationFacts {
  const { model, stream, includeUsage, n, seed, user, fallbackModels, conversationStart, needs } = request;
  return { model, stream, includeUsage, n, seed, user, fallbackModels, conversationStart, needs };
}

function forwarded(request: ForwardedRequest, order: EncodeOrder): Result<EncodedBody> {
  const quirks = quirksIn(order.dialect, providerOf(order.provider)!, order.model);
  if (request.stream && order.neverStreams === true) return forwardedAs('whole', request, order, quirks);
  if (!request.stream && order.wholeByStream === true) return forwardedAs('stream', request, order, quirks);
  const { bytes, losses } = request.forward({
    model: order.model,
    maxOutputTokens: order.maxOutputTokens,
    body: order.child === null ? order.body : { ...order.body, ...childFields(order.child) },
    streamUsage: request.stream && quirks.streamUsage ? 'ask' : 'leave',
    omit: quirks.omit,
    rename: quirks.rename,
  });
  return {
    ok: true,
    value: { bytes, losses, answer: 'pass-through', unwrapTool: undefined, streamed: request.stream },
  };
}

/** The caller's own body, but for its wish to stream or not: what the caller gets is made of the other, here. */
function forwardedAs(
  form: 'stream' | 'whole',
  request: ForwardedRequest,
  order: EncodeOrder,
  quirks: ProviderQuirks,
): Result<EncodedBody> {
  const stream = form === 'stream';
  const { bytes, losses } = request.forward({
    model: order.model,
    maxOutputTokens: order.maxOutputTokens,
    body: {
      ...order.body,
      ...(order.child !== null && childFields(order.child)),
      // Google's wish stands in the path.
      ...(order.dialect !== 'gemini' && { stream }),
      ...(stream && order.dialect === 'openai-chat' && quirks.streamUsage && askedUsage),
    },
    streamUsage: 'leave',
    omit: stream ? quirks.omit : [...quirks.omit, 'stream_options'],
    rename: quirks.rename,
  });
  return {
    ok: true,
    value: {
      bytes,
      // What it asked of the stream, the stream that is made here gives.
      losses: losses.filter((loss) => loss.field !== 'stream_options'),
      answer: 'converted',
      unwrapTool: undefined,
      streamed: stream,
    },
  };
}

const askedUsage = { stream_options: { include_usage: true } };

function converted(request: CallerRequest, order: EncodeOrder): Result<EncodedBody | MediaWanted> {
  if (request.nativeOnly !== undefined) return { ok: false, failure: request.nativeOnly };
  const asked = request.neutral();
  // Anthropic takes longer names than all others do.
  const named = order.dialect === 'anthropic-messages' ? null : fitToolNames(asked);
  let neutral = named?.request ?? asked;
  if (order.child !== null) {
    neutral.n = 1;
    if (order.child.seed !== null) neutral.seed = order.child.seed;
  }
  const quirks = quirksIn(order.dialect, providerOf(order.provider)!, order.model);
  const dialect = upstreamDialectOf(order.dialect);
  if (dialect.mediaByUrl === 'fetch') {
    const wanted = mediaUrlsIn(neutral);
    if (wanted.length > 0) {
      if (order.media === undefined) return { ok: true, value: { mediaWanted: wantedInCallersWords(wanted, request) } };
      neutral = withMediaInline(neutral, order.media);
    }
  }
  const encoded = dialect.encodeRequest(neutral, {
    model: order.model,
    maxOutputTokens: order.maxOutputTokens,
    stream: order.stream,
    omit: [...quirks.omit, ...(quirks.omitConverted ?? []), ...(order.reasoning === 'refused' ? reasoningFields : [])],
  });
  if (!encoded.ok) return { ok: false, failure: inCallersWords(encoded.failure, request) };
  const joined = dialect.withOperatorFields?.(encoded.value.body, order.body);
  const fitted = applyQuirks(joined ?? { ...encoded.value.body, ...(order.body as object) }, quirks);
  return {
    ok: true,
    value: {
      bytes: JSON.stringify(fitted.body),
      losses: lossesInCallersWords([...(neutral.lost ?? []), ...encoded.value.losses, ...fitted.losses], request),
      answer: 'converted',
      unwrapTool: encoded.value.decode?.unwrapTool,
      ...(named !== null && { callersToolNames: named.callersNames }),
      streamed: order.stream,
    },
  };
}

/** By which dialects ask for reasoning: models that do not reason refuse them, whatever their API says. */
const reasoningFields = ['reasoning_effort', 'reasoning'] as const;

function wantedInCallersWords(wanted: readonly MediaUrl[], { wordFor }: CallerRequest): readonly MediaUrl[] {
  return wordFor === undefined ? wanted : wanted.map((one) => ({ ...one, param: wordFor(one.param) }));
}

function inCallersWords(failure: Failure, request: CallerRequest): Failure {
  if (request.wordFor === undefined || failure.kind !== 'invalid-request' || failure.param === null) return failure;
  const param = request.wordFor(failure.param);
  return { ...failure, param, message: failure.message.replaceAll(`'${failure.param}'`, `'${param}'`) };
}

function lossesInCallersWords(losses: readonly Loss[], request: CallerRequest): readonly Loss[] {
  const { wordFor } = request;
  return wordFor === undefined ? losses : losses.map((loss) => ({ ...loss, field: wordFor(loss.field) }));
}

function childFields(child: { seed: number | null }): Record<string, unknown> {
  return child.seed === null ? { n: 1 } : { n: 1, seed: child.seed };
}

function refuse(param: string | null, message: string): { ok: false; failure: Failure } {
  return { ok: false, failure: invalid(param, message) };
}
