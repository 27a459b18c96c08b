import type { UpstreamRequest, UpstreamRoute } from '../../upstream/transport/upstream-call.ts';
import type { DialectId } from '../dialects/dialect.ts';
import type { ForwardedEndpointId } from '../dialects/forwarded/endpoint.ts';
import { type CredentialHeaders, printable } from './credential-headers.ts';
import { knownBetas } from './known-betas.ts';
import type { ProviderConnection } from './provider-connection.ts';
import { anthropic } from './services/anthropic.ts';

/** Address and headers of a request: the parts of an `UpstreamRequest` that the provider decides. */
export interface UpstreamAddress extends Pick<UpstreamRequest, 'origin' | 'path' | 'authorize'> {
  route: UpstreamRoute | undefined;
  /** Flat list name, value, name, value…; shared between requests unless the caller sent a header that passes. */
  headers: readonly string[];
}

export interface UpstreamCallFacts {
  /** Id of the credential that routing picked. */
  credential: string;
  /** Upstream model id; only providers that put it in the path look at it. */
  model: string;
  answer: 'whole' | 'stream';
  /** Format of the body; absent: the provider's own. */
  dialect?: DialectId;
  /** Endpoint of one format; absent: it is asked to chat. */
  endpoint?: ForwardedEndpointId | 'embeddings' | 'speech' | undefined;
  /**
   * Below the base URL; takes precedence over the catalog's path of the endpoint. Made of facts of the catalog, never
   * as sent.
   */
  path?: string | undefined;
  /** Content type of a body that is not JSON. */
  contentType?: string | undefined;
  /** Header of the endpoint's format; left out where no header can carry it. */
  header?: readonly [name: string, value: string] | undefined;
  /** The caller's headers, lower-case names. */
  callerHeaders: Readonly<Record<string, string | string[] | undefined>>;
  /** Headers of our own trace, flat, instead of the caller's; absent: there is none. */
  traceHeaders?: readonly string[] | undefined;
}

/**
 * Address and headers of one attempt. A caller cannot change where it goes: the path comes from the catalog, the origin
 * from the configuration, and of the caller's headers only `callerHeaders` below pass. Throws for a missing credential,
 * and for a provider that does not serve the endpoint: both are faults of ours, because the configuration was checked
 * before.
 */
export function encodeUpstream(connection: ProviderConnection, call: UpstreamCallFacts): UpstreamAddress {
  const credential = connection.credentials.get(call.credential);
  if (credential === undefined) throw new Error(`no credential ${call.credential} in ${connection.name}`);
  const usual = call.answer === 'stream' ? credential.stream : credential.whole;
  const accepting = call.endpoint === 'speech' ? acceptingAnything(usual) : usual;
  const typed = call.contentType === undefined ? accepting : withContentType(accepting, call.contentType);
  const headed = call.header !== undefined && printable(call.header[1]) ? [...typed, ...call.header] : typed;
  const dialect = call.dialect ?? connection.provider.dialect;
  return {
    origin: connection.origin,
    route: connection.route,
    path: pathOf(connection, call),
    headers: withCallerHeaders(connection, headed, call.callerHeaders, dialect, call.traceHeaders),
    authorize: credential.authorize,
  };
}

function withContentType(headers: readonly string[], contentType: string): readonly string[] {
  return headers.map((value, i) => (headers[i - 1] === 'content-type' && i % 2 === 1 ? contentType : value));
}

/** Sound comes under many names, and an error as JSON. */
function acceptingAnything(headers: readonly string[]): readonly string[] {
  return headers.map((value, i) => (headers[i - 1] === 'accept' && i % 2 === 1 ? '*/*' : value));
}

/** Path for counting the tokens of a body, if the service has one. Null: its format has none. */
export function encodeCountTokens(
  connection: ProviderConnection,
  credentialId: string,
  dialect: DialectId,
  callerHeaders: UpstreamCallFacts['callerHeaders'],
  model: string,
): UpstreamAddress | null {
  const path = countingPath(connection, dialect, model);
  if (path === null) return null;
  const credential = connection.credentials.get(credentialId);
  if (credential === undefined) throw new Error(`no credential ${credentialId} in ${connection.name}`);
  return {
    origin: connection.origin,
    route: connection.route,
    path,
    headers: withCallerHeaders(connection, credential.whole, callerHeaders, dialect),
    authorize: credential.authorize,
  };
}

function countingPath(connection: ProviderConnection, dialect: DialectId, model: string): string | null {
  const { messagesPath, responsesPath, provider, basePath, apiVersion } = connection;
  if (provider.countPath !== undefined) {
    const path = provider.countPath(model, dialect);
    return path === null ? null : basePath + path;
  }
  if (dialect === 'gemini') {
    const geminiPath =
      provider.dialect === 'gemini' ? provider.chatPath?.(model, { apiVersion, answer: 'whole', dialect }) : undefined;
    return geminiPath === undefined ? null : basePath + geminiPath.replace(/:generateContent$/, ':countTokens');
  }
  if (dialect === 'openai-responses') return responsesPath === null ? null : `${responsesPath}/input_tokens`;
  return dialect === 'anthropic-messages' && messagesPath !== null ? `${messagesPath}/count_tokens` : null;
}

