import type {
  CallerDialectId,
  CallerRequest,
  DialectId,
  RequestExtras,
  UpstreamDialect,
} from '../../../formats/dialects/dialect.ts';
import { dialects } from '../../../formats/dialects/dialect-table.ts';
import type { NamedObject } from '../../../formats/dialects/named-objects.ts';
import { decidesOnCaching, type PromptCacheOrder, withPromptCache } from '../../../formats/dialects/prompt-cache.ts';
import { noExtras } from '../../../formats/dialects/request-extras.ts';
import { withoutCustomTools } from '../../../formats/neutral/custom-tool.ts';
import { distinctTools } from '../../../formats/neutral/distinct-tools.ts';
import { fitToolNames } from '../../../formats/neutral/fit-tool-names.ts';
import { textsIn } from '../../../formats/neutral/json-texts.ts';
import type { Loss } from '../../../formats/neutral/loss.ts';
import { type FetchedMedia, type MediaUrl, mediaUrlsIn, withMediaInline } from '../../../formats/neutral/media-urls.ts';
import { type ServerTurn, withServerTurn } from '../../../formats/neutral/server-turn.ts';
import { providerTypes } from '../../../formats/providers/catalog.ts';
import { inTurn, withThoughtsInTexts } from '../../../formats/providers/histories.ts';
import type { BodyMembers, Provider, QuirksOfModel } from '../../../formats/providers/provider.ts';
import { applyQuirks, quirksOf } from '../../../formats/providers/quirks.ts';
import { anthropic } from '../../../formats/providers/services/anthropic.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { type JsonObject, type JsonScan, listIn, scanJson } from '../../../kernel/json.ts';
import { jsonDepthMax } from '../../../kernel/limits.ts';
import { type MemberSurvey, type ParsedObject, parseBody, surveyMembers } from '../../../kernel/parse-object.ts';
import { type EncodedBody, encodeForwarded, type ForwardOrder, membersFor } from '../../spine/encode-forwarded.ts';
import type { RequestBody, RequestFacts } from '../../spine/request-body.ts';
import { canonicalRead } from './canonical.ts';
import { cutToContext } from './cut-to-context.ts';
import { type ReadConversation, readAgain } from './other-words.ts';

/** A checked conversation and what can be made of it. */
export interface ConversationBody extends RequestBody<ConversationFacts> {
  /** `NeededMedia`: to be asked again with them in `order.media`. */
  encode(
    order: EncodeOrder,
  ): EncodedConversation | NeededMedia | Failure | Promise<EncodedConversation | NeededMedia | Failure>;
}

export interface EncodedConversation extends EncodedBody {
  /** JSON schema that its answer should meet, where the order asks for it; undefined: none that we can read. */
  schema?: JsonObject | undefined;
}

export interface ConversationFacts
  extends RequestFacts,
    Pick<CallerRequest, 'includeUsage' | 'n' | 'seed' | 'conversationStart'> {
  echo: CallerRequest['echo'] | undefined;
  /** Features that few requests use; null: it uses none of them. */
  extras: ConversationExtras | null;
}

export interface ConversationExtras extends RequestExtras {
  /** Ids in it of objects at a provider. */
  named: readonly NamedObject[];
}

/** The target, as plain data. */
export interface EncodeOrder extends ForwardOrder {
  /** It is in the operator's network, and would fetch media with its reach there. Absent: it is not. */
  inNetwork?: boolean;
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
  /** Items that it names, by id; absent: it names none. */
  items?: Readonly<Record<string, JsonObject>> | undefined;
  /** Thoughts of a chat go back in its texts, where the model writes them. Absent: apart from them. */
  thoughts?: 'in the text';
  /** The provider's cache is to be used; absent: nothing is done for it. */
  promptCache?: PromptCacheOrder;
  /** This gateway runs its server tools; absent: the target does, or nobody. */
  turn?: ServerTurn | undefined;
}

/** Media that a target accepts inline only and the caller named by URL. */
export interface NeededMedia {
  neededMedia: readonly MediaUrl[];
}

/** Parses and checks; the failure is a 400 in every case. */
export function readConversation(raw: Buffer, dialect: CallerDialectId): ConversationBody | Failure {
  const parsed = parseBody(raw);
  return isFailure(parsed) ? parsed : readParsed(raw, parsed, dialect);
}

