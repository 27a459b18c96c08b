import { type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { OAuthError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  type CallToolResult,
  ErrorCode,
  type GetPromptResult,
  LoggingMessageNotificationSchema,
  McpError,
  type ReadResourceResult,
  type Result,
  ResultSchema,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import { scrub } from '../../formats/providers/scrub.ts';
import { FailureError } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { spellingsOf } from '../../kernel/secret-spellings.ts';
import { codeOf } from '../../upstream/transport/transport-error.ts';
import type { CallNews } from './call-news.ts';
import {
  completionOf,
  contentsOf,
  promptOf,
  promptsOf,
  resourcesOf,
  templatesOf,
  toolResultOf,
  toolsOf,
} from './checked-results.ts';
import { inEitherRevision, withStatedHeaders } from './either-revision.ts';
import { Blocked } from './guarded-connect.ts';
import { type CallerInput, resultOrQuestion } from './input-rounds.ts';
import { McpFault, McpFaultError, tookLongerThan } from './mcp-fault.ts';
import { type CallInProgress, callInProgress, type McpFetch } from './mcp-fetch.ts';
import type { Offered } from './offered.ts';
import { trustingValidator } from './trusting-validator.ts';

/** Tools and results as MCP writes them. */
export type { CallToolResult as McpResult, Tool as McpTool };

/** A session with one MCP server. Nothing rejects: what goes wrong is a fault. Calls run side by side. */
export interface McpSession {
  /** All pages of its list, up to `toolsMax`, without tools that run as tasks only: nobody could call them here. */
  listTools(bounds: CallBounds): Promise<readonly Tool[] | McpFault>;
  /** A call that the tool itself could not do is a result with `isError`. */
  callTool(name: string, args: JsonObject, bounds: CallBounds): Promise<CallToolResult | McpFault>;
  /** Everything that it lists; nothing where it says that it has no such thing. */
  lists(bounds: CallBounds): Promise<Offered | McpFault>;
  getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    bounds: CallBounds,
  ): Promise<GetPromptResult | McpFault>;
  readResource(uri: string, bounds: CallBounds): Promise<ReadResourceResult | McpFault>;
  /** Values for an argument; none of a server that completes nothing. `params` are those of `completion/complete`. */
  complete(params: JsonObject, bounds: CallBounds): Promise<JsonObject | McpFault>;
  /** Null: the server answers in this session. */
  ping(bounds: CallBounds): Promise<McpFault | null>;
  /** False: the connection was lost, or it was closed. */
  isOpen(): boolean;
  /** Ends running calls. */
  close(): Promise<void>;
}

export interface CallBounds {
  /** Bound on the whole call. At its end the server gets a cancellation. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Takes news of the call; absent: nobody wants any. */
  news?: CallNews | undefined;
  /** The caller's part in it; absent: a server that asks back is a fault. */
  input?: CallerInput | undefined;
  /** Headers that repeat some of its arguments for proxies, in revisions that have them. */
  params?: Readonly<Record<string, string>> | undefined;
}

/** Tools of one server that are listed; the others are left out. As many prompts, resources and templates. */
const toolsMax = 1_000;

/** Servers that cannot do what a newer client offers are asked for less. The server may ask nothing of us. */
export async function openSession(
  plain: Transport,
  { version, timeoutMs, signal, secrets = [] }: CallBounds & { version: string; secrets?: readonly string[] },
): Promise<McpSession | McpFault> {
  const transport = inEitherRevision(plain, { name: 'culvert', version });
  answerFewAtOnce(transport);
  const client = new Client({ name: 'culvert', version }, { jsonSchemaValidator: trustingValidator });
  const running = new Set<CallInProgress>();
  const bounded = <T>(bounds: CallBounds, work: (options: RequestOptions) => Promise<T>) =>
    within(bounds, work, { secrets, running });
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => callOf(running)?.news?.log?.(params));
  const fault = await bounded({ timeoutMs, signal }, (options) => client.connect(transport, options).then(() => null));
  if (fault !== null) {
    await client.close();
    return fault;
  }
  answerBehindNews(transport);
  let state: 'open' | 'closed' = 'open';
  client.onclose = () => {
    state = 'closed';
  };
  const ask = (method: string, params: JsonObject, options: RequestOptions) =>
    client.request({ method, params }, ResultSchema, options);
  const call = <T extends object>(method: string, params: JsonObject, bounds: CallBounds, of: (result: Result) => T) =>
    bounded(bounds, async (options) => resultOrQuestion(await ask(method, params, options), bounds.input, of));
  const listOf =
    <T>(method: string, pageOf: (result: Result) => { items: readonly T[]; nextCursor: string | undefined }) =>
    (options: RequestOptions) =>
      allPages(async (params) => pageOf(await ask(method, params, options)));
  const tools = async (options: RequestOptions) =>
    callable(await listOf('tools/list', toolsOf)(options)).filter((tool) => tool.execution?.taskSupport !== 'required');
  const prompts = async (options: RequestOptions) => callable(await listOf('prompts/list', promptsOf)(options));
  const resources = listOf('resources/list', resourcesOf);
  const templates = listOf('resources/templates/list', templatesOf);
  return {
    isOpen: () => state === 'open',
    listTools: (bounds) => bounded(bounds, tools),
    lists(bounds) {
      const has = client.getServerCapabilities() ?? {};
      return bounded(bounds, async (options) => ({
        instructions: client.getInstructions() || null,
        tools: has.tools === undefined ? [] : await tools(options),
        prompts: has.prompts === undefined ? [] : await prompts(options),
        resources: has.resources === undefined ? [] : await resources(options),
        // Many servers with resources know no templates and say so by an error.
        templates: has.resources === undefined ? [] : await templates(options).catch(noneWhereUnknown),
      }));
    },
    getPrompt: (name, args, bounds) => call('prompts/get', { name, arguments: { ...args } }, bounds, promptOf),
    readResource: (uri, bounds) => call('resources/read', { uri }, bounds, contentsOf),
    callTool: (name, args, bounds) => call('tools/call', { name, arguments: args }, bounds, toolResultOf),
    async complete(params, bounds) {
      if (client.getServerCapabilities()?.completions === undefined) return { completion: { values: [] } };
      return bounded(bounds, async (options) => completionOf(await ask('completion/complete', params, options)));
    },
    ping: (bounds) => bounded(bounds, (options) => client.ping(options).then(() => null)),
    close: () => client.close(),
  };
}

