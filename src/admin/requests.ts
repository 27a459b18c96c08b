import { z } from 'zod';
import type { Operator } from '../books/auth/operator.ts';
import type { RequestQuery, UsageEvent } from '../books/metering/ledger.ts';
import { csvCells, csvNames, feedbackRecord, requestRecord } from '../books/metering/request-record.ts';
import { agentPrefix } from '../config/schema/schema-agents.ts';
import { mcpSeparator } from '../config/schema/schema-mcp.ts';
import { invalid } from '../kernel/failure.ts';
import { requestIdMs } from '../kernel/ids.ts';
import { type AccountScope, partWithin, requestedAccounts } from './account-scope.ts';
import { csvLine } from './csv.ts';
import type { Records } from './directory.ts';
import { definedMembers, filter, listLimitMax, pageFields, pastInstant } from './fields.ts';
import { keysTagged } from './key-tags.ts';
import { jsonOperation, type Operation, refuse, textOperation } from './operation.ts';
import type { AdminParts } from './parts.ts';
import { detailedRequestSchema, requestListReply, type requestSchema } from './request-schema.ts';

const filters = {
  account: filter('Only those of this account.'),
  key: filter('Only those of this key, by its id.'),
  model: filter('Only those that asked for this model.'),
  mcp_server: filter('Only calls of the tools, prompts and resources of this MCP server.'),
  agent: filter('Only messages to this agent, by A2A.'),
  provider: filter('Only those that this provider answered.'),
  endpoint: filter('Only those of this endpoint, such as chat.'),
  user: filter('Only those for this end user.'),
  tag: filter('Only those with this tag.'),
  key_tag: filter('Only those of keys with this tag.'),
  session: filter('Only those of this conversation or agent run, as its caller names it.'),
  class: filter(
    'Only those with this outcome: ok, failed (all but ok), or a failure such as rate_limited. any: all, also those that were refused before they ran. tool-error: a tool of an MCP server said that it failed.',
  ),
  stream: z.stringbool().optional().describe('Only streamed ones, or only others.'),
  cost_min: z.coerce.number({ error: 'expected USD such as 0.01' }).min(0).optional().describe('Minimum cost in USD.'),
  units_min: z.coerce
    .number({ error: 'expected units such as 2' })
    .min(0)
    .optional()
    .describe('Minimum cost in units.'),
  status: z
    .string()
    .regex(/^([1-5]|[1-5]\d\d|[1-5]xx)$/, 'expected an HTTP status such as 429, or a class such as 5xx')
    .transform((text) => Number(text.replace('xx', '')))
    .optional()
    .describe(
      'HTTP status such as 429, or a class such as 5xx. The list then includes requests that were refused before they ran.',
    ),
};
const exportFields = {
  ...filters,
  from: pastInstant('Start of the range. Default: 30 days before `to`.').optional(),
  to: pastInstant('End of the range, not included. Default: now.').optional(),
};

const listQuery = z.strictObject({
  ...pageFields,
  ...filters,
  since: pastInstant('Only those from this time on.').optional(),
  until: pastInstant('Only those before this time.').optional(),
  text: filter('The request with this id, ours or the caller’s. Other filters do not count then.'),
  after: filter('`tail` of an earlier response: what ended since then, some of it perhaps again. There are no pages.'),
});

const defaultPeriodMs = 30 * 86_400_000;