function readParsed(raw: Buffer, parsed: ParsedObject, dialect: CallerDialectId): ConversationBody | Failure {
  const { body, scan } = parsed;
  const read = dialects[dialect].readRequest(raw, body, scan);
  const mayBeOther = isFailure(read) || read.extras?.nativeFor === 'judge';
  const conversation = mayBeOther ? readAgain(raw, parsed, dialect, read) : { raw, body, read, dialect };
  if (isFailure(conversation)) return conversation;
  const named = namedIn(body, dialect, scan);
  return isFailure(named) ? named : bodyOf(conversation, named);
}

/** Ids that one body may name: a long conversation has hundreds. */
const namedMax = 4_096;

const nothingNamed: readonly NamedObject[] = [];

/** Ids in a conversation of objects at providers. A 400 when another parser could read other ids in it than we do. */
export function namedIn(
  body: JsonObject,
  dialectId: CallerDialectId,
  scan: JsonScan,
): readonly NamedObject[] | Failure {
  const { objects } = dialects[dialectId];
  const survey: MemberSurvey = { count: 0, hasNamed: false };
  surveyMembers(body, objects.members, survey);
  if (survey.count !== scan.membersInAll) {
    return invalid(null, 'An object in the body has two members with the same name.');
  }
  if (!survey.hasNamed) return nothingNamed;
  const named = objects.find(body);
  const excess = named[namedMax];
  if (excess === undefined) return named;
  return invalid(excess.field, `The body names more than ${namedMax} objects at a provider. Name fewer.`);
}

function bodyOf(conversation: ReadConversation, named: readonly NamedObject[]): ConversationBody {
  const { read: request, body: callers, dialect: dialectId } = conversation;
  const { extras } = request;
  return {
    facts: {
      model: request.model,
      stream: request.stream,
      includeUsage: request.includeUsage,
      n: request.n,
      seed: request.seed,
      user: request.user,
      tag: request.tag ?? null,
      session: typeof callers.prompt_cache_key === 'string' ? callers.prompt_cache_key.slice(0, 256) || null : null,
      conversationStart: request.conversationStart,
      needs: request.needs,
      echo: request.echo,
      extras: extras === null && named.length === 0 ? null : { ...(extras ?? noExtras), named },
    },
    encode: (order) =>
      dialectId === 'openai-chat' && order.inNetwork && hasParts(callers)
        ? encodeInline(conversation, order, encode)
        : encode(order),
    canonical: (part) => (extras === null ? canonicalRead(conversation, part) : null),
    release() {},
  };

  function encode(order: EncodeOrder): EncodedConversation | NeededMedia | Failure {
    const withItems = order.items === undefined ? request : (request.withItems?.(order.items) ?? request);
    const { beyondFormat: beyond } = request;
    const fitsFormat = beyond === undefined || (beyond === 'functions' && fitOf(order).quirks.functions === true);
    const takesText = order.dialect === 'openai-responses' || (order.dialect === dialectId && fitsFormat);
    const isMended = beyond === 'functions' && !takesText;
    const readable = isMended ? { ...withItems, neutral: () => withoutCustomTools(withItems.neutral()) } : withItems;
    const isForwarded = order.dialect === dialectId && order.turn === undefined && fitsFormat;
    const isAsItCame = isForwarded && !(order.inNetwork === true && namesMedia(conversation));
    const encoded = isAsItCame ? encodeForwarded(withItems, order, fitOf(order).quirks) : converted(readable, order);
    if (isFailure(encoded) || 'neededMedia' in encoded) return encoded;
    if (order.promptCache !== undefined && !decidesOnCaching(callers)) {
      encoded.bytes = withPromptCache(encoded.bytes, order.dialect, order.promptCache);
    }
    if (order.schema !== 'wanted') return encoded;
    return { ...encoded, schema: schemaOf(request) };
  }
}

/** Whether a body for an engine in our network names media by address, in another format than OpenAI's (see `encodeInline`). */
function namesMedia({ body, dialect }: ReadConversation): boolean {
  if (dialect === 'openai-chat') return false;
  const { parts } = textsIn(body.input ?? body.messages ?? null);
  return parts.some(
    ({ kind, path, text }) => kind !== 'tool-arguments' && /url$/i.test(`${path.at(-1)}`) && !/^data:/i.test(text),
  );
}