/** Replies to a server's own requests, such as `ping`, under way at once: each takes a connection to it. */
const repliesAtOnceMax = 4;

/** Leaves a server without a reply that asks faster than it takes them. */
function answerFewAtOnce(transport: Transport): void {
  const send = transport.send.bind(transport);
  let replies = 0;
  transport.send = async (message, options) => {
    if ('method' in message) return send(message, options);
    if (replies >= repliesAtOnceMax) return;
    replies += 1;
    try {
      await send(message, options);
    } finally {
      replies -= 1;
    }
  };
}

/** Handles an answer behind notifications that came with it: the SDK would handle those a turn later, and drop them. */
function answerBehindNews(transport: Transport): void {
  const { onmessage } = transport;
  if (onmessage === undefined) return;
  transport.onmessage = (message, extra) => {
    if ('method' in message) onmessage(message, extra);
    else void Promise.resolve().then(() => onmessage(message, extra));
  };
}

export interface HttpSessionOptions extends CallBounds {
  version: string;
  /** Headers of every message. */
  headers: Readonly<Record<string, string>>;
  /** Gets and renews tokens where the server wants some. */
  authProvider?: OAuthClientProvider | undefined;
}

export async function openHttpSession(
  url: URL,
  http: McpFetch,
  { headers, authProvider, ...bounds }: HttpSessionOptions,
): Promise<McpSession | McpFault> {
  const transport = new StreamableHTTPClientTransport(url, {
    fetch: withStatedHeaders(http.fetch),
    requestInit: { headers },
    ...(authProvider !== undefined && { authProvider }),
  });
  // The SDK's class says `sessionId: string | undefined`, where its interface has a member that may be absent.
  const session = await openSession(transport as Transport, bounds);
  if (session instanceof McpFault) return session;
  return {
    ...session,
    async close() {
      // Servers keep a session until its client ends it. Those that keep none, or are gone, need no message.
      await within({ timeoutMs: farewellMs }, () => transport.terminateSession());
      await session.close();
    },
  };
}

/** How long a stream may go on after the answer to a call, and how long a server may take to end a session. */
const streamEndMs = 1_000;
const farewellMs = 2_000;

/** Names that a call takes, each of them once. */
const nameCharsMax = 200;

function callable<T extends { name: string }>(all: readonly T[]): readonly T[] {
  const byName = new Map<string, T>();
  for (const one of all) {
    const { name } = one;
    if (name !== '' && name.length <= nameCharsMax && !byName.has(name)) byName.set(name, one);
  }
  return [...byName.values()];
}

async function allPages<T>(
  ask: (params: { cursor?: string }) => Promise<{ items: readonly T[]; nextCursor?: string | undefined }>,
): Promise<readonly T[]> {
  const all: T[] = [];
  for (let cursor: string | undefined; all.length < toolsMax; ) {
    const { items, nextCursor } = await ask(cursor === undefined ? {} : { cursor });
    all.push(...items);
    cursor = nextCursor;
    if (cursor === undefined || items.length === 0) break;
  }
  return all.slice(0, toolsMax);
}

function noneWhereUnknown(error: unknown): readonly [] {
  if (error instanceof McpError && error.code === ErrorCode.MethodNotFound) return [];
  throw error;
}