/** `/requests`: single requests as the ledger keeps them. */
export function requestOperations(parts: AdminParts, records: Records): Operation[] {
  return [
    jsonOperation({
      route: 'GET /requests',
      area: 'requests',
      summary: 'Settled requests, newest first. With `status` or `class` the list includes refused ones.',
      query: listQuery,
      reply: requestListReply,
      run: ({ query, operator }) => listed(parts, records, query, operator),
    }),
    textOperation({
      route: 'GET /requests.csv',
      area: 'requests',
      summary: 'Exports the requests of a period as CSV, newest first, without routes.',
      query: z.strictObject(exportFields),
      contentType: 'text/csv; charset=utf-8; header=present',
      run: ({ query, operator }) => {
        const form = { head: csvLine(csvNames()), textOf: (event: UsageEvent) => csvLine(csvCells(event)) };
        return begun(exported(parts, records, query, operator, form));
      },
    }),
    textOperation({
      route: 'GET /requests.jsonl',
      area: 'requests',
      summary: 'Exports the requests of a period as JSON lines, newest first, with routes.',
      query: z.strictObject(exportFields),
      contentType: 'application/x-ndjson',
      run: ({ query, operator }) => {
        const textOf = (event: UsageEvent) => `${JSON.stringify(recordOf(event, operator.accounts))}\n`;
        return begun(exported(parts, records, query, operator, { head: '', textOf }));
      },
    }),
    jsonOperation({
      route: 'GET /requests/{id}',
      area: 'requests',
      summary:
        'One settled request with the explanation of its route, by our id or the caller’s (the newest one with it).',
      reply: detailedRequestSchema,
      async run({ params, operator }) {
        const event = await byId(parts, operator, params.id);
        const message = `There is no request '${params.id.slice(0, 128)}'. It may still be running, or older than the ledger keeps.`;
        if (event === null) refuse({ kind: 'not-found', message });
        const feedback = await parts.ledger.experiments.feedbackOf(event.requestId);
        const storedBodies = await bodiesOf(parts, event);
        return { ...recordOf(event, operator.accounts), feedback: feedback.map(feedbackRecord), ...storedBodies };
      },
    }),
  ];
}

async function listed(
  parts: AdminParts,
  records: Records,
  filter: z.output<typeof listQuery>,
  operator: Operator,
): Promise<z.input<typeof requestListReply>> {
  if (filter.text !== undefined) {
    const event = await byId(parts, operator, filter.text);
    return { data: event === null ? [] : [recordOf(event, operator.accounts)], next_cursor: null, tail: null };
  }
  const nowMs = parts.clock.wallMs();
  const { events, next } = await parts.ledger.list({
    ...(await queryOf(records, filter, operator)),
    sinceMs: filter.since?.(nowMs) ?? null,
    untilMs: filter.until?.(nowMs) ?? null,
    after: filter.after === undefined ? null : await seen(parts, operator, filter.after),
    limit: filter.limit,
    cursor: filter.cursor ?? null,
  });
  return {
    data: events.map((event) => recordOf(event, operator.accounts)),
    next_cursor: next,
    tail: lastEnded(events) ?? filter.after ?? null,
  };
}

async function seen(parts: AdminParts, operator: Operator, id: string): Promise<NonNullable<RequestQuery['after']>> {
  if (!/^req_[0-9a-f-]{36}$/.test(id)) refuse(invalid('after', 'after: expected the tail of an earlier response'));
  const event = await byId(parts, operator, id);
  // One that is gone from the books ended when it came, at the earliest.
  return { requestId: id, settledMs: event?.settledMs ?? requestIdMs(id) };
}

