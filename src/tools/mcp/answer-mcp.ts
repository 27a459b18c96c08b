import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { ErrorCode, SetLevelRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import { answerStateless, statedVersion } from './answer-stateless.ts';
import type { McpAnswer, McpMessage } from './mcp-message.ts';
import { capabilitiesOf, describedOffer, methodsFor, RpcFault } from './mcp-methods.ts';
import { trustingValidator } from './trusting-validator.ts';

/** Answers one message of MCP's Streamable HTTP, without a session. Null when its sender left before the end. */
export function answerMcp(given: McpMessage): Promise<McpAnswer | null> {
  const request = { ...given, message: withoutNulls(given.message) };
  const version = statedVersion(request.message, request.headers);
  return version === null ? answerInitialized(request) : answerStateless(request, version);
}

/** Answers messages of the revisions up to 2025-11-25. */
async function answerInitialized(request: McpMessage): Promise<McpAnswer | null> {
  const { signal, offer } = request;
  const described = request.message.method === 'initialize' ? await describedOffer(offer) : capabilitiesOf(offer);
  const options = { ...described, jsonSchemaValidator: trustingValidator };
  const server = new Server({ name: 'culvert', version: request.version }, options);
  const methods = methodsFor(request);
  /** The call that the message made, if any: it must have settled before we go. */
  let running: Promise<unknown> | null = null;
  server.fallbackRequestHandler = ({ method, params = {} }) => {
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (run === undefined) throw new RpcFault(ErrorCode.MethodNotFound, 'Method not found');
    const done = run(params as JsonObject);
    running = done;
    return done;
  };
  if (described.capabilities.logging !== undefined) {
    server.setRequestHandler(SetLevelRequestSchema, async ({ params: { level } }) => {
      await request.setLogLevel(level);
      return {};
    });
  }
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    const response = await Promise.race([
      transport.handleRequest(requestOf(request), { parsedBody: request.message }),
      left(signal),
    ]);
    if (response !== null) return { status: response.status, body: await response.text() };
    await Promise.allSettled([running]);
    return null;
  } finally {
    await server.close();
  }
}

/** Clients in languages without an absent member say `arguments: null`, which JSON-RPC's readers take for a fault. */
function withoutNulls(message: JsonObject): JsonObject {
  if (!isObject(message.params)) {
    if (message.params !== null) return message;
    const { params: _, ...rest } = message;
    return rest;
  }
  const present = Object.entries(message.params).filter(([, value]) => value !== null);
  return { ...message, params: Object.fromEntries(present) };
}

function requestOf({ headers: { protocolVersion } }: McpMessage): Request {
  const headers = new Headers({ 'content-type': 'application/json', accept: 'application/json, text/event-stream' });
  if (protocolVersion !== undefined) headers.set('mcp-protocol-version', protocolVersion);
  return new Request('http://culvert.invalid/mcp', { method: 'POST', headers });
}

function left(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    signal.addEventListener('abort', () => resolve(null), { once: true });
  });
}