/** A GET below the base URL, such as the list of models; with the first credential where none is given. */
export function encodeGet(
  connection: ProviderConnection,
  path: string,
  credential: CredentialHeaders | undefined = connection.credentials.values().next().value,
): UpstreamAddress {
  if (credential === undefined) throw new Error(`${connection.name} has no credential`);
  const { listOrigin: origin, route } = connection;
  return { origin, route, path, headers: credential.get, authorize: credential.authorize };
}

function pathOf(connection: ProviderConnection, call: UpstreamCallFacts): string {
  if (call.path !== undefined) return connection.basePath + call.path;
  if (call.endpoint === 'speech') throw new Error(`${connection.name} was asked to speak without a path`);
  if (call.endpoint === 'embeddings') return embeddingPath(connection, call);
  if (call.endpoint !== undefined) {
    const path = connection.forwardPaths.get(call.endpoint);
    if (path === undefined) throw new Error(`${connection.name} does not serve ${call.endpoint}`);
    return typeof path === 'string' ? path : path(call.model);
  }
  if (call.dialect === 'openai-responses' && connection.responsesPath !== null) return connection.responsesPath;
  if (call.dialect === 'anthropic-messages' && connection.messagesPath !== null) return connection.messagesPath;
  return connection.chatPath ?? modelPath(connection, call);
}

function embeddingPath(
  { provider, basePath, embeds, apiVersion }: ProviderConnection,
  { model }: UpstreamCallFacts,
): string {
  if (embeds === null) throw new Error(`${provider.id} does not embed`);
  const { path, pathOf } = embeds;
  if (pathOf !== undefined) return basePath + pathOf(model, { apiVersion });
  // Of Ollama, which a proxy may have below a path.
  return typeof path === 'string' ? basePath + path : basePath.replace(/\/v1$/, '') + path.fromOrigin;
}

function modelPath(connection: ProviderConnection, { model, answer, dialect }: UpstreamCallFacts): string {
  const { provider, apiVersion } = connection;
  if (provider.chatPath === undefined) throw new Error(`${provider.id} does not chat`);
  return connection.basePath + provider.chatPath(model, { apiVersion, answer, dialect: dialect ?? provider.dialect });
}

/**
 * The caller's headers that reach every upstream: the session ids by which some services keep a conversation on the
 * machine that has its prompt cached. The trace goes to our own services. Everything else stays here (S2).
 */
const passedHeaders = ['x-session-id', 'x-session-affinity', 'x-grok-conv-id'] as const;
const tracedHeaders = ['traceparent', 'tracestate', ...passedHeaders] as const;
const passedValueCharsMax = 512;

function withCallerHeaders(
  connection: ProviderConnection,
  base: readonly string[],
  caller: UpstreamCallFacts['callerHeaders'],
  dialect: DialectId,
  trace?: readonly string[],
): readonly string[] {
  let joined: string[] | null = trace === undefined ? null : [...base, ...trace];
  const { provider } = connection;
  const members = provider.bodies?.[dialect];
  // Services of Anthropic's type have its version among their own headers, and some want it in the body.
  const hasVersion = provider.dialect === 'anthropic-messages' || members?.with?.anthropic_version !== undefined;
  if (dialect === 'anthropic-messages' && !hasVersion) joined = versioned(joined ?? base);
  for (const name of connection.traced && trace === undefined ? tracedHeaders : passedHeaders) {
    const value = caller[name];
    if (typeof value !== 'string' || value.length > passedValueCharsMax || !printable(value)) continue;
    // The operator's headers for this provider take precedence.
    if (base.includes(name)) continue;
    joined ??= base.slice();
    joined.push(name, value);
  }
  const beta = caller['anthropic-beta'];
  if (beta !== undefined && dialect === 'anthropic-messages' && members?.betas === undefined) {
    const text = passedBetas(Array.isArray(beta) ? beta.join(',') : beta, members?.headerBetas);
    if (text !== undefined && text.length <= passedValueCharsMax * 4 && printable(text)) {
      joined ??= base.slice();
      const at = joined.indexOf('anthropic-beta');
      if (at < 0) joined.push('anthropic-beta', text);
      else joined[at + 1] = `${connection.beta},${text}`;
    }
  }
  return joined ?? base;
}

/** Undefined where none is left. */
function passedBetas(betas: string, known: RegExp | undefined): string | undefined {
  if (known === undefined) return betas;
  return knownBetas(betas, known).known.join(',') || undefined;
}

function versioned(headers: readonly string[]): string[] {
  return headers.includes('anthropic-version') ? [...headers] : [...headers, ...messagesVersion];
}

const messagesVersion = Object.entries(anthropic.headers).flat();
