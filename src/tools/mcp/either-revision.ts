import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  type JSONRPCMessage,
  type JSONRPCRequest,
  LATEST_PROTOCOL_VERSION,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import { isObject, type JsonObject, jsonText, objectIn } from '../../kernel/json.ts';
import { withinMs } from '../../kernel/within-ms.ts';
import { callInProgress } from './mcp-fetch.ts';
import { headerValue } from './param-headers.ts';
import { statelessMeta, statelessVersion } from './stateless.ts';

/*
 * The SDK's client begins by `initialize`. Servers of revision 2026-07-28 may know no session: each message states what
 * `initialize` said, and `server/discover` asks for what it answered.
 */

/** Statuses of HTTP with which such servers refuse `initialize`. */
const refusedStatuses: ReadonlySet<number | undefined> = new Set([400, 404, 405]);

/** A server that says nothing to our question by then knows one revision. */
const lookMaxMs = 5_000;

/** Ids of our questions which revisions a server knows, apart from those of the SDK, which counts from 0. */
let lookId = Number.MAX_SAFE_INTEGER;

/**
 * The same transport, to servers with and without sessions. One that answers to `initialize` has sessions. Where it knows
 * the other revision too, calls go in that whose callers answer questions: in sessions nobody can be asked.
 */
export function inEitherRevision(inner: Transport, client: { name: string; version: string }): Transport {
  let revision: 'initialized' | 'stateless' = 'initialized';
  /** The SDK's first request, and its refusal. */
  let greeting: JSONRPCRequest | null = null;
  let refusal: JSONRPCMessage | null = null;

  const stated = (message: JSONRPCRequest) => statedFrom(client, message);
  const look = revisionLook(inner, stated);

  function discover(request: JSONRPCRequest): Promise<void> {
    revision = 'stateless';
    return inner.send(stated({ ...request, method: 'server/discover', params: {} }));
  }

  const outer: Transport = {
    async start() {
      inner.onclose = () => outer.onclose?.();
      inner.onerror = (error) => outer.onerror?.(error);
      inner.onmessage = (message, extra) => {
        if (greeting === null || 'method' in message || message.id !== greeting.id) {
          if (!look.take(message)) outer.onmessage?.(message, extra);
        } else if (revision === 'stateless') {
          outer.onmessage?.('error' in message ? (refusal ?? message) : initialized(message), extra);
        } else if ('error' in message) {
          refusal = message;
          discover(greeting).catch(() => outer.onmessage?.(message, extra));
        } else outer.onmessage?.(message, extra);
      };
      await inner.start();
    },
    close: () => inner.close(),
    setProtocolVersion: (version) => {
      if (revision === 'initialized') inner.setProtocolVersion?.(version);
    },
    async send(message, options) {
      if (!('method' in message)) return inner.send(message, options);
      if (!('id' in message)) {
        // Over HTTP the end of its request tells a server without sessions that nobody waits.
        const isUnknown =
          message.method === 'notifications/initialized' || inner instanceof StreamableHTTPClientTransport;
        return revision === 'stateless' && isUnknown ? undefined : inner.send(message, options);
      }
      if (message.method === 'initialize') {
        greeting = message;
        return inner.send(message, options).catch(async (error: unknown) => {
          if (!(error instanceof StreamableHTTPError && refusedStatuses.has(error.code))) throw error;
          await discover(message).catch(() => {
            throw error;
          });
        });
      }
      if (revision === 'initialized' && !(await look.mayAskBack())) return inner.send(message, options);
      // The revision has none.
      if (message.method === 'ping') outer.onmessage?.({ jsonrpc: '2.0', id: message.id, result: {} });
      else await inner.send(stated(message), options);
    },
  };
  return outer;
}

