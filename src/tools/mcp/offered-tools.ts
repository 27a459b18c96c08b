import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import type { McpMessage } from './answer-mcp.ts';
import { mcpTools } from './mcp-tools.ts';

export const instructions =
  'Web search, reading of pages and sites, a vector store, and the list of models, of one Culvert gateway. Calls count against the quota of the key.';

/** As an assistant sees them. */
export const listedTools = mcpTools.map(({ name, title, description, input, annotations }) => ({
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

/** A failed call is for the assistant to read: a result that is an error, not an error of the protocol. */
export async function callTool(
  { call, signal }: Pick<McpMessage, 'call' | 'signal'>,
  name: string,
  args: JsonObject,
): Promise<CallToolResult> {
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
