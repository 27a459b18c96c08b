import { spellingsOf } from '../../kernel/secret-spellings.ts';
import type { Authorizer, UpstreamRoute } from '../../upstream/transport/upstream-call.ts';
import type { DialectId } from '../dialects/dialect.ts';
import type { ForwardedEndpointId } from '../dialects/forwarded/endpoint.ts';
import type { EmbeddingFacts } from '../embeddings/format.ts';
import type { ImageFacts } from '../media/images/format.ts';
import type { SpeechFacts } from '../media/speech/format.ts';
import type { TranscriptionFacts } from '../media/transcription/format.ts';
import type { VideoFacts } from '../media/videos/format.ts';
import type { ServerToolKind } from '../neutral/server-tool.ts';
import { type AnsweredHeaders, callersCredentialId, conversationsOf } from './callers-credential.ts';
import { carriedDialects } from './catalog.ts';
import {
  type CredentialHeaders,
  joinHeaders,
  mayBeSecretHeader,
  printable,
  readOperatorHeaders,
} from './credential-headers.ts';
import type { BatchFacts, CallersCredential, ModelFamily, PathAt, Provider } from './provider.ts';

/** One configured provider, ready to be called: everything that a request can share is joined once, here. */
export interface ProviderConnection {
  /** The operator's name for it, the key under `providers:`. */
  name: string;
  provider: Provider;
  /** Scheme, host, port: `https://api.openai.com`. */
  origin: string;
  /** Origin of its lists of models, should that be elsewhere. */
  listOrigin: string;
  /** How it is reached; undefined: as the environment says. */
  route: UpstreamRoute | undefined;
  /** Path of the base URL without a trailing slash, '' when none. */
  basePath: string;
  /** The address is the type's own, or the type has none. */
  isAtHome: boolean;
  /** Chat requests can be sent there at all. */
  chats: boolean;
  /** `basePath` + the chat path; null when the path depends on the model, or the service does not chat. */
  chatPath: string | null;
  /** `basePath` + the path of the Responses format; null when it is not spoken. */
  responsesPath: string | null;
  /** `basePath` + the path of Anthropic's Messages; null when that is not spoken. */
  messagesPath: string | null;
  /** Paths of the endpoints that it serves in the one format they have. */
  forwardPaths: ReadonlyMap<ForwardedEndpointId, string | ((model: string) => string)>;
  /** How it makes vectors; null when it does not. */
  embeds: EmbeddingFacts | null;
  /** How it makes pictures; null when it does not. */
  images: ImageFacts | null;
  /** How it makes videos; null: it does not. */
  videos: VideoFacts | null;
  /** How it speaks; null when it does not. */
  speech: SpeechFacts | null;
  /** How it writes down speech; null when it does not. */
  transcription: TranscriptionFacts | null;
  /** Its own API for batches; null: lines are asked one by one. */
  batches: BatchFacts | null;
  /** Dialects that it is asked in; the first one for callers of any other. */
  dialects: readonly DialectId[];
  /** Tools that it runs without Culvert; null: as its formats' vendors do. */
  serverTools: readonly ServerToolKind[] | null;
  /** Models that are asked otherwise. */
  families: readonly ModelFamily[];
  apiVersion: string | null;
  /** The operator's own service, which gets the trace of a request. */
  traced: boolean;
  /** By credential id (`name#0`, `name#team-a`…). At least one, also for a service that needs no key. */
  credentials: ReadonlyMap<string, CredentialHeaders>;
  /** Each request brings its credential in these headers; null: the operator's are used. */
  callers: CallersCredential | null;
  /** The headers of an answer with the limits of the credential that a request brought; absent: it brought none. */
  limitsForCaller?: (answered: AnsweredHeaders) => readonly string[];
  /** The operator's own `anthropic-beta`, joined with the caller's; null when none. */
  beta: string | null;
  /** For `scrub` alone, and not enumerable: a connection that is logged or spread by mistake does not tell them. */
  readonly secrets: readonly string[];
  /** The upstream's host and host:port, which no message to a caller names. */
  hosts: readonly string[];
}

export interface ConnectionFacts extends Pick<ProviderConnection, 'name' | 'provider' | 'apiVersion'> {
  /** The operator's; null takes the provider's own. */
  baseUrl: string | null;
  route?: UpstreamRoute | undefined;
  /** In the order of the configuration; none for a service without keys. */
  secrets: readonly string[];
  /** Ids of the secrets, in the same order; absent or undefined: its index. */
  ids?: readonly (string | undefined)[];
  /** Makes what proves who asks with a secret, or with none, where no header of a fixed value does. */
  authorizerOf?: ((secret: string | null) => Authorizer | undefined) | undefined;
  /** The operator's extra headers; they take precedence over the provider's. */
  headers: Readonly<Record<string, string>>;
  /** Where in a cloud. */
  region?: string | null | undefined;
  project?: string | null | undefined;
  /** The operator's list of dialects; null or absent takes those of its type. */
  dialects?: readonly DialectId[] | null;
  /** The operator's list of tools that it runs without Culvert; null or absent: as its type says. */
  serverTools?: readonly ServerToolKind[] | null;
  /** The operator's word on its batch API. Default: it is used at the type's own address, at the vendor's price. */
  batches?: { upstream: 'auto' | 'always' | 'never'; price?: number | undefined };
  /** The connection's `traced`. Default: false. */
  traced?: boolean;
  /** Whose credential a request has. Default: one of `secrets`. */
  credential?: 'configured' | 'caller';
}

