import { type Failure, invalid } from '../../kernel/failure.ts';
import type { JsonObject, JsonScan } from '../../kernel/json.ts';
import type { CallerDialectId, CallerRequest, Result } from '../dialects/dialect.ts';
import { dialects } from '../dialects/dialect-table.ts';
import type { BodyObjects, NamedObject } from '../dialects/named-objects.ts';
import { fitToolNames } from '../neutral/fit-tool-names.ts';
import type { Loss } from '../neutral/loss.ts';
import { type FetchedMedia, type MediaUrl, mediaUrlsIn, withMediaInline } from '../neutral/media-urls.ts';
import { type ServerTurn, withServerTurn } from '../neutral/server-turn.ts';
import { providerTypes } from '../providers/catalog.ts';
import { applyQuirks, quirksOf } from '../providers/quirks.ts';
import { type EncodedBody, encodeForwarded, type ForwardOrder, membersFor } from '../spine/encode-forwarded.ts';
import { parseBody } from '../spine/parse-body.ts';
import type { RequestBody, RequestFacts } from '../spine/request-body.ts';
import { cutToContext } from './cut-to-context.ts';

/** A checked conversation and what can be made of it. */
export interface ConversationBody extends RequestBody<ConversationFacts> {
  /** `MediaWanted`: to be asked again with them in `order.media`. */
  encode(
    order: EncodeOrder,
  ): Result<EncodedConversation | MediaWanted> | Promise<Result<EncodedConversation | MediaWanted>>;
}

export interface EncodedConversation extends EncodedBody {
  /** JSON schema that its answer should meet, where the order asks for it; undefined: none that we can read. */
  schema?: JsonObject | undefined;
}

export type ConversationFacts = RequestFacts &
  Pick<CallerRequest, 'includeUsage' | 'n' | 'seed' | 'fallbackModels' | 'conversationStart'> & {
    echo: CallerRequest['echo'] | undefined;
    /** Ids in it of objects at a provider; undefined: none. */
    named: readonly NamedObject[] | undefined;
    /** Which ids of its answer can be named later; undefined: none. */
    answerGives: Exclude<BodyObjects['answerGives'], 'nothing'> | undefined;
    /** Items of earlier answers that it names; undefined: none. */
    references: CallerRequest['references'] | undefined;
    /** Why only a target of the caller's own format can answer it; undefined: others can. */
    nativeOnly: Failure | undefined;
    nativeFor: CallerRequest['nativeFor'];
    /** What is to be kept of it; undefined: nothing. */
    state: CallerRequest['state'] | undefined;
    /** Tools that whoever answers runs by itself; undefined: none. */
    serverTools: CallerRequest['serverTools'] | undefined;
  };

/** The target, as plain data. */
export interface EncodeOrder extends ForwardOrder {
  /** Ask for a stream, when it must be converted. */
  stream: boolean;
  /** Tokens of the model's context; null or absent: unknown. */
  contextWindow?: number | null;
  /** Whether the model accepts a wish for reasoning. Default: it does. */
  reasoning?: 'taken' | 'refused';
  /** Tell the schema of its answer as well: the meaning of a body is not read for nothing. */
  schema?: 'wanted';
  /** Pictures and files that were fetched from their URLs for a target that takes them inline only. */
  media?: FetchedMedia;
  /** Those that it names, by id; absent: it names none. */
  items?: Readonly<Record<string, JsonObject>> | undefined;
  /** This gateway runs its server tools; absent: the target does, or nobody. */
  turn?: ServerTurn;
}

/** Media that a target accepts inline only and the caller named by URL. */
export interface MediaWanted {
  mediaWanted: readonly MediaUrl[];
}

/** Parses and checks; the failure is a 400 in every case. */
export function readConversation(raw: Buffer, dialect: CallerDialectId): Result<ConversationBody> {
  const parsed = parseBody(raw);
  if (!parsed.ok) return parsed;
  const { body, scan } = parsed.value;
  const read = dialects[dialect].readRequest(raw, body, scan);
  if (!read.ok) return read;
  const objects = objectsIn(body, dialect, scan);
  return objects.ok ? { ok: true, value: bodyOf(read.value, dialect, objects.value) } : objects;
}

