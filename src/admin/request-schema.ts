import { z } from 'zod';
import { eventColumns, type FieldOf, type LedgerColumn, type Shown, type UsageEvent } from '../books/ledger/columns.ts';
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
  steps: z
    .array(z.string())
    .optional()
    .describe('What guards did: name of the header, its value, and so on. No text of the request is in it.'),
  mcp: z
    .object({
      server: z.string(),
      kind: z.enum(['tool', 'prompt', 'resource']),
      name: z.string().nullable().describe('Its own name; null: a resource.'),
      host: z.string().nullable().describe('Of a server that the caller named by URL.'),
      outcome: z
        .string()
        .nullable()
        .describe(
          'ok, tool-error (the tool said so), input-required (the server asked back), or why there is no result; null: nobody waited for it.',
        ),
      bytes: z.number().describe('Of the result.'),
    })
    .optional()
    .describe('Of a call of an MCP server: what was called. Arguments and results are not kept.'),
  agent: z
    .object({
      agent: z.string(),
      method: z.string().describe('As A2A names it.'),
      task: z
        .string()
        .nullable()
        .optional()
        .describe("The agent's id of the task; ids of callers begin with it. null: the message is of none."),
      outcome: z
        .string()
        .nullable()
        .describe('ok, an error of the protocol, or why there is no answer; null: nobody waited for it.'),
      bytes: z.number().describe('Of the answer.'),
    })
    .optional()
    .describe('Of a message to an agent: what was called. Neither the message nor the answer is kept.'),
  rules: z
    .object({
      applied: z.array(z.string()).describe('Names of the rules that applied.'),
      passed: z
        .array(z.object({ rule: z.string(), because: z.string() }))
        .optional()
        .describe('Rules that were tried and did not, with the first part of their condition that was not true.'),
      passedMore: z.number().optional().describe('Number of further ones, which are not in `passed`.'),
      classified: z
        .array(
          z.object({
            rule: z.string(),
            model: z.string().nullable().describe('Model of the nearest class; null: none was clearly the nearest.'),
            score: z.number().nullable().describe('Similarity, at most 1; null: there was no vector in time.'),
            observed: z.boolean().optional().describe('The rule only looks.'),
          }),
        )
        .optional()
        .describe('Classes that rules found for the request.'),
    })
    .optional()
    .describe('What rules for routes did.'),
  refused: z
    .object({
      message: z.string().describe('What the caller read.'),
      limit: z.string().optional().describe('The limit that was reached.'),
      by: z
        .object({ kind: z.enum(['plan', 'key', 'model', 'guard', 'rule']), name: z.string() })
        .optional()
        .describe('Whose setting refused it: the id of a key, or a name. Absent: no setting did.'),
    })
    .optional()
    .describe('Why the request was refused before anything ran.'),
  passThrough: z.boolean().optional().describe("The upstream's bytes went out as they were."),
});

type Column = (typeof eventColumns)[number];
type Unseen<C> = C extends readonly [unknown, 'route'] | readonly [unknown, unknown, unknown, { to: 'nobody' }]
  ? C
  : never;
type OfUsage<C> = C extends readonly [unknown, unknown, unknown, { in: 'usage' }] ? C : never;
type NameOf<C> = C extends readonly [unknown, unknown, unknown, { as: infer As extends string }]
  ? As
  : C extends readonly [infer Name extends string, ...unknown[]]
    ? Name
    : never;
type ValueOf<C> = C extends readonly [unknown, unknown, unknown, { by: (value: never) => infer Value }]
  ? Value
  : C extends readonly [infer Name extends string, ...unknown[]]
    ? UsageEvent[FieldOf<Name> & keyof UsageEvent]
    : never;
type Shape<Columns> = { [C in Columns as NameOf<C>]: z.ZodType<ValueOf<C>> };

