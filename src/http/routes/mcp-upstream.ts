import type { Principal } from '../../auth/principal.ts';
import { withCost } from '../../inference/spine/answer.ts';
import { refuse, sendWhole } from '../../inference/spine/sink.ts';
import { type Failure, FailureError, invalid, statusOf } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { parseObject } from '../../kernel/parse-object.ts';
import { type McpEnd, outcomeOf, type UpstreamCall, type UpstreamTools } from '../../tools/mcp/upstream-tools.ts';
import type { ToolEnd, ToolMeter } from '../../tools/tool-call.ts';
import { ToolFields } from '../../tools/tool-fields.ts';
import type { Exchange, Route } from '../exchange.ts';
import { readJsonBody } from '../read-body.ts';
import { writeJson } from '../write-json.ts';
import { left, type MeteredCall, meteredCallOf, unexpected } from './metered-call.ts';
import { toolErrors } from './tool-errors.ts';

export interface McpUpstreamParts {
  upstream: UpstreamTools;
  meter: ToolMeter<MeteredCall>;
}

const bodyBytesMax = 1024 * 1024;

const bodySchema = {
  type: 'object',
  properties: {
    tool: { type: 'string', description: 'A tool, as GET /v1/mcp/tools names it.' },
    prompt: { type: 'string', description: 'A prompt instead.' },
    resource: { type: 'string', description: 'The address of a resource instead.' },
    arguments: { type: 'object', description: 'Of the tool or prompt.' },
  },
} as const;

/** Tools, prompts and resources of MCP servers elsewhere, without MCP: what `/mcp` makes of its messages. */
export function mcpUpstreamRoutes(parts: McpUpstreamParts): Route[] {
  const shared = { auth: 'key', dialect: toolErrors } as const;
  return [
    {
      ...shared,
      method: 'GET',
      path: '/v1/mcp/tools',
      quota: 'free',
      summary: 'Tools, prompts and resources of the MCP servers that the key may use',
      async handle(exchange) {
        writeJson(exchange, 200, (await parts.upstream.lists(exchange.principal!, null)) as unknown as JsonObject);
      },
    },
    {
      ...shared,
      method: 'POST',
      path: '/v1/mcp/call',
      quota: 'one',
      endpoint: 'mcp-call',
      summary: 'Calls a tool of an MCP server, gets a prompt of it, or reads a resource',
      body: { schema: () => bodySchema },
      handle: (exchange) => answerCall(parts, exchange),
    },
  ];
}

/** Body → checked → held → asked → answered → settled. */
async function answerCall({ upstream, meter }: McpUpstreamParts, exchange: Exchange): Promise<void> {
  const { client } = exchange;
  const call = meteredCallOf(exchange);
  const { admitted } = call;
  const raw = await readJsonBody(exchange, bodyBytesMax);
  if (raw === null) return;
  if (!Buffer.isBuffer(raw)) return refuse(client, raw, admitted.headers);
  const prepared = await prepare(upstream, raw, call.principal);
  if ('kind' in prepared) return refuse(client, prepared, admitted.headers);
  const hold = await meter.hold(call, { tool: 'mcp', pagesMax: 0, about: prepared.about, mcp: prepared.called });
  if (hold.kind !== 'held') return refuse(client, hold, admitted.headers);
  let end: ToolEnd = unexpected;
  try {
    const leaving = new AbortController();
    client.onGone(() => leaving.abort());
    const done = client.gone ? null : await prepared.run(leaving.signal);
    const body = done === null ? null : bodyOf(prepared, done);
    const mcp = done === null ? { outcome: null, bytes: 0 } : { outcome: outcomeOf(done), bytes: bytesOf(body) };
    if (body === null || client.gone) end = { ...left, mcp };
    else if (Buffer.isBuffer(body)) {
      sendWhole(client, hold.headers, body);
      end = { status: 200, failure: null, aborted: false, mcp };
    } else {
      refuse(client, body, withCost(hold.headers, 0));
      end = { status: statusOf(body), failure: body, aborted: false, mcp };
    }
  } finally {
    hold.settle(end);
  }
}

async function prepare(upstream: UpstreamTools, raw: Buffer, principal: Principal): Promise<UpstreamCall | Failure> {
  const parsed = parseObject(raw);
  if (!parsed.ok) return parsed.failure;
  const fields = new ToolFields(parsed.value.body);
  try {
    const prepared = await upstream.prepare(fields, principal);
    const unknown = fields.unknownWarning();
    return unknown === null ? prepared : invalid(fields.unknown()[0]!, unknown.replace(' and were ignored', ''));
  } catch (error) {
    if (error instanceof FailureError) return error.failure;
    throw error;
  }
}

function bodyOf({ about }: UpstreamCall, done: McpEnd): Buffer | Failure {
  if (done.kind === 'failed') return done.failure;
  try {
    return Buffer.from(JSON.stringify(done.result));
  } catch {
    // Nested deeper than the stack: a parser takes it, a writer does not.
    return { kind: 'mcp-failed', server: about, message: `The answer of '${about}' is nested too deeply.` };
  }
}

function bytesOf(body: Buffer | Failure | null): number {
  return Buffer.isBuffer(body) ? body.length : 0;
}