/** Reads page by page: one page is in memory, however long the range is. */
async function* exported(
  { ledger, clock }: AdminParts,
  records: Records,
  filter: z.output<z.ZodObject<typeof exportFields>>,
  operator: Operator,
  { head, textOf }: { head: string; textOf: (event: UsageEvent) => string },
): AsyncGenerator<string> {
  const { fromMs, toMs } = periodOf(filter, clock.wallMs());
  const range = { ...(await queryOf(records, filter, operator)), sinceMs: fromMs, untilMs: toMs, limit: listLimitMax };
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

type WhichRequests = Omit<RequestQuery, 'limit' | 'cursor'>;

async function queryOf(
  records: Records,
  filter: z.output<z.ZodObject<typeof filters>>,
  { accounts }: Operator,
): Promise<WhichRequests> {
  const session = filter.session === undefined ? undefined : { name: filter.session };
  if (filter.agent !== undefined && filter.model !== undefined) {
    refuse(invalid('agent', 'agent: give either agent or model, because a message to an agent asks for no model'));
  }
  const keys = filter.key_tag === undefined ? undefined : keysTagged(await records.current(accounts), filter.key_tag);
  return {
    accounts: requestedAccounts(filter.account, accounts),
    where: definedMembers({
      key: filter.key,
      keys,
      session,
      alias: filter.agent === undefined ? filter.model : agentPrefix + filter.agent,
      provider: filter.provider,
      endpoint: filter.endpoint ?? endpointOf(filter),
      mcpServer:
        filter.mcp_server === undefined
          ? undefined
          : { name: filter.mcp_server, prefix: filter.mcp_server + mcpSeparator },
      user: filter.user,
      tag: filter.tag,
      status: filter.status,
      class: filter.class,
      stream: filter.stream,
      costUsdMin: filter.cost_min,
      unitsMin: filter.units_min,
    }),
    sinceMs: null,
    untilMs: null,
    after: null,
  };
}

function endpointOf({ agent, mcp_server }: { agent?: string | undefined; mcp_server?: string | undefined }) {
  if (mcp_server !== undefined) return 'mcp-call';
  return agent === undefined ? undefined : 'a2a-call';
}

/** Its id; null when there is none. */
function lastEnded(events: readonly UsageEvent[]): string | null {
  let last: UsageEvent | null = null;
  for (const event of events) if (last === null || event.settledMs > last.settledMs) last = event;
  return last?.requestId ?? null;
}

/** Bodies as people and sinks get them. */
export function shownBodies(bodies: { status: number; request: string; answer: string; error?: string | null }) {
  const { status, request, answer, error = null } = bodies;
  return { status, request, answer, error };
}

async function bodiesOf({ bodies, bodyKeeper, snapshots }: AdminParts, { requestId, tenant }: UsageEvent) {
  const stored = (await bodyKeeper?.find(requestId)) ?? null;
  const logged = (await bodies([requestId])).get(requestId) ?? null;
  const found = stored ?? logged;
  if (found !== null) {
    const { conversationOf } = await import('../inference/endpoints/shown-bodies.ts');
    const { request, answer } = found;
    const path = stored?.path ?? logged?.path ?? '';
    const conversation = conversationOf(path, { request, answer, error: null, media: stored?.media ?? null });
    return { bodies: shownBodies(found), conversation, bodies_note: null };
  }
  const named = snapshots.current.config.telemetry.log.bodies;
  const note =
    named !== false && named.includes(tenant)
      ? 'The server no longer has them in its memory, or another replica served the request. Its log has them.'
      : `Culvert keeps bodies only for keys, accounts and models that an operator names for a time, and for keys that telemetry.log.bodies names. ${tenant} was not one of them.`;
  return { bodies: null, conversation: null, bodies_note: note };
}

/** A caller's id means the newest request with it that the operator may see. */
async function byId({ ledger }: AdminParts, { accounts }: Operator, id: string): Promise<UsageEvent | null> {
  if (accounts === null) return ledger.find(id, null);
  const found = await Promise.all(accounts.map((account) => ledger.find(id, account)));
  return found.reduce((newest, one) => (one !== null && (newest?.atMs ?? 0) < one.atMs ? one : newest), null);
}

/** The period of a question; refuses one that ends before it begins. */
export function periodOf(
  period: { from?: ((nowMs: number) => number) | undefined; to?: ((nowMs: number) => number) | undefined },
  nowMs: number,
): { fromMs: number; toMs: number } {
  const toMs = period.to?.(nowMs) ?? nowMs + 1;
  const fromMs = period.from?.(nowMs) ?? toMs - defaultPeriodMs;
  if (fromMs >= toMs) refuse(invalid('from', 'from: expected a time before to'));
  return { fromMs, toMs };
}

function recordOf(event: UsageEvent, scope: AccountScope): z.input<typeof requestSchema> {
  const record = requestRecord(event, 'operator') as z.input<typeof requestSchema>;
  const { route } = record;
  return scope === null || route === null
    ? record
    : { ...record, route: { ...route, rules: partWithin(route.rules, scope) } };
}

/** Waits for the first piece, so that a wrong query is a refusal and not a broken export. */
export async function begun(pieces: AsyncGenerator<string>): Promise<AsyncIterable<string>> {
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
