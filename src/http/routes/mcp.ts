import type { Principal } from '../../books/auth/principal.ts';
import type { Admission } from '../../books/metering/admission.ts';
import { openAiChat } from '../../formats/dialects/openai-chat/index.ts';
import type { Snapshot } from '../../inference/models/snapshot.ts';
import { BufferedAnswer, bufferAnswer, type Outcome } from '../../inference/spine/buffered-answer.ts';
import { refuse } from '../../inference/spine/sink.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type ErrorContext, type Failure, invalid, isFailure, statusOf } from '../../kernel/failure.ts';
import { factsOf } from '../../kernel/failure-facts.ts';
import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { RunningCalls, type ShareCalls } from '../../kernel/sharing/running-calls.ts';
import { createShortTexts, type ShortTexts } from '../../kernel/sharing/short-texts.ts';
import type { Trace } from '../../kernel/trace.ts';
import type { CallNews } from '../../tools/mcp/call-news.ts';
import type { McpAnswer, McpHeaders, McpMessage } from '../../tools/mcp/mcp-message.ts';
import type { ApiCall } from '../../tools/mcp/mcp-tools.ts';
import type { UpstreamTools } from '../../tools/mcp/upstream-tools.ts';
import { writeAnswer } from '../delivery.ts';
import { callerOf, type Exchange, errorContextOf, headerOf, type Route } from '../exchange.ts';
import { linkBaseOf } from '../link-base.ts';
import { readJsonBody } from '../read-body.ts';
import { refusalOf } from '../refused-request.ts';
import { parseErrorCode, rpcBody } from '../rpc-body.ts';
import { openRoute } from './key-route.ts';
import { EventedAnswer } from './mcp-answer.ts';

export interface McpParts {
  /** The whole route table: tools are calls of it. */
  routes(): readonly Route[];
  services: {
    admission: Admission;
    clock: Clock;
    readonly snapshots: { readonly current: Pick<Snapshot, 'config' | 'steps'> };
  };
  upstream: UpstreamTools;
  version: string;
  /** Null where this is the only process. */
  sharing: { shareCalls: ShareCalls; logLevels: ShortTexts } | null;
  /** Called for unexpected errors; the caller got a result with the request id. */
  onUnexpected(error: unknown, requestId: string, trace: Trace | null): void;
}

interface ServedParts extends McpParts {
  running: RunningCalls;
  /** The least level of log messages by tenant, for revisions in which a message does not state it. */
  logLevels: ShortTexts;
}

/** Bound for what an assistant writes. Whole files go by the REST API. */
const bodyBytesMax = 1024 * 1024;

/**
 * `POST /mcp`: MCP's Streamable HTTP without sessions, so GET and DELETE are 405. A message costs and counts what the
 * call that its tool is does. The rest of the protocol costs nothing, and counts in requests per minute. `/mcp/NAME` offers one other server alone.
 */
export function mcpRoutes(given: McpParts): Route[] {
  const { sharing } = given;
  const parts: ServedParts = {
    ...given,
    running: new RunningCalls(sharing?.shareCalls ?? null, given.services.clock),
    logLevels: sharing?.logLevels ?? createShortTexts(),
  };
  const { snapshots } = given.services;
  const counted = { method: 'POST', auth: 'key', quota: 'free', endpoint: 'mcp' } as const;
  const shared = { ...counted, dialect: mcpErrors, challenge: mcpChallenge(snapshots) };
  return [
    ...mcpAuthorizationRoutes(snapshots),
    {
      ...shared,
      path: '/mcp',
      summary: 'Model Context Protocol: search, scrape, crawl, vectors, models, and other MCP servers, as tools',
      handle: (exchange) => answerMessage(parts, exchange, null),
    },
    {
      ...shared,
      path: '/mcp/:server',
      summary: 'Model Context Protocol: one of the configured MCP servers',
      handle(exchange) {
        const { server = '' } = exchange.params;
        if (parts.upstream.has(callerOf(exchange), server)) return answerMessage(parts, exchange, server);
        const barred = parts.upstream.barred(callerOf(exchange), server);
        if (barred !== null) return refuse(exchange.client, barred, []);
        const message = `There is no MCP server '${server.slice(0, 64)}' that this key may use.`;
        return refuse(exchange.client, { kind: 'not-found', message }, []);
      },
    },
  ];
}

