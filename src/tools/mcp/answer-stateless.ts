import { type LoggingLevel, SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/sdk/types.js';
import { isObject, type JsonObject, type JsonValue, objectIn } from '../../kernel/json.ts';
import { logLevelIn } from './call-news.ts';
import type { McpAnswer, McpHeaders, McpMessage } from './mcp-message.ts';
import { describedOffer, methodsFor, RpcFault } from './mcp-methods.ts';
import { statelessMeta, statelessVersion } from './stateless.ts';

const supportedVersions = [statelessVersion, ...SUPPORTED_PROTOCOL_VERSIONS];
/** How long clients may keep answers: our own tools are the same for every key, those of other servers are not. */
const cached = { ttlMs: 300_000, cacheScope: 'public' } as const;
const cachedForKey = { ttlMs: 60_000, cacheScope: 'private' } as const;

const headerMismatch = -32_020;
const unsupportedVersion = -32_022;
const invalidRequest = -32_600;
const methodNotFound = -32_601;

/** The version that a message states, in its `_meta` or a header; null: its revision begins by `initialize`. */
export function statedVersion({ params }: JsonObject, { protocolVersion }: McpHeaders): string | null {
  const meta = isObject(params) && isObject(params._meta) ? params._meta[statelessMeta('protocolVersion')] : undefined;
  const stated = typeof meta === 'string' ? meta : protocolVersion === statelessVersion ? protocolVersion : null;
  return stated === null || SUPPORTED_PROTOCOL_VERSIONS.includes(stated) ? null : stated;
}

/**
 * The least level of log messages that the sender of a message gets; null: none. Where each message states its
 * version, it states the level as well. In older revisions it is the one that the sender has `set`, else all come.
 */
export function statedLogLevel(message: JsonObject, headers: McpHeaders, set: string | null): LoggingLevel | null {
  if (statedVersion(message, headers) === null) return logLevelIn(set) ?? 'debug';
  const { params } = message;
  return isObject(params) && isObject(params._meta) ? logLevelIn(params._meta[statelessMeta('logLevel')]) : null;
}

/** Answers one message of that revision. Null when its sender left before the end. */
export async function answerStateless(request: McpMessage, version: string): Promise<McpAnswer | null> {
  const { message } = request;
  const { id, method } = message;
  if (id === undefined) return { status: 202, body: '' };
  if (typeof id !== 'string' && !Number.isInteger(id)) {
    return failed(null, 400, invalidRequest, "'id' must be a string or a whole number.");
  }
  if (typeof method !== 'string') return failed(id, 400, invalidRequest, "'method' must be a string.");
  const params = objectIn(message.params);
  // The revision has none. The SDK for Go keeps its sessions alive by it all the same, and states no version in it.
  if (method === 'ping' && params._meta === undefined) return done(request, {});
  const mismatch = mismatchOf(request, params);
  if (mismatch !== null) return failed(id, 400, headerMismatch, mismatch);
  if (version !== statelessVersion) {
    const data = { supported: supportedVersions, requested: version };
    return failed(id, 400, unsupportedVersion, 'Unsupported protocol version', data);
  }
  const caching = request.offer.lists === null ? cached : cachedForKey;
  if (method === 'server/discover')
    return done(request, { supportedVersions, ...(await describedOffer(request.offer)), ...caching });
  const methods = methodsFor(request);
  const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (run === undefined) return failed(id, 404, methodNotFound, `There is no method '${method.slice(0, 100)}'.`);
  try {
    const result = await run(params);
    if (request.signal.aborted) return null;
    if (method.endsWith('/list')) return done(request, { ...result, ...caching });
    return done(request, method === 'resources/read' ? { ...result, ttlMs: 0, cacheScope: 'private' } : result);
  } catch (error) {
    if (error instanceof RpcFault) return failed(id, 200, error.code, error.message);
    throw error;
  }
}

/** Proxies act by the headers alone, so the headers must agree with the body. */
function mismatchOf({ message, headers }: McpMessage, params: JsonObject): string | null {
  const meta = objectIn(params._meta);
  const required: [header: string, sent: string | undefined, due: JsonValue | undefined][] = [
    ['MCP-Protocol-Version', headers.protocolVersion, meta[statelessMeta('protocolVersion')]],
    ['Mcp-Method', headers.method, message.method],
  ];
  const named = { 'tools/call': params.name, 'prompts/get': params.name, 'resources/read': params.uri };
  if (Object.hasOwn(named, message.method as string)) {
    required.push(['Mcp-Name', decoded(headers.name), named[message.method as keyof typeof named]]);
  }
  for (const [header, sent, due] of required) {
    if (sent === undefined) return `The header ${header} is missing.`;
    if (sent !== due) return `The header ${header} contradicts the body.`;
  }
  return null;
}

/** Values that are not plain ASCII become `=?base64?…?=`. */
function decoded(value: string | undefined): string | undefined {
  const encoded = value === undefined ? undefined : /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString('utf8');
}

function done({ message, version }: McpMessage, result: object): McpAnswer {
  const _meta = {
    ...objectIn((result as { _meta?: unknown })._meta),
    [statelessMeta('serverInfo')]: { name: 'culvert', version },
  };
  const body = { jsonrpc: '2.0', id: message.id, result: { resultType: 'complete', ...result, _meta } };
  return { status: 200, body: JSON.stringify(body) };
}

function failed(id: JsonValue, status: number, code: number, message: string, data?: JsonObject): McpAnswer {
  return { status, body: JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } }) };
}
