import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import { type ApiCall, mcpTools } from './mcp-tools.ts';

/** Our own tools, as an assistant sees them. */
export const gatewayTools: readonly Tool[] = mcpTools.map(({ name, title, description, input, annotations }) => ({
  name,
  title,
  description,
  inputSchema: {
    ...z.toJSONSchema(input, { override: withoutSafeBounds }),
    type: 'object' as const,
  } as Tool['inputSchema'],
  annotations: { title, ...annotations },
}));

/** Zod writes the bounds of its whole numbers down, which say nothing to an assistant and overflow some clients' types. */
function withoutSafeBounds({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

/** Members of a method's result: ours, or another server's as they are. */
export type McpResult = CallToolResult | JsonObject;

/** A call of our API, and its result for the assistant. */
export interface ToolWork {
  call: ApiCall;
  /** The result of an answer that is no error. */
  resultOf(body: JsonObject): McpResult;
}

/** A string says what is wrong with the arguments. Null: we have no such tool. */
export function gatewayToolWork(name: string, args: JsonObject): ToolWork | string | null {
  const tool = mcpTools.find((one) => one.name === name);
  if (tool === undefined) return null;
  const call = tool.callOf(args);
  if (typeof call === 'string') return call;
  return {
    call,
    resultOf(body) {
      const picture = tool.pictureOf?.(body) ?? null;
      const rest = picture?.rest ?? body;
      return {
        content: [
          { type: 'text', text: tool.textOf(rest) },
          ...(picture === null ? [] : [{ type: 'image' as const, data: picture.png, mimeType: 'image/png' }]),
        ],
        structuredContent: rest,
      };
    },
  };
}

/** A failed call is for the assistant to read: a result that is an error, not an error of the protocol. */
export function failedResult(message: string): CallToolResult {
  return { content: [{ type: 'text', text: message }], isError: true };
}

/** OpenAI's `error.message`, and Qdrant's `status.error`. */
export function messageIn({ error, status: inEnvelope }: JsonObject, status: number): string {
  const message = isObject(error) ? error.message : isObject(inEnvelope) ? inEnvelope.error : null;
  return typeof message === 'string' ? message : `The call failed (${status}).`;
}