async function within<T>(
  { timeoutMs, signal, news, input, params }: CallBounds,
  work: (options: RequestOptions) => Promise<T>,
  { secrets = [], running }: { secrets?: readonly string[]; running?: Set<CallInProgress> } = {},
): Promise<T | McpFault> {
  const sent = new Set(secrets);
  const ending = new AbortController();
  const over = new AbortController();
  let fault: McpFault | null = null;
  const fail = (why: McpFault) => {
    fault ??= why;
    ending.abort(why.message);
  };
  const leave = () => fail(new McpFault('aborted', 'was cut off, because the caller left'));
  if (signal?.aborted) return new McpFault('aborted', 'was cut off, because the caller left');
  const timer = setTimeout(() => fail(tookLongerThan(timeoutMs)), timeoutMs);
  signal?.addEventListener('abort', leave, { once: true });
  // The SDK's own timer is behind ours.
  const progress = news?.progress ?? null;
  const options = {
    signal: ending.signal,
    timeout: timeoutMs + 1_000,
    ...(progress !== null && { onprogress: progress }),
  };
  const fetching = AbortSignal.any([ending.signal, over.signal]);
  const inProgress: CallInProgress = {
    signal: fetching,
    bytes: 0,
    events: 0,
    requests: 0,
    sent,
    fail,
    news,
    input,
    params,
  };
  running?.add(inProgress);
  try {
    return await callInProgress.run(inProgress, () => work(options));
  } catch (error) {
    return fault ?? sessionFault(error, [...sent]);
  } finally {
    clearTimeout(timer);
    running?.delete(inProgress);
    // A server should end its stream of events behind the answer. The connection of one that does not is closed.
    setTimeout(() => over.abort(), streamEndMs).unref();
    signal?.removeEventListener('abort', leave);
  }
}

/**
 * The running call of a session that a notification without a name is about. Over HTTP it comes in the answer to that
 * call. A program's output belongs to no call: it is about the only one that runs, if there is one.
 */
function callOf(running: ReadonlySet<CallInProgress>): CallInProgress | undefined {
  const reading = callInProgress.getStore();
  if (reading !== undefined && running.has(reading)) return reading;
  return running.size === 1 ? [...running][0] : undefined;
}

/** Words of the SDK for a connection that ends. */
const sdkMessages: ReadonlySet<string> = new Set(['Connection closed', 'Request was cancelled']);

/** The fault that ended a request to an MCP server or to its authorization server. */
export function sessionFault(error: unknown, secrets: readonly string[] = []): McpFault {
  if (error instanceof McpFaultError) return error.fault;
  if (error instanceof FailureError) {
    return new McpFault('unreachable', 'could not be asked: the store of its login is out of reach');
  }
  if (error instanceof Blocked) return new McpFault('blocked', `may not be asked: ${error.message}`);
  if (error instanceof StreamableHTTPError) return faultOfStatus(error.code ?? 0);
  if (error instanceof McpError) {
    const message = error.message.replace(/^MCP error -?\d+: /, '');
    // Servers use the code of the SDK for their errors.
    if (error.code === ErrorCode.ConnectionClosed && sdkMessages.has(message)) {
      return new McpFault('unreachable', 'closed the connection');
    }
    const scrubbed = scrub(message, { secrets: secrets.flatMap(spellingsOf), hosts: [] });
    return new McpFault('refused', `refused: ${scrubbed} (${error.code})`);
  }
  if (codeOf(error) !== 'unknown') return new McpFault('unreachable', `could not be reached (${codeOf(error)})`);
  if (error instanceof OAuthError) return new McpFault('unauthorized', `was not authorized (${error.errorCode})`);
  // The SDK has no class for an authorization server that is not the expected one.
  if (error instanceof UnauthorizedError || (error instanceof Error && error.message.startsWith('OAuth '))) {
    return new McpFault(
      'unauthorized',
      'was not authorized: it names another authorization server, or refuses its token',
    );
  }
  const { cause } = error as { cause?: unknown };
  if (cause instanceof Blocked) return sessionFault(cause);
  if (error instanceof TypeError && cause instanceof Error && cause.message === 'bad port') {
    return new McpFault('blocked', 'may not be asked: its port is one that the Fetch standard blocks, such as 6000');
  }
  if (error instanceof TypeError && cause !== undefined) {
    return new McpFault('unreachable', `could not be reached (${codeOf(cause)})`);
  }
  return new McpFault('broken', 'answered with something that is not an MCP message');
}

/** When to ask a server again that has had too many calls. */
const limitedMs = 1_000;

/** Servers of MCP's first transport take a GET where all later ones take a POST. */
const noPosts =
  'answered 405 to a POST: it may have the old transport, HTTP with SSE, which Culvert does not speak. Its address of Streamable HTTP often ends in /mcp in place of /sse';

function faultOfStatus(status: number): McpFault {
  if (status === 401 || status === 403) return new McpFault('unauthorized', `refuses the credentials (${status})`);
  if (status === 404)
    return new McpFault('session-lost', 'answered 404: its address has no MCP server, or its session ended');
  if (status >= 300 && status < 400)
    return new McpFault('broken', `answered ${status}: it redirects to another origin, which is not followed`);
  if (status === 400) return new McpFault('bad-request', 'answered 400');
  if (status < 300) return new McpFault('broken', 'answered with something that is not an MCP message');
  if (status === 429) return new McpFault('busy', 'answered 429', limitedMs);
  if (status >= 502 && status <= 504) return new McpFault('unreachable', `answered ${status}`);
  if (status === 405) return new McpFault('refused', noPosts);
  return new McpFault(status < 500 ? 'refused' : 'broken', `answered ${status}`);
}
