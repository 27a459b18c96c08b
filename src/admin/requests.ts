import { z } from 'zod';
import type { Operator } from '../auth/operator.ts';
import { invalid } from '../kernel/failure.ts';
import type { RequestQuery, UsageEvent } from '../metering/ledger.ts';
import { csvCells, csvNames, requestRecord } from '../metering/request-record.ts';
import { csvLine } from './csv.ts';
import { filter, given, listLimitMax, listOf, noQuery, pageFields, pastInstant } from './fields.ts';
import { jsonOperation, type Operation, refuse, textOperation } from './operation.ts';
import type { AdminParts } from './parts.ts';
import { accountsAsked } from './scope.ts';

const filters = {
  account: filter('Only those of this account.'),
  key: filter('Only those of this key, by its id.'),
  model: filter('Only those that asked for this model.'),
  provider: filter('Only those that this provider answered.'),
  endpoint: filter('Only those of this endpoint, such as chat.'),
  user: filter('Only those for this end user.'),
  tag: filter('Only those that were tagged so.'),
  class: filter('Only those with this outcome: ok, failed (all but ok), or a failure such as rate_limited.'),
  stream: z.stringbool().optional().describe('Only streamed ones, or only others.'),
  cost_min: z.coerce
    .number({ error: 'expected USD such as 0.01' })
    .min(0)
    .optional()
    .describe('Only those that cost at least so many USD.'),
  units_min: z.coerce
    .number({ error: 'expected units such as 2' })
    .min(0)
    .optional()
    .describe('Only those that cost at least so many units.'),
  status: z
    .string()
    .regex(/^([1-5]|[1-5]\d\d|[1-5]xx)$/, 'expected an HTTP status such as 429, or a class such as 5xx')
    .transform((text) => Number(text.replace('xx', '')))
    .optional()
    .describe(
      'HTTP status such as 429, or a class such as 5xx; then with those that were refused before they were run.',
    ),
};
const exportFields = {
  ...filters,
  from: pastInstant('First instant. Default: 30 days before `to`.').optional(),
  to: pastInstant('End, not included. Default: now.').optional(),
};

const requestSchema = z
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
    status: z.int(),
    class: z.string(),
    units: z.number(),
    cost_usd: z.number().nullable(),
    route: z.record(z.string(), z.unknown()).describe('What routing did and why.'),
  })
  .describe('One settled request, as GET /v1/requests/{id} shows it, with whose it is.');

const defaultPeriodMs = 30 * 86_400_000;