/** Ids that one body may name: a long conversation has hundreds. */
const namedMax = 4_096;

/**
 * The objects at providers that a conversation names. A 400 when another parser could read other ids in it than we do.
 */
export function objectsIn(body: JsonObject, dialectId: CallerDialectId, scan: JsonScan): Result<BodyObjects> {
  const objects = dialects[dialectId].objectsIn(body);
  if (objects.members !== scan.membersInAll) {
    return refuse(null, 'An object in the body has two members with the same name.');
  }
  const { named } = objects;
  if (named.length <= namedMax) return { ok: true, value: objects };
  return refuse(named[namedMax]!.field, `The body names more than ${namedMax} objects at a provider. Name fewer.`);
}

function bodyOf(
  request: CallerRequest,
  dialectId: CallerDialectId,
  { named, answerGives }: Pick<BodyObjects, 'named' | 'answerGives'>,
): ConversationBody {
  return {
    facts: {
      model: request.model,
      stream: request.stream,
      includeUsage: request.includeUsage,
      n: request.n,
      seed: request.seed,
      user: request.user,
      tag: request.tag ?? null,
      fallbackModels: request.fallbackModels,
      conversationStart: request.conversationStart,
      needs: request.needs,
      echo: request.echo,
      named: named.length > 0 ? named : undefined,
      answerGives: answerGives === 'nothing' ? undefined : answerGives,
      references: request.references,
      nativeOnly: request.nativeOnly,
      nativeFor: request.nativeFor,
      state: request.state,
      serverTools: request.serverTools,
    },
    encode(order) {
      const asked = order.items === undefined ? request : (request.withItems?.(order.items) ?? request);
      const isAsItCame = order.dialect === dialectId && order.turn === undefined;
      const encoded = isAsItCame ? encodeForwarded(asked, order) : converted(asked, order);
      if (order.schema !== 'wanted' || !encoded.ok || 'mediaWanted' in encoded.value) return encoded;
      return { ok: true, value: { ...encoded.value, schema: schemaOf(request) } };
    },
    release() {},
  };
}

function schemaOf(request: CallerRequest): JsonObject | undefined {
  if (!request.needs.jsonSchema || request.nativeOnly !== undefined) return undefined;
  const { responseFormat } = request.neutral();
  return responseFormat?.type === 'json-schema' ? responseFormat.schema : undefined;
}

function converted(callers: CallerRequest, order: EncodeOrder): Result<EncodedBody | MediaWanted> {
  const isChoice = order.turn !== undefined && callers.nativeFor === 'choice';
  if (callers.nativeOnly !== undefined && !isChoice) return { ok: false, failure: callers.nativeOnly };
  const own = callers.neutral();
  const whole = order.turn === undefined ? own : withServerTurn(own, order.turn);
  const { asked, request, cut } = cutToContext(callers, whole, order);
  // Anthropic takes longer names than all others do.
  const named = order.dialect === 'anthropic-messages' ? null : fitToolNames(asked);
  let neutral = named?.request ?? asked;
  if (order.child !== null) {
    neutral.n = 1;
    if (order.child.seed !== null) neutral.seed = order.child.seed;
  }
  const provider = providerTypes.get(order.provider)!;
  const quirks = quirksOf(provider, order.model, order.dialect);
  const dialect = dialects[order.dialect];
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
  const { kept = [] } = encoded.value;
  const lost = (neutral.lost ?? []).filter(({ field }) => !kept.includes(field));
  const { members, losses: lostBetas } = membersFor(provider.bodies?.[order.dialect], order.betas);
  const body = members === undefined ? fitted.body : { ...members.with, ...fitted.body };
  for (const name of members?.without ?? []) delete body[name];
  return {
    ok: true,
    value: {
      bytes: JSON.stringify(body),
      losses: [
        ...lossesInCallersWords([...lost, ...encoded.value.losses, ...fitted.losses], request),
        ...lostBetas,
        ...cut,
      ],
      answer: 'converted',
      unwrapTool: encoded.value.decode?.unwrapTool,
      stop: encoded.value.decode?.stop,
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

function refuse(param: string | null, message: string): { ok: false; failure: Failure } {
  return { ok: false, failure: invalid(param, message) };
}