async function answerMessage(parts: ServedParts, exchange: Exchange, only: string | null): Promise<void> {
  const leaving = new AbortController();
  const { client } = exchange;
  client.onDisconnect(() => leaving.abort());
  const raw = await readJsonBody(exchange, bodyBytesMax);
  if (raw === null) return;
  const message = Buffer.isBuffer(raw) ? messageIn(raw) : raw;
  // The call that a message makes is counted as itself. What makes none counts as one call.
  const calls = !isFailure(message) && typeof message.rpc.method === 'string' && callingMethods.has(message.rpc.method);
  const full = calls ? null : await countedAsOne(parts, exchange);
  if (full !== null) return refuse(client, full, []);
  if (isFailure(message)) return refuse(client, message, []);
  const { rpc } = message;
  if (!calls && rpc.method !== 'completion/complete')
    return answerWithoutCall(parts, exchange, only, rpc, leaving.signal);
  const answer = new EventedAnswer(exchange, rpc);
  const name = nameOfCall(exchange, rpc.id);
  const ended = name === null ? null : parts.running.add(name, () => leaving.abort(cancelled));
  let made = 0;
  answer.waits();
  try {
    const news = await newsOf(parts, exchange, rpc, answer);
    const done = await answered(parts, exchange, only, rpc, leaving.signal, (call, signal) => {
      made += 1;
      return callApi(parts, exchange, call, signal, news);
    });
    if (done === null) return leaving.signal.reason === cancelled ? answer.endEmpty() : undefined;
    const late = calls && made === 0 ? await countedAsOne(parts, exchange) : null;
    if (late !== null) return refuse(client, late, []);
    answer.end(done);
  } finally {
    ended?.();
  }
}

/** Reason of a signal: the sender has cancelled the call, and is still there. */
const cancelled = new Error('the sender cancelled the call');

async function answerWithoutCall(
  parts: ServedParts,
  exchange: Exchange,
  only: string | null,
  rpc: JsonObject,
  signal: AbortSignal,
): Promise<void> {
  if (rpc.method === 'notifications/cancelled' && isObject(rpc.params)) {
    const name = nameOfCall(exchange, rpc.params.requestId);
    if (name !== null) parts.running.cancel(name);
  }
  const done = await answered(parts, exchange, only, rpc, signal, async () => null);
  if (done !== null) new EventedAnswer(exchange, rpc).end(done);
}

/** The answer to a message; null when its sender left. With all that it needs, loaded by the first who speaks it. */
async function answered(
  parts: ServedParts,
  exchange: Exchange,
  only: string | null,
  message: JsonObject,
  signal: AbortSignal,
  call: McpMessage['call'],
): Promise<McpAnswer | null> {
  const { answerMcp } = await import('../../tools/mcp/answer-mcp.ts');
  const { tenant } = callerOf(exchange);
  return answerMcp({
    message,
    headers: mcpHeadersOf(exchange),
    version: parts.version,
    offer: {
      only,
      lists: parts.upstream.none ? null : () => parts.upstream.lists(callerOf(exchange), only),
      instructions: () => parts.upstream.instructions(callerOf(exchange), only),
      complete: (params) => completedBy(parts, exchange, only, params, signal),
    },
    call,
    setLogLevel: (level) => parts.logLevels.keep(tenant, level),
    signal,
  });
}

