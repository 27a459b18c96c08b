import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  type CallToolResult,
  CallToolResultSchema,
  ErrorCode,
  ListToolsResultSchema,
  McpError,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import type { JsonSchemaValidator, jsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/types.js';
import { codeOf } from '../inference/transport/transport-error.ts';
import type { JsonObject } from '../kernel/json.ts';
import { Blocked } from './guarded-connect.ts';
import { type McpFault, mcpFault } from './mcp-fault.ts';
import { callInProgress, type McpFetch } from './mcp-fetch.ts';

/** Tools and results as MCP writes them. */
export type { CallToolResult as McpResult, Tool as McpTool };

/** A session with one MCP server. Nothing rejects: what goes wrong is a fault. Calls run side by side. */
export interface McpSession {
  /** All pages of its list, up to `toolsMax`. */
  listTools(bounds: CallBounds): Promise<readonly Tool[] | McpFault>;
  /** A call that the tool itself could not do is a result with `isError`. */
  callTool(name: string, args: JsonObject, bounds: CallBounds): Promise<CallToolResult | McpFault>;
  /** Ends running calls. */
  close(): Promise<void>;
}

export interface CallBounds {
  /** For all of it. The server is told that nobody waits any more. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** Tools of one server that are listed; the others are left out. */
const toolsMax = 1_000;

/** Servers that cannot do what a newer client offers are asked for less. The server may ask nothing of us. */
export async function openSession(
  transport: Transport,
  { version, timeoutMs, signal }: CallBounds & { version: string },
): Promise<McpSession | McpFault> {
  const client = new Client({ name: 'culvert', version }, { jsonSchemaValidator: trustingValidator });
  const fault = await within({ timeoutMs, signal }, (options) => client.connect(transport, options).then(() => null));
  if (fault !== null) {
    await client.close();
    return fault;
  }
  return {
    async listTools(bounds) {
      return within(bounds, async (options) => {
        const tools: Tool[] = [];
        for (let cursor: string | undefined; tools.length < toolsMax; ) {
          const params = cursor === undefined ? {} : { cursor };
          const page = await client.request({ method: 'tools/list', params }, ListToolsResultSchema, options);
          tools.push(...page.tools);
          cursor = page.nextCursor;
          if (cursor === undefined || page.tools.length === 0) break;
        }
        return tools.slice(0, toolsMax);
      });
    },
    callTool(name, args, bounds) {
      const params = { name, arguments: args };
      return within(bounds, (options) =>
        client.request({ method: 'tools/call', params }, CallToolResultSchema, options),
      );
    },
    close: () => client.close(),
  };
}

/** `headers`: of every message. */
export async function openHttpSession(
  url: URL,
  http: McpFetch,
  { headers, ...bounds }: CallBounds & { version: string; headers: Readonly<Record<string, string>> },
): Promise<McpSession | McpFault> {
  const transport = new StreamableHTTPClientTransport(url, { fetch: http.fetch, requestInit: { headers } });
  // The SDK's class says `sessionId: string | undefined`, where its interface has a member that may be absent.
  return openSession(transport as Transport, bounds);
}

/** The SDK's own makes code of the schemas of strangers. */
const trustingValidator: jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};

async function within<T>(
  { timeoutMs, signal }: CallBounds,
  work: (options: RequestOptions) => Promise<T>,
): Promise<T | McpFault> {
  const ending = new AbortController();
  let fault: McpFault | null = null;
  const fail = (why: McpFault) => {
    fault ??= why;
    ending.abort(why.message);
  };
  const leave = () => fail(mcpFault('aborted', 'was not waited for'));
  if (signal?.aborted) return mcpFault('aborted', 'was not waited for');
  const timer = setTimeout(() => fail(mcpFault('timeout', `took longer than ${timeoutMs / 1_000} s`)), timeoutMs);
  signal?.addEventListener('abort', leave, { once: true });
  // The SDK's own timer is behind ours.
  const options = { signal: ending.signal, timeout: timeoutMs + 1_000 };
  try {
    return await callInProgress.run({ signal: ending.signal, fail }, () => work(options));
  } catch (error) {
    return fault ?? faultOf(error);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', leave);
  }
}

/** Words of a server in a message. */
const wordsMax = 500;

function faultOf(error: unknown): McpFault {
  if (error instanceof StreamableHTTPError) return faultOfStatus(error.code ?? 0);
  if (error instanceof McpError) {
    if (error.code === ErrorCode.ConnectionClosed) return mcpFault('unreachable', 'closed the connection');
    const words = error.message.replace(/^MCP error -?\d+: /, '').slice(0, wordsMax);
    return mcpFault('refused', `refused: ${words} (${error.code})`);
  }
  const { cause } = error as { cause?: unknown };
  if (cause instanceof Blocked) return mcpFault('blocked', `may not be asked: ${cause.message}`);
  if (error instanceof TypeError && cause !== undefined) {
    return mcpFault('unreachable', `could not be reached (${codeOf(cause)})`);
  }
  return mcpFault('broken', 'answered with what is no message of MCP');
}

function faultOfStatus(status: number): McpFault {
  if (status === 401 || status === 403) return mcpFault('unauthorized', `wants other credentials (${status})`);
  // Its sessions end so. A first message gets it where there is no server of MCP.
  if (status === 404) return mcpFault('session-lost', 'knows no such session (404)');
  if (status < 300) return mcpFault('broken', 'answered with what is no message of MCP');
  return mcpFault('refused', `answered ${status}`);
}
