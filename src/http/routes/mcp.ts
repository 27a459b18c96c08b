import type { Admission } from '../../books/metering/admission.ts';
import { openAiChat } from '../../formats/dialects/openai-chat/index.ts';
import { BufferedAnswer, bufferAnswer, type Outcome } from '../../inference/spine/buffered-answer.ts';
import { refuse, sendWhole } from '../../inference/spine/sink.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type ErrorContext, type Failure, factsOf, invalid, isFailure, statusOf } from '../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import { parseObject } from '../../kernel/parse-object.ts';
import type { Trace } from '../../kernel/trace.ts';
import type { ApiCall } from '../../tools/mcp/mcp-tools.ts';
import type { UpstreamTools } from '../../tools/mcp/upstream-tools.ts';
import { callerOf, type Exchange, errorContextOf, headerOf, type Route } from '../exchange.ts';
import { readJsonBody } from '../read-body.ts';
import { refusalOf } from '../refusal.ts';

export interface McpParts {
  /** The whole route table: tools are calls of it. */
  routes(): readonly Route[];
  admission: Admission;
  upstream: UpstreamTools;
  clock: Clock;
  version: string;
  /** Called for unexpected errors; the caller got a result with the request id. */
  onUnexpected(error: unknown, requestId: string, trace: Trace | null): void;
}

/** Bound for what an assistant writes. Whole files go by the REST API. */
const bodyBytesMax = 1024 * 1024;

/**
 * `POST /mcp`: MCP's Streamable HTTP without sessions, so GET and DELETE are 405. A message costs and counts what the
 * call that its tool is does. The rest of the protocol costs nothing, and counts in requests per minute. `/mcp/NAME` offers one other server alone.
 */
export function mcpRoutes(parts: McpParts): Route[] {
  const shared = { method: 'POST', auth: 'key', quota: 'free', endpoint: 'mcp', dialect: mcpErrors } as const;
  return [
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

async function answerMessage(parts: McpParts, exchange: Exchange, only: string | null): Promise<void> {
  const leaving = new AbortController();
  const { client } = exchange;
  client.onDisconnect(() => leaving.abort());
  const raw = await readJsonBody(exchange, bodyBytesMax);
  if (raw === null) return;
  const message = Buffer.isBuffer(raw) ? messageIn(raw) : raw;
  // The call that a message makes is counted as itself. What makes none counts as one call.
  const calls = !isFailure(message) && makesCall(message.rpc.method);
  const full = calls ? null : await countedAsOne(parts, exchange);
  if (full !== null) return refuse(client, full, []);
  if (isFailure(message)) return refuse(client, message, []);
  let made = 0;
  // With all that it needs, loaded by the first who speaks it.
  const { answerMcp } = await import('../../tools/mcp/answer-mcp.ts');
  const answer = await answerMcp({
    message: message.rpc,
    headers: {
      protocolVersion: headerOf(exchange, 'mcp-protocol-version'),
      method: headerOf(exchange, 'mcp-method'),
      name: headerOf(exchange, 'mcp-name'),
    },
    version: parts.version,
    offer: {
      only,
      lists: parts.upstream.none ? null : () => parts.upstream.lists(callerOf(exchange), only),
      instructions: () => parts.upstream.instructions(callerOf(exchange), only),
    },
    call(call, signal) {
      made += 1;
      return callApi(parts, exchange, call, signal);
    },
    signal: leaving.signal,
  });
  if (answer === null) return;
  const late = calls && made === 0 ? await countedAsOne(parts, exchange) : null;
  if (late !== null) return refuse(client, late, []);
  const headers = answer.body === '' ? [] : ['content-type', 'application/json'];
  sendWhole(client, headers, answer.body, answer.status);
}

/** Methods whose messages make a call of our own API, unless something is wrong with them. */
const callingMethods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

function makesCall(method: JsonValue | undefined): boolean {
  return typeof method === 'string' && callingMethods.has(method);
}

/** Null: it is counted in requests per minute; else why it is refused. */
async function countedAsOne({ admission }: McpParts, { principal, requestId }: Exchange): Promise<Failure | null> {
  const admitted = await admission.admit(callerOf({ principal }), 'message', { requestId, form: 'openai' });
  if (admitted.kind !== 'admitted') return admitted;
  admitted.release();
  return null;
}

function messageIn(raw: Buffer): Failure | { rpc: JsonObject } {
  // The protocol has done away with batches: each of their messages would be a call.
  if (/^\s*\[/.test(raw.subarray(0, 64).toString('latin1'))) {
    return invalid(null, 'The request body must be one JSON-RPC message: an object. Batches are not supported.');
  }
  const parsed = parseObject(raw);
  if (!isFailure(parsed)) {
    const { id = '', method } = parsed.body;
    if (method === undefined || typeof id === 'string' || Number.isInteger(id)) return { rpc: parsed.body };
    return invalid('id', "'id' must be a string or a whole number.");
  }
  const isSyntax = parsed.kind === 'invalid-request' && parsed.isJson === false;
  return isSyntax ? { ...parsed, code: parseErrorCode } : parsed;
}

/**
 * Runs the route's handler as if the outer call's caller had sent this request: admitted, checked, done and charged as
 * such. Null when the caller left before there was an answer.
 */
async function callApi(
  { routes, admission, clock, onUnexpected }: McpParts,
  outer: Exchange,
  { method, path, params, search, body }: ApiCall,
  signal: AbortSignal,
): Promise<{ status: number; body: JsonValue } | null> {
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
    const exchange = { ...outer, route, params, search, path, givenBody, admitted };
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

const parseErrorCode = 'parse_error';

/** JSON-RPC's errors, ours whole in `data`; also where no message could be read, so without an id. */
const mcpErrors: Route['dialect'] = {
  errorBody,
  // Nothing here streams.
  errorFrame: (failure, context) => JSON.stringify(errorBody(failure, context)),
};

function errorBody(failure: Failure, context: ErrorContext): JsonObject {
  const { error } = openAiChat.errorBody(failure, context);
  const invalidCode = 'code' in failure && failure.code === parseErrorCode ? rpcParseError : rpcInvalidRequest;
  const code = failure.kind === 'invalid-request' ? invalidCode : rpcServerError;
  const { message } = factsOf(failure, context.nowMs);
  return { jsonrpc: '2.0', error: { code, message, data: error ?? null }, id: null };
}