export type ConnectionResult = { ok: true; connection: ProviderConnection } | { ok: false; message: string };

/** Checks and joins what the configuration says of one provider. The message names the fault, never a secret. */
export function createConnection(given: ConnectionFacts): ConnectionResult {
  const callers = given.credential === 'caller' ? (given.provider.callers ?? null) : null;
  let facts =
    callers === null ? given : { ...given, provider: conversationsOf(given.provider), ids: [callersCredentialId] };
  const { name, provider } = facts;
  const extra = readOperatorHeaders(facts.headers);
  if (!extra.ok) return { ok: false, message: `provider ${name}: ${extra.message}` };

  const secrets = facts.secrets.map((secret) => secret.trim());
  const made = credentialsIn(facts, secrets, extra.headers);
  if (made === null) {
    return { ok: false, message: `provider ${name}: an API key has characters that an HTTP header cannot hold` };
  }
  const { credentials, keyed } = made;
  const base = readBaseUrl(facts, keyed);
  if (!base.ok) return base;
  // The type's own address, however it is written.
  if (base.origin + base.path === provider.baseUrl) facts = { ...facts, baseUrl: null };
  const elsewhere: Partial<Provider> = facts.baseUrl === null ? {} : provider;

  const { chat, responses, messages } = provider.paths;
  const messagesAt = provider.dialect === 'anthropic-messages' ? chat : messages;
  const dialects = dialectsOf(facts);
  const { families = [] } = provider;
  const supported = new Set([...dialects, ...families.flatMap((family) => family.dialects)]);
  const { host, hostname } = new URL(base.origin);
  const parts = {
    name,
    provider,
    origin: base.origin,
    listOrigin:
      facts.baseUrl === null && facts.region ? (provider.regional?.lists(facts.region) ?? base.origin) : base.origin,
    route: facts.route,
    basePath: base.path,
    isAtHome: facts.baseUrl === null || provider.baseUrl === null,
    chats: chat !== null,
    chatPath: chat === null || provider.chatPath !== undefined ? null : base.path + chat,
    responsesPath: responses && supported.has('openai-responses') ? base.path + responses : null,
    messagesPath: messagesAt && supported.has('anthropic-messages') ? pathOf(messagesAt, base.path) : null,
    forwardPaths: forwardPathsOf(facts, base.path),
    embeds: provider.embeds === undefined ? null : { ...provider.embeds, ...elsewhere.embedsElsewhere },
    images: elsewhere.imagesElsewhere ?? provider.images ?? null,
    videos: elsewhere.videosElsewhere ?? provider.videos ?? null,
    speech: provider.speech === undefined ? null : { ...provider.speech, ...elsewhere.speechElsewhere },
    transcription: elsewhere.transcriptionElsewhere ?? provider.transcription ?? null,
    batches: batchFactsOf(facts),
    dialects,
    serverTools: facts.serverTools ?? (facts.baseUrl === null ? provider.serverTools : null) ?? null,
    families,
    apiVersion: facts.apiVersion,
    traced: facts.traced ?? false,
    credentials,
    callers,
    beta: extra.headers.get('anthropic-beta') ?? null,
    hosts: host === hostname ? [host] : [host, hostname],
  };
  const known = [
    ...secrets.filter((secret) => secret !== ''),
    ...[...extra.headers].filter(([header, value]) => mayBeSecretHeader(header, value)).map(([, value]) => value),
  ];
  return { ok: true, connection: withHidden(parts, known.flatMap(spellingsOf)) };
}

/** Headers by credential id, and whether one holds a key; null: a key that no header can hold. */
function credentialsIn(
  { name, provider, ids, authorizerOf }: ConnectionFacts,
  secrets: readonly string[],
  operator: ReadonlyMap<string, string>,
): { credentials: Map<string, CredentialHeaders>; keyed: boolean } | null {
  const credentials = new Map<string, CredentialHeaders>();
  const count = Math.max(1, secrets.length);
  let keyed = false;
  for (let i = 0; i < count; i++) {
    const secret = secrets[i] || null;
    const authorize = authorizerOf?.(secret);
    // What the authorizer makes of it is no header.
    const key = authorize === undefined ? secret : null;
    if (key !== null && !printable(key)) return null;
    keyed ||= key !== null;
    const headers = joinHeaders(provider, key, operator);
    // Ids are `name#0`, `name#1`… in the order of the secrets, where the configuration says no other.
    credentials.set(`${name}#${ids?.[i] ?? i}`, authorize === undefined ? headers : { ...headers, authorize });
  }
  return { credentials, keyed };
}