/** Learns, once, whether a server with sessions knows the other revision too. `take` is true for answers to its question. */
function revisionLook(inner: Transport, stated: (message: JSONRPCRequest) => JSONRPCRequest) {
  /** Null: the server has not said yet whether it knows both. */
  let knowsBoth: boolean | null = null;
  const looks = new Map<RequestId, (answer: JSONRPCMessage) => void>();

  async function look(): Promise<boolean | null> {
    const id = lookId--;
    const { promise, resolve } = Promise.withResolvers<JSONRPCMessage>();
    looks.set(id, resolve);
    const sent = inner.send(stated({ jsonrpc: '2.0', method: 'server/discover', params: {}, id }));
    return knowsStateless(sent.then(() => promise)).finally(() => looks.delete(id));
  }

  return {
    async mayAskBack(): Promise<boolean> {
      const { capabilities = {}, answers = {} } = callInProgress.getStore()?.input ?? {};
      const isAnswered = Object.keys({ ...capabilities, ...answers }).length > 0;
      if (!isAnswered || !(inner instanceof StreamableHTTPClientTransport)) return false;
      knowsBoth ??= await look();
      return knowsBoth === true;
    },
    take(message: JSONRPCMessage): boolean {
      const found = 'method' in message ? undefined : looks.get(message.id ?? '');
      found?.(message);
      return found !== undefined;
    },
  };
}

/** The message with what `initialize` would have said. */
function statedFrom(client: { name: string; version: string }, message: JSONRPCRequest): JSONRPCRequest {
  const { _meta, ...params } = message.params ?? {};
  const { news, input } = callInProgress.getStore() ?? {};
  const isLogged = news?.log != null;
  const meta = {
    [statelessMeta('protocolVersion')]: statelessVersion,
    [statelessMeta('clientInfo')]: client,
    [statelessMeta('clientCapabilities')]: input?.capabilities ?? {},
    ...(isLogged && { [statelessMeta('logLevel')]: 'debug' }),
  };
  return { ...message, params: { ...params, ...input?.answers, _meta: { ..._meta, ...meta } } };
}

/** Whether the answer to `server/discover` names the revision; false also where there is none. Null: it may yet do so. */
async function knowsStateless(answering: Promise<JSONRPCMessage>): Promise<boolean | null> {
  try {
    const answer = await withinMs(lookMaxMs, answering, null);
    const { supportedVersions } = objectIn(answer !== null && 'result' in answer ? (answer.result as JsonObject) : {});
    return Array.isArray(supportedVersions) && supportedVersions.includes(statelessVersion);
  } catch (error) {
    return error instanceof StreamableHTTPError && refusedStatuses.has(error.code) ? false : null;
  }
}

/** The answer to `server/discover` as that to `initialize`. */
function initialized(message: JSONRPCMessage): JSONRPCMessage {
  const result = objectIn('result' in message ? (message.result as JsonObject) : {});
  const { capabilities, instructions, serverInfo } = result;
  const named = serverInfo ?? objectIn(result._meta)[statelessMeta('serverInfo')];
  return {
    ...(message as JSONRPCMessage & { id: number }),
    result: {
      protocolVersion: LATEST_PROTOCOL_VERSION,
      capabilities: objectIn(capabilities),
      serverInfo: isObject(named) ? named : { name: 'unknown', version: '0' },
      ...(typeof instructions === 'string' && { instructions }),
    },
  };
}

/** Members by which a message is named in a header, so that proxies need not read it. */
const naming: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

/** The same fetch, with the headers of messages that state their revision. Their errors are read whatever their status. */
export function withStatedHeaders(fetch: FetchLike): FetchLike {
  return async (url, init = {}) => {
    const { body: sent } = init;
    const message = typeof sent === 'string' && sent.startsWith('{') ? objectIn(JSON.parse(sent)) : {};
    const { id, method } = message;
    const params = objectIn(message.params);
    if (objectIn(params._meta)[statelessMeta('protocolVersion')] === undefined) return fetch(url, init);
    const headers = new Headers(init.headers);
    headers.delete('mcp-session-id');
    headers.set('mcp-protocol-version', statelessVersion);
    headers.set('mcp-method', jsonText(method));
    const name = params[naming[jsonText(method)] ?? ''];
    if (typeof name === 'string') headers.set('mcp-name', headerValue(name));
    const { params: repeated = {} } = callInProgress.getStore() ?? {};
    for (const [header, value] of Object.entries(repeated)) headers.set(header, value);
    const response = await fetch(url, { ...init, headers });
    const isError = refusedStatuses.has(response.status) && /json/.test(response.headers.get('content-type') ?? '');
    if (!isError) return response;
    const body = JSON.stringify({ ...objectIn(JSON.parse(await response.text())), id: id ?? null });
    return new Response(body, { headers: { 'content-type': 'application/json' } });
  };
}