/** Values from a server that the caller may use. Guards and hooks see calls: what they apply to gets no values. */
async function completedBy(
  { services, upstream }: ServedParts,
  exchange: Exchange,
  only: string | null,
  params: JsonObject,
  signal: AbortSignal,
): Promise<JsonObject> {
  const caller = callerOf(exchange);
  if (hasSteps(services, caller)) return { completion: { values: [] } };
  return upstream.complete(params, caller, only, signal);
}

/** News of the call that a message makes; undefined: its sender takes none. */
async function newsOf(
  { logLevels, services, upstream }: ServedParts,
  exchange: Exchange,
  message: JsonObject,
  answer: EventedAnswer,
): Promise<CallNews | undefined> {
  if (upstream.none || !answer.mayStream) return undefined;
  const [{ newsFor }, { statedLogLevel }] = await Promise.all([
    import('../../tools/mcp/call-news.ts'),
    import('../../tools/mcp/answer-stateless.ts'),
  ]);
  const caller = callerOf(exchange);
  const logLevel = statedLogLevel(message, mcpHeadersOf(exchange), await logLevels.find(caller.tenant));
  // Guards and hooks see answers: a text of a server would pass them by.
  const mayHaveTexts = !hasSteps(services, caller);
  return newsFor({ message, logLevel, mayHaveTexts, send: (one) => answer.notify(one) }) ?? undefined;
}

/** Whether guards or hooks apply to the caller. */
function hasSteps({ snapshots }: McpParts['services'], caller: Principal): boolean {
  return (snapshots.current.steps?.of(caller, null) ?? null) !== null;
}

function mcpHeadersOf(exchange: Exchange): McpHeaders {
  return {
    protocolVersion: headerOf(exchange, 'mcp-protocol-version'),
    method: headerOf(exchange, 'mcp-method'),
    name: headerOf(exchange, 'mcp-name'),
  };
}

/** No other tenant, and no other path, has a message of the same name. Null: it has no id. */
function nameOfCall(exchange: Exchange, id: JsonValue | undefined): string | null {
  if (typeof id !== 'string' && typeof id !== 'number') return null;
  return JSON.stringify([callerOf(exchange).tenant, exchange.path, id]);
}

/** Methods whose messages make a call of our own API, unless something is wrong with them. */
const callingMethods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** Null: it is counted in requests per minute; else why it is refused. */
async function countedAsOne({ services }: McpParts, { principal, requestId }: Exchange): Promise<Failure | null> {
  const admitted = await services.admission.admit(callerOf({ principal }), 'message', { requestId, form: 'openai' });
  if (admitted.kind !== 'admitted') return admitted;
  admitted.release();
  return null;
}

function messageIn(raw: Buffer): Failure | { rpc: JsonObject } {
  const read = rpcBody(raw);
  if (isFailure(read)) return read;
  const { id = '', method } = read.rpc;
  if (method === undefined || typeof id === 'string' || Number.isInteger(id)) return read;
  return invalid('id', "'id' must be a string or a whole number.");
}

/**
 * Runs the route's handler as if the outer call's caller had sent this request: admitted, checked, done and charged as
 * such. Null when the caller left before there was an answer.
 */
