import { type McpOrder, mcpEndpoint } from '../../inference/families/mcp/mcp-endpoint.ts';
import type { ServeServices } from '../../inference/spine/answer-cache.ts';
import { madeOrder } from '../../inference/spine/readable-input.ts';
import { serve } from '../../inference/spine/serve.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { FailureError, invalid, isFailure } from '../../kernel/failure.ts';
import { parseObject } from '../../kernel/parse-object.ts';
import type { CallNews } from '../../tools/mcp/call-news.ts';
import { withPlacedUris } from '../../tools/mcp/placed-uris.ts';
import type { UpstreamCall, UpstreamTools } from '../../tools/mcp/upstream-tools.ts';
import { ToolFields } from '../../tools/tool-fields.ts';
import { callerOf, type Exchange, type Route } from '../exchange.ts';
import { plainCallOf } from '../model-call.ts';
import { readJsonBody } from '../read-body.ts';
import { writeJson } from '../write-json.ts';
import { keyRoute } from './key-route.ts';
import { toolErrors } from './tools/tool-errors.ts';

export interface McpUpstreamParts {
  services: ServeServices;
  upstream: UpstreamTools;
}

const bodyBytesMax = 1024 * 1024;

const bodySchema = {
  type: 'object',
  properties: {
    tool: { type: 'string', description: 'A tool, as GET /v1/mcp/tools names it.' },
    prompt: { type: 'string', description: 'A prompt instead.' },
    resource: { type: 'string', description: 'The address of a resource instead.' },
    arguments: { type: 'object', description: 'Of the tool or prompt.' },
    clientCapabilities: {
      type: 'object',
      description: "MCP's `elicitation`, `sampling` and `roots`: questions of the server that the caller answers.",
    },
    inputResponses: { type: 'object', description: 'Answers to these questions, where the call is repeated.' },
    requestState: { type: 'string', description: 'The state that came with them.' },
  },
} as const;

/** Tools, prompts and resources of MCP servers elsewhere, without MCP: what `/mcp` makes of its messages. */
export function mcpUpstreamRoutes(parts: McpUpstreamParts): Route[] {
  return [
    keyRoute('GET /v1/mcp/tools', 'free', {
      dialect: toolErrors,
      summary: 'Tools, prompts and resources of the MCP servers that the key may use',
      async handle(exchange) {
        writeJson(exchange, 200, await parts.upstream.lists(callerOf(exchange), null));
      },
    }),
    keyRoute('POST /v1/mcp/call', 'one', {
      dialect: toolErrors,
      endpoint: 'mcp-call',
      summary: 'Calls a tool of an MCP server, gets a prompt of it, or reads a resource',
      body: { schema: () => bodySchema },
      handle: (exchange) => answerCall(parts, exchange),
    }),
  ];
}

/** The same call, whose news go to its caller. */
function withNews(prepared: UpstreamCall, news: CallNews | undefined): UpstreamCall {
  return news === undefined ? prepared : { ...prepared, run: (signal) => prepared.run(signal, news) };
}

/** Body → checked → held → asked → answered → settled. */
async function answerCall({ services, upstream }: McpUpstreamParts, exchange: Exchange): Promise<void> {
  const call = plainCallOf(exchange);
  const { sink, admitted } = call;
  const raw = await readJsonBody(exchange, bodyBytesMax);
  if (raw === null) return;
  const parsed = Buffer.isBuffer(raw) ? parseObject(raw) : raw;
  if (isFailure(parsed)) return refuse(sink, parsed, admitted.headers);
  let server = '';
  const order = madeOrder<McpOrder>('mcp-call', parsed.body, (received) => ({
    async prepare(principal) {
      const fields = new ToolFields(received);
      const prepared = await upstream.prepare(fields, principal);
      ({ server } = prepared.called);
      const unknown = fields.unknownWarning();
      if (unknown === null) return withNews(prepared, exchange.mcpNews);
      throw new FailureError(invalid(fields.unknown()[0]!, unknown.replace(' and were ignored', '')));
    },
    write: (result) => JSON.stringify(withPlacedUris(result, server)),
  }));
  await serve(services, mcpEndpoint, call, order);
}
