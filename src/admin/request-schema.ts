import { z } from 'zod';
import { listOf } from './fields.ts';

const routeSchema = z.looseObject({
  verdicts: z
    .array(z.object({ target: z.string(), verdict: z.string() }))
    .optional()
    .describe('Every target that was considered, and why it was not asked, or when.'),
  attempts: z
    .array(
      z.looseObject({
        target: z.string(),
        provider: z.string(),
        model: z.string(),
        credential: z.string(),
        class: z.string().describe('ok, or how it failed.'),
        status: z.number().nullable(),
        startMs: z
          .number()
          .nullable()
          .describe('From the arrival of the request to dispatch; null in records of earlier versions.'),
        ms: z.number().describe('From dispatch to its end.'),
        firstTokenMs: z.number().nullable(),
        bytes: z.number(),
        costUsd: z.number().nullable(),
        message: z.string().nullable().describe('What the upstream said.'),
      }),
    )
    .describe('In the order of their ends; some may have run concurrently.'),
  losses: z
    .array(z.object({ field: z.string(), why: z.string() }))
    .optional()
    .describe('Fields that the conversion between formats dropped.'),
  mcp: z
    .object({
      server: z.string(),
      kind: z.enum(['tool', 'prompt', 'resource']),
      name: z.string().nullable().describe('Its own name; null: a resource.'),
      host: z.string().nullable().describe('Of a server that the caller named by URL.'),
      outcome: z
        .string()
        .nullable()
        .describe('ok, tool-error (the tool said so), or why there is no result; null: nobody waited for it.'),
      bytes: z.number().describe('Of the result.'),
    })
    .optional()
    .describe('Of a call of an MCP server: what was called. Arguments and results are not kept.'),
  passThrough: z.boolean().optional().describe("The upstream's bytes went out as they were."),
});

export const requestSchema = z
  .looseObject({
    object: z.literal('request'),
    id: z.string(),
    account: z.string(),
    key: z.string().describe('Id of the key.'),
    tenant: z.string(),
    created_at: z.string(),
    endpoint: z.string(),
    model: z.string(),
    target: z.string().nullable(),
    client_request_id: z.string().nullable(),
    tier: z.string().nullable(),
    status: z.int().describe('The status that the caller got; 499: the client disconnected before.'),
    class: z.string().describe('ok, or the failure.'),
    stream: z.boolean(),
    aborted: z.boolean().describe('The client disconnected before the end.'),
    ms: z.int(),
    first_token_ms: z.int().nullable(),
    usage: z.looseObject({
      input_tokens: z.int(),
      output_tokens: z.int(),
      cached_input_tokens: z.int(),
      reasoning_tokens: z.int(),
      source: z
        .string()
        .describe('Who counted: upstream, counted, estimated, abandoned, none; refused: nothing was run.'),
    }),
    units: z.number(),
    cost_usd: z.number().nullable(),
    user: z.string().nullable(),
    tag: z.string().nullable(),
    route: routeSchema.describe('What routing did and why.'),
  })
  .describe('One settled request, as GET /v1/requests/{id} shows it, with whose it is.');

const bodiesSchema = z.object({
  status: z.int(),
  request: z.string(),
  answer: z.string(),
  error: z.string().nullable(),
});

export const lookedAtSchema = requestSchema.extend({
  bodies: bodiesSchema.nullable().describe('What the caller sent and got, if `telemetry.log.bodies` names its key.'),
  bodies_note: z.string().nullable().describe('Why there are no bodies.'),
});

export const requestListReply = listOf(requestSchema).extend({
  tail: z.string().nullable().describe('For `after`, to ask for what is newer than this answer; null: ask without it.'),
});

/** For pages that show them. */
export type RequestReply = z.output<typeof lookedAtSchema>;
export type RequestListReply = z.output<typeof requestListReply>;