/** The columns of the ledger that a record shows, in its usage or outside of it. */
function shapeOf(place: 'usage' | undefined): Record<string, z.ZodType> {
  const columns: readonly LedgerColumn[] = eventColumns;
  return Object.fromEntries(
    columns
      .filter(([, type, , shown]) => type !== 'route' && shown?.to !== 'nobody' && shown?.in === place)
      .map(([name, type, , shown]) => {
        const made = shown?.by === undefined ? null : typeof (shown as Shown).by?.(0);
        const value = made === null ? typed(type) : made === 'string' ? z.string() : z.number();
        const known = shown?.about === undefined ? value : value.describe(shown.about);
        return [shown?.as ?? name, shown?.unless === 'zero' ? known.optional() : known];
      }),
  );
}

function typed(type: LedgerColumn[1]): z.ZodType {
  const value = type.startsWith('text') ? z.string() : type.startsWith('whole') ? z.int() : z.number();
  return type === 'flag' ? z.boolean() : type.endsWith('?') ? value.nullable() : value;
}

export const requestSchema = z
  .looseObject({
    object: z.literal('request'),
    ...(shapeOf(undefined) as Shape<Exclude<Column, Unseen<Column> | OfUsage<Column>>>),
    usage: z.looseObject(shapeOf('usage') as Shape<OfUsage<Column>>),
    route: routeSchema.describe('What routing did and why.'),
  })
  .describe('One settled request, as GET /v1/requests/{id} shows it, with whose it is.');

const bodiesSchema = z.object({
  status: z.int(),
  request: z.string(),
  answer: z.string(),
  error: z.string().nullable(),
});

const mediaSchema = z.object({
  type: z.string().nullable(),
  base64: z.string().nullable(),
  url: z.string().nullable(),
});

const simplePart = z.object({
  type: z.enum([
    'text',
    'thought',
    'refusal',
    'tool-call',
    'tool-result',
    'image',
    'audio',
    'file',
    'citation',
    'other',
  ]),
  text: z.string().optional().describe("Its words, or a tool call's arguments as JSON."),
  name: z.string().optional().describe('Of a tool, a file, or a part of one vendor.'),
  call: z.string().optional().describe("Joins a tool's call and its result."),
  failed: z.boolean().optional().describe('The tool said that it failed.'),
  media: mediaSchema.optional(),
});

const conversationSchema = z.object({
  turns: z.array(
    z.object({
      role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
      from: z.enum(['request', 'answer']),
      index: z.int().describe('Place among the turns of the request, or the choices of the answer.'),
      parts: z.array(simplePart.extend({ parts: z.array(simplePart).optional().describe("Of a tool's result.") })),
      finish: z.string().nullable().describe('Why the answer ended.'),
    }),
  ),
  tools: z.array(z.object({ name: z.string(), description: z.string().nullable() })),
  settings: z.array(z.object({ name: z.string(), value: z.string().describe('JSON.') })),
});

const feedbackSchema = z.object({
  metric: z.string(),
  value: z.union([z.boolean(), z.number()]),
  comment: z.string().nullable(),
  created_at: z.string(),
});

export const detailedRequestSchema = requestSchema.extend({
  feedback: z.array(feedbackSchema).describe('What its caller said of the answer, by metric.'),
  bodies: bodiesSchema
    .nullable()
    .describe('What the caller sent and got, if a rule of `/admin/v1/body-rules` or `telemetry.log.bodies` kept them.'),
  conversation: conversationSchema
    .nullable()
    .describe('The bodies as turns; null: there are none, or they have no such form.'),
  bodies_note: z.string().nullable().describe('Why there are no bodies.'),
});

export const requestListReply = listOf(requestSchema).extend({
  tail: z.string().nullable().describe('For `after`, to ask for what is newer than this answer; null: ask without it.'),
});

/** For pages that show them. */
export type RequestReply = z.output<typeof detailedRequestSchema>;
export type RequestListReply = z.output<typeof requestListReply>;