/** Whether a message of a body in OpenAI's format has more than a text: an object or a list in any of its members. */
function hasParts({ messages }: JsonObject): boolean {
  for (const message of listIn(messages))
    for (const one of Object.values(message ?? {})) if (typeof one === 'object') return true;
  return false;
}

type Encode = (order: EncodeOrder) => EncodedConversation | NeededMedia | Failure;

/** The same with the content of media in place of their addresses. */
async function encodeInline(conversation: ReadConversation, order: EncodeOrder, encode: Encode) {
  const { remoteMediaIn, withRemoteMedia } = await import('../../../formats/dialects/openai-chat/remote-media.ts');
  const { body, dialect } = conversation;
  const neededMedia = remoteMediaIn(body);
  if (neededMedia.length === 0) return encode(order);
  const { media, ...rest } = order;
  if (media === undefined) return { neededMedia };
  const inlined = withRemoteMedia(body, media);
  if (isFailure(inlined)) return inlined;
  // The loop may not parse so many bytes, nor does it need to: this is what was parsed, with longer texts.
  const raw = Buffer.from(JSON.stringify(inlined));
  const again = readParsed(raw, { body: inlined, scan: scanJson(raw, jsonDepthMax) }, dialect);
  return isFailure(again) ? again : again.encode(rest);
}

function schemaOf(request: CallerRequest): JsonObject | undefined {
  if (!request.needs.jsonSchema || (request.extras?.nativeOnly ?? null) !== null) return undefined;
  const { responseFormat } = request.neutral();
  return responseFormat?.type === 'json-schema' ? responseFormat.schema : undefined;
}

function converted(callers: CallerRequest, order: EncodeOrder): EncodedBody | NeededMedia | Failure {
  const { extras } = callers;
  if (extras !== null && extras.nativeOnly !== null && (order.turn === undefined || extras.nativeFor !== 'choice')) {
    return extras.nativeOnly;
  }
  const received = callers.neutral();
  const whole = order.turn === undefined ? received : withServerTurn(received, order.turn);
  const isWhole = whole.truncation === undefined;
  const held = isWhole ? { neutral: whole, request: callers, cut: [] } : cutToContext(callers, whole, order);
  const { neutral: fitting, request, cut } = held;
  // Anthropic takes longer names than all others do.
  const named = order.dialect === 'anthropic-messages' ? null : fitToolNames(fitting);
  let neutral = named?.request ?? fitting;
  const tools = neutral.tools && distinctTools(neutral.tools);
  const repeatsTools = tools !== neutral.tools;
  if (tools !== undefined && repeatsTools) neutral = { ...neutral, tools };
  if (order.child !== null) {
    neutral.n = 1;
    if (order.child.seed !== null) neutral.seed = order.child.seed;
  }
  const { quirks, omit, members: ofProvider, onlyOfTools, encodeRequest } = fitOf(order);
  const dialect = dialects[order.dialect];
  if (dialect.mediaByUrl === 'fetch' || order.inNetwork) {
    const needed = mediaUrlsIn(neutral);
    if (needed.length > 0) {
      if (order.media === undefined) return { neededMedia: inCallerFields(needed, request) };
      neutral = withMediaInline(neutral, order.media);
    }
  }
  const encoded = encodeRequest(neutral, {
    model: order.model,
    maxOutputTokens: order.maxOutputTokens,
    stream: order.stream,
    provider: order.provider,
    omit: order.reasoning === 'refused' ? [...omit, ...reasoningFields] : omit,
  });
  if (isFailure(encoded)) return failureInCallerFields(encoded, request);
  const isAlone = Object.keys(order.body).length === 0;
  const joined = isAlone
    ? encoded.body
    : (dialect.withOperatorFields?.(encoded.body, order.body) ?? { ...encoded.body, ...order.body });
  // The operator's own fields may be any.
  const fits = onlyOfTools && isAlone && neutral.tools === undefined;
  const fitted = fits ? { body: joined, losses: [] } : applyQuirks(joined as JsonObject, quirks);
  const lost = (neutral.lost ?? []).filter(({ field }) => encoded.recovered?.includes(field) !== true);
  const losses = [...lost, ...encoded.losses, ...fitted.losses.map(inChat)];
  if (repeatsTools) losses.push({ field: 'tools', why: 'narrowed' });
  const { members, losses: lostBetas } =
    ofProvider === undefined ? { members: undefined, losses: [] } : membersFor(ofProvider, order.betas);
  const body = members === undefined ? fitted.body : { ...members.with, ...fitted.body };
  const cloud = members?.fits?.(body as JsonObject) ?? null;
  if (cloud !== null) Object.assign(body, cloud.members);
  for (const name of [...(members?.without ?? []), ...(cloud?.without ?? [])]) delete body[name];
  return {
    bytes: JSON.stringify(body),
    losses: [
      ...(request.wordFor === undefined ? losses : lossesInCallerFields(losses, request.wordFor)),
      ...lostBetas,
      ...(cloud?.losses ?? []),
      ...cut,
    ],
    answer: 'converted',
    unwrapTool: encoded.decode?.unwrapTool,
    stop: encoded.decode?.stop,
    ...(named !== null && { callersToolNames: named.callersNames }),
    streamed: order.stream,
  };
}