async function callApi(
  { routes, services, onUnexpected }: McpParts,
  outer: Exchange,
  { method, path, params, search, body }: ApiCall,
  signal: AbortSignal,
  mcpNews?: CallNews,
): Promise<{ status: number; body: JsonValue } | null> {
  const { admission, clock } = services;
  const route = routes().find((one) => one.method === method && one.path === path)!;
  const { requestId, principal } = outer;
  const failed = (failure: Failure) => {
    const body = route.dialect.errorBody(failure, errorContextOf(outer, clock.wallMs()));
    return { status: statusOf(failure), body: body as JsonValue };
  };
  const refusal = (failure: Failure) => {
    const nowMs = clock.wallMs();
    outer.onRefused(refusalOf({ ...outer, route }, failure, factsOf(failure, nowMs), nowMs));
    return failed(failure);
  };
  const givenBody = body === null ? null : bytesOf(body);
  if (givenBody === 'too deep') return refusal(invalid(null, 'The arguments are nested too deeply.'));
  const admitted =
    route.quota === 'none'
      ? null
      : await admission.admit(callerOf({ principal }), route.quota, { requestId, form: 'openai' });
  if (admitted !== null && admitted.kind !== 'admitted') return refusal(admitted);
  let outcome: Outcome | null;
  try {
    const exchange = { ...outer, route, params, search, path, givenBody, admitted, ...(mcpNews && { mcpNews }) };
    outcome = await bufferAnswer(signal, new BufferedAnswer(), (client) => route.handle({ ...exchange, client }));
  } catch (error) {
    onUnexpected(error, requestId, outer.trace);
    return refusal({ kind: 'internal' });
  } finally {
    admitted?.release();
  }
  if (outcome === null) return null;
  if (outcome.kind === 'answered')
    return { status: outcome.status, body: JSON.parse(outcome.body.toString()) as JsonValue };
  return admitted?.booked === true ? failed(outcome.failure) : refusal(outcome.failure);
}

function bytesOf(body: JsonObject): Buffer | 'too deep' {
  try {
    return Buffer.from(JSON.stringify(body));
  } catch {
    return 'too deep';
  }
}

const rpcParseError = -32_700;
const rpcInvalidRequest = -32_600;
const rpcServerError = -32_000;

/** JSON-RPC's errors, ours whole in `data`; also where no message could be read, so without an id. */
const mcpErrors: Route['dialect'] = {
  errorBody,
  errorFrame: (failure, context) => `event: message\ndata: ${JSON.stringify(errorBody(failure, context))}\n\n`,
};

function errorBody(failure: Failure, context: ErrorContext): JsonObject {
  const { error } = openAiChat.errorBody(failure, context);
  const invalidCode = 'code' in failure && failure.code === parseErrorCode ? rpcParseError : rpcInvalidRequest;
  const code = failure.kind === 'invalid-request' ? invalidCode : rpcServerError;
  const { message } = factsOf(failure, context.nowMs);
  return { jsonrpc: '2.0', error: { code, message, data: error ?? null }, id: context.rpcId ?? null };
}

interface Snapshots {
  readonly current: Pick<Snapshot, 'config'>;
}

const metadata = '/.well-known/oauth-protected-resource';

/** `WWW-Authenticate` of a 401 at `/mcp`: where an assistant finds out which login servers give tokens, if any do. */
function mcpChallenge(snapshots: Snapshots): (exchange: Pick<Exchange, 'request' | 'path'>) => string {
  return ({ request, path }) => {
    const { callers, server } = snapshots.current.config;
    if (callers.tokens.length === 0) return 'Bearer';
    return `Bearer resource_metadata="${linkBaseOf(request, server)}${metadata}${path.replaceAll('"', '%22')}"`;
  };
}

/** `GET /.well-known/oauth-protected-resource/mcp` (RFC 9728): the login servers of `callers.tokens`. 404 without any. */
function mcpAuthorizationRoutes(snapshots: Snapshots): Route[] {
  const summary = 'OAuth protected resource metadata: who gives tokens for the Model Context Protocol';
  return ['/mcp', '/mcp/:server'].map((path) =>
    openRoute(`GET ${metadata}${path}`, summary, (exchange) => {
      const { callers, server } = snapshots.current.config;
      if (callers.tokens.length === 0) {
        const message = 'No login server gives tokens for this server: `callers.tokens` names none. Send a key.';
        return refuse(exchange.client, { kind: 'not-found', message }, []);
      }
      const document = {
        resource: linkBaseOf(exchange.request, server) + exchange.path.slice(metadata.length),
        authorization_servers: callers.tokens.map(({ issuer }) => issuer),
        bearer_methods_supported: ['header'],
      };
      writeAnswer(exchange, 200, [], JSON.stringify(document));
    }),
  );
}
