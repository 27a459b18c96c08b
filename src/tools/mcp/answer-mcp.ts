import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { CallToolRequestSchema, type CallToolResult, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { type ApiCall, mcpTools } from './mcp-tools.ts';

export interface McpMessage {
  /** JSON-RPC, parsed: one message. */
  message: JsonObject;
  /** Of the MCP-Protocol-Version header. */
  protocolVersion: string | undefined;
  version: string;
  /** Does a call of our own API for whoever sent the message; null when they left. */
  call(call: ApiCall, signal: AbortSignal): Promise<{ status: number; body: JsonValue } | null>;
  /** The sender left. */
  signal: AbortSignal;
}

export interface McpAnswer {
  status: number;
  /** JSON; '' for none. */
  body: string;
}

const instructions =
  'Web search, reading of pages and sites, a vector store, and the list of models, of one Culvert gateway. Calls count against the quota of the key.';

const listed = mcpTools.map(({ name, title, description, input, annotations }) => ({
  name,
  title,
  description,
  inputSchema: { ...z.toJSONSchema(input, { override: withoutSafeBounds }), type: 'object' as const },
  annotations: { title, ...annotations },
}));

/** Zod writes the bounds of its whole numbers down, which say nothing to an assistant and overflow some clients' types. */
function withoutSafeBounds({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

/** Answers one message of MCP's Streamable HTTP, without a session. Null when its sender left before the end. */
export async function answerMcp(asked: McpMessage): Promise<McpAnswer | null> {
  const { signal } = asked;
  const server = new Server({ name: 'culvert', version: asked.version }, { capabilities: { tools: {} }, instructions });
  /** The call that the message made, if any: it must have settled before we go. */
  let running: Promise<CallToolResult> | null = null;
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    running = callTool(asked, params.name, (params.arguments ?? {}) as JsonObject);
    return running;
  });
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    const response = await Promise.race([
      transport.handleRequest(requestOf(asked), { parsedBody: withoutNulls(asked.message) }),
      left(signal),
    ]);
    if (response !== null) return { status: response.status, body: await response.text() };
    await running;
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
  const said = Object.entries(message.params).filter(([, value]) => value !== null);
  return { ...message, params: Object.fromEntries(said) };
}

function requestOf({ protocolVersion }: McpMessage): Request {
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

/** What goes wrong in a call is for the assistant to read: a result that is an error, not an error of the protocol. */
async function callTool({ call, signal }: McpMessage, name: string, args: JsonObject): Promise<CallToolResult> {
  const tool = mcpTools.find((one) => one.name === name);
  if (tool === undefined) {
    const names = mcpTools.map((one) => one.name).join(', ');
    return failed(`There is no tool '${name.slice(0, 100)}'. Tools: ${names}.`);
  }
  const wanted = tool.callOf(args);
  if (typeof wanted === 'string') return failed(wanted);
  const answer = await call(wanted, signal);
  if (answer === null) return failed('The caller left.');
  const { status, body } = answer;
  if (!isObject(body)) return failed(`The answer could not be read (${status}).`);
  if (status >= 400) return { ...failed(messageIn(body, status)), structuredContent: body };
  const picture = tool.pictureOf?.(body) ?? null;
  const rest = picture?.rest ?? body;
  return {
    content: [
      { type: 'text', text: tool.textOf(rest) },
      ...(picture === null ? [] : [{ type: 'image' as const, data: picture.png, mimeType: 'image/png' }]),
    ],
    structuredContent: rest,
  };
}

function failed(message: string): CallToolResult {
  return { content: [{ type: 'text', text: message }], isError: true };
}

/** OpenAI's `error.message`, and Qdrant's `status.error`. */
function messageIn({ error, status: inEnvelope }: JsonObject, status: number): string {
  const message = isObject(error) ? error.message : isObject(inEnvelope) ? inEnvelope.error : null;
  return typeof message === 'string' ? message : `The call failed (${status}).`;
}