/** `/requests`: single requests as the ledger keeps them. */
export function requestOperations(parts: AdminParts): Operation[] {
  const { ledger, clock } = parts;
  const query = (
    asked: z.output<z.ZodObject<typeof filters>>,
    { accounts }: Operator,
  ): Omit<RequestQuery, 'limit' | 'cursor'> => ({
    accounts: accountsAsked(asked.account, accounts),
    where: given({
      key: asked.key,
      alias: asked.model,
      provider: asked.provider,
      endpoint: asked.endpoint,
      user: asked.user,
      tag: asked.tag,
      status: asked.status,
      class: asked.class,
      stream: asked.stream,
      costUsdMin: asked.cost_min,
      unitsMin: asked.units_min,
    }),
    sinceMs: null,
    untilMs: null,
  });

  /** Page by page: however long a time is asked for, one page is in memory. */
  async function* exported(
    asked: z.output<z.ZodObject<typeof exportFields>>,
    operator: Operator,
    textOf: (event: UsageEvent) => string,
    head: string,
  ): AsyncGenerator<string> {
    const { fromMs, toMs } = periodOf(asked, clock.wallMs());
    const range = { ...query(asked, operator), sinceMs: fromMs, untilMs: toMs, limit: listLimitMax };
    let cursor: string | null = null;
    let text = head;
    do {
      const page: Awaited<ReturnType<typeof ledger.list>> = await ledger.list({ ...range, cursor });
      for (const event of page.events) text += textOf(event);
      yield text;
      text = '';
      cursor = page.next;
    } while (cursor !== null);
  }

  return [
    jsonOperation({
      method: 'GET',
      path: '/requests',
      area: 'requests',
      summary: 'Settled requests, newest first; with `status` refused ones too.',
      query: z.strictObject({
        ...pageFields,
        ...filters,
        since: pastInstant('Only those from then on.').optional(),
        until: pastInstant('Only those before then.').optional(),
      }),
      body: null,
      reply: listOf(requestSchema),
      async run({ query: asked, operator }) {
        const nowMs = clock.wallMs();
        const { events, next } = await ledger.list({
          ...query(asked, operator),
          sinceMs: asked.since?.(nowMs) ?? null,
          untilMs: asked.until?.(nowMs) ?? null,
          limit: asked.limit,
          cursor: asked.cursor ?? null,
        });
        return { data: events.map(recordOf), next_cursor: next };
      },
    }),
    textOperation({
      method: 'GET',
      path: '/requests.csv',
      area: 'requests',
      summary: 'The same as CSV, all of a time, newest first, without routes.',
      query: z.strictObject(exportFields),
      contentType: 'text/csv; charset=utf-8; header=present',
      run: async ({ query: asked, operator }) =>
        begun(exported(asked, operator, (event) => csvLine(csvCells(event)), csvLine(csvNames()))),
    }),
    textOperation({
      method: 'GET',
      path: '/requests.jsonl',
      area: 'requests',
      summary: 'The same as JSON lines, all of a time, newest first, with routes.',
      query: z.strictObject(exportFields),
      contentType: 'application/x-ndjson',
      run: async ({ query: asked, operator }) =>
        begun(exported(asked, operator, (event) => `${JSON.stringify(recordOf(event))}\n`, '')),
    }),
    jsonOperation({
      method: 'GET',
      path: '/requests/{id}',
      area: 'requests',
      summary:
        'One settled request with the explanation of its route, by our id or the caller’s (the newest of those).',
      query: noQuery,
      body: null,
      reply: requestSchema,
      async run({ params, operator }) {
        const event = await foundFor(operator, (account) => ledger.find(params.id, account));
        const message = `There is no request '${params.id.slice(0, 128)}'. It may still be running, or older than the ledger keeps.`;
        return event === null ? refuse({ kind: 'not-found', message }) : recordOf(event);
      },
    }),
  ];
}

/** By the caller's id the newest is meant, of those that the operator may see. */
async function foundFor(
  { accounts }: Operator,
  find: (account: string | null) => Promise<UsageEvent | null>,
): Promise<UsageEvent | null> {
  if (accounts === null) return find(null);
  const found = await Promise.all(accounts.map(find));
  return found.reduce((newest, one) => (one !== null && (newest?.atMs ?? 0) < one.atMs ? one : newest), null);
}

/** The period of a question; refuses one that ends before it begins. */
export function periodOf(
  asked: { from?: ((nowMs: number) => number) | undefined; to?: ((nowMs: number) => number) | undefined },
  nowMs: number,
): { fromMs: number; toMs: number } {
  const toMs = asked.to?.(nowMs) ?? nowMs + 1;
  const fromMs = asked.from?.(nowMs) ?? toMs - defaultPeriodMs;
  if (fromMs >= toMs) refuse(invalid('from', 'from: expected a time before to'));
  return { fromMs, toMs };
}

function recordOf(event: UsageEvent): z.input<typeof requestSchema> {
  return requestRecord(event, 'operator') as z.input<typeof requestSchema>;
}

/** Waits for the first piece, so that what is wrong with the question is a refusal and not a broken export. */
async function begun(pieces: AsyncGenerator<string>): Promise<AsyncIterable<string>> {
  const first = await pieces.next();
  return (async function* () {
    try {
      if (first.done !== true) yield first.value;
      yield* pieces;
    } finally {
      await pieces.return(undefined);
    }
  })();
}