/** A loss of the upstream's effort, or of its schema of a tool, as the neutral form names it. */
function inChat(loss: Loss): Loss {
  return {
    ...loss,
    field: loss.field
      .replace(/^(tools\[\d+\])\.(input_schema|parameters)$/, '$1.function.parameters')
      .replace(/^reasoning\.effort$/, 'reasoning_effort'),
  };
}

/** Demands of a model of a provider on bodies in one dialect. */
interface ModelFit {
  quirks: QuirksOfModel;
  /** Fields that an encoder leaves out. */
  omit: readonly string[];
  members: BodyMembers | undefined;
  encodeRequest: UpstreamDialect['encodeRequest'];
  /** The quirks concern tools alone, of all that this dialect's encoder writes. */
  onlyOfTools: boolean;
}

const modelFits = new WeakMap<Provider, Map<string, Partial<Record<DialectId, ModelFit>>>>();
/** Callers can make up models where a pattern lets them: at the bound the map begins anew. */
const modelFitsMax = 1_000;

/** The same object for each request to a model, unless its thoughts are in its texts. */
function fitOf({ provider: type, model, dialect, thoughts }: EncodeOrder): ModelFit {
  const provider = providerTypes.get(type)!;
  const fit = modelFits.get(provider)?.get(model)?.[dialect] ?? newFit(provider, model, dialect);
  if (thoughts === undefined || dialect !== 'openai-chat') return fit;
  const { history = () => null } = fit.quirks;
  return { ...fit, quirks: { ...fit.quirks, history: inTurn(withThoughtsInTexts, history) } };
}

function newFit(provider: Provider, model: string, dialect: DialectId): ModelFit {
  const quirks = quirksOf(provider, model, dialect);
  const { encoderFor, encodeRequest } = dialects[dialect];
  const fit: ModelFit = {
    quirks,
    omit: [...quirks.omit, ...(quirks.omitConverted ?? [])],
    members: provider.bodies?.[dialect],
    encodeRequest: encoderFor?.(model) ?? encodeRequest,
    onlyOfTools: dialect === 'anthropic-messages' && quirks === quirksOf(anthropic, model),
  };
  const known = modelFits.get(provider);
  const byModel = known === undefined || known.size >= modelFitsMax ? new Map() : known;
  modelFits.set(provider, byModel.set(model, { ...byModel.get(model), [dialect]: fit }));
  return fit;
}

/** By which dialects ask for reasoning: models that do not reason refuse them, whatever their API says. */
const reasoningFields = ['reasoning_effort', 'reasoning'] as const;

function inCallerFields(needed: readonly MediaUrl[], { wordFor }: CallerRequest): readonly MediaUrl[] {
  return wordFor === undefined ? needed : needed.map((one) => ({ ...one, param: wordFor(one.param) }));
}

function failureInCallerFields(failure: Failure, request: CallerRequest): Failure {
  if (request.wordFor === undefined || failure.kind !== 'invalid-request' || failure.param === null) return failure;
  const param = request.wordFor(failure.param);
  return { ...failure, param, message: failure.message.replaceAll(`'${failure.param}'`, `'${param}'`) };
}

function lossesInCallerFields(losses: readonly Loss[], wordFor: (field: string) => string): readonly Loss[] {
  return losses.map((loss) => ({ ...loss, field: wordFor(loss.field) }));
}