/** Formats in which a model is asked; the first one for callers of yet another. */
export function dialectsOfModel(
  { dialects, families }: Pick<ProviderConnection, 'dialects' | 'families'>,
  model: string,
): readonly DialectId[] {
  return families.find(({ pattern }) => pattern.test(model))?.dialects ?? dialects;
}

/**
 * The dialects of the operator's list that the type can speak. A server at another address speaks its type's own,
 * unless the list says otherwise.
 */
function dialectsOf({ provider, baseUrl, dialects }: ConnectionFacts): readonly DialectId[] {
  const { dialect, speaksToo = [] } = provider;
  if (dialects === undefined || dialects === null) {
    return provider.baseUrl === null || baseUrl === null ? [dialect, ...speaksToo] : [dialect];
  }
  const carried = carriedDialects(provider);
  const supported = dialects.filter((one) => carried.includes(one));
  return supported.length > 0 ? supported : [dialect];
}

function forwardPathsOf(
  { provider, baseUrl }: ConnectionFacts,
  basePath: string,
): Map<ForwardedEndpointId, string | ((model: string) => string)> {
  const elsewhere = baseUrl !== null ? provider.forwardsElsewhere : {};
  const paths = new Map<ForwardedEndpointId, string | ((model: string) => string)>();
  for (const [endpoint, at] of Object.entries({ ...provider.forwards, ...elsewhere })) {
    const path = typeof at === 'function' ? (model: string) => basePath + at(model) : pathOf(at, basePath);
    paths.set(endpoint as ForwardedEndpointId, path);
  }
  const completions = paths.get('completions');
  // They have `suffix`, and answers are converted.
  if (completions !== undefined) paths.set('fim', completions);
  return paths;
}

export function pathOf(at: PathAt, basePath: string): string {
  return typeof at === 'string' ? basePath + at : at.fromOrigin;
}

function batchFactsOf({ provider, baseUrl, batches }: ConnectionFacts): BatchFacts | null {
  const { upstream = 'auto', price } = batches ?? {};
  // A type without an address has no vendor's address to be at.
  const isAtHome = provider.baseUrl !== null && baseUrl === null;
  if (provider.batches === undefined || upstream === 'never' || (upstream === 'auto' && !isAtHome)) return null;
  return { ...provider.batches, priceShare: price ?? provider.batches.priceShare };
}

function withHidden(parts: Omit<ProviderConnection, 'secrets'>, secrets: readonly string[]): ProviderConnection {
  const connection: ProviderConnection = { ...parts, secrets };
  return Object.defineProperty(connection, 'secrets', { enumerable: false });
}

/** Address of a provider: the operator's, or its own. The message names the fault, never a secret. */
function readBaseUrl(
  facts: ConnectionFacts,
  keyed: boolean,
): { ok: true; origin: string; path: string } | { ok: false; message: string } {
  const { name, provider, baseUrl, region = null, project = null, apiVersion } = facts;
  const { regional } = provider;
  if (regional !== undefined && region === null) {
    return { ok: false, message: `provider ${name}: type ${provider.id} needs a region, or AWS_REGION` };
  }
  const place = provider.placeOf?.({ baseUrl, region, project, apiVersion, keyed });
  if (place !== undefined && 'message' in place) return { ok: false, message: `provider ${name}: ${place.message}` };
  const inRegion = region === null ? undefined : regional?.base(region);
  const text = place?.baseUrl ?? baseUrl ?? inRegion ?? provider.baseUrl;
  if (text === null) return { ok: false, message: `provider ${name}: type ${provider.id} needs a base_url` };
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return { ok: false, message: `provider ${name}: base_url is not a URL` };
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return { ok: false, message: `provider ${name}: base_url must begin with https:// or http://` };
  }
  if (url.username !== '' || url.password !== '') {
    return {
      ok: false,
      message: `provider ${name}: base_url must not hold a user or password; use api_key or headers`,
    };
  }
  if (url.search !== '' || url.hash !== '') {
    return { ok: false, message: `provider ${name}: base_url must not hold ? or #; use api_version or headers` };
  }
  let path = withoutEndSlash(url);
  const suffix = provider.baseSuffixes?.find((end) => path.endsWith(end));
  if (suffix !== undefined) path = path.slice(0, -suffix.length);
  // `http://gpu-box:11434` is how people write a local server; the API is under the preset's path.
  if (path === '' && provider.local && provider.baseUrl !== null) path = withoutEndSlash(new URL(provider.baseUrl));
  // One that names another version, such as Google's /v1alpha, stays.
  if (provider.baseEnd !== undefined && !/\/v\d\w*$/.test(path)) path += provider.baseEnd;
  return { ok: true, origin: url.origin, path };
}

function withoutEndSlash({ pathname }: URL): string {
  return pathname.replace(/\/+$/, '');
}
