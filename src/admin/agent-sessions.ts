import { z } from 'zod';
import { isUnpriced } from '../books/ledger/columns.ts';
import type { RequestQuery, UsageEvent } from '../books/metering/ledger.ts';
import { requestedAccounts } from './account-scope.ts';
import { filter, isoOf, listOf, pageFields, pastInstant, timeField, unpricedField } from './fields.ts';
import { jsonOperation, type Operation } from './operation.ts';
import { pageByPlace } from './page.ts';
import type { AdminParts } from './parts.ts';
import { periodOf } from './requests.ts';

/** Most requests that one answer is made of, the newest, and how many are read at once. */
const requestsMax = 2_000;
const pageRows = 500;

const sessionSchema = z.object({
  session: z.string(),
  account: z.string(),
  key: z.string().describe('Id of the key of its last request.'),
  first_at: timeField,
  last_at: timeField.describe('Start of its last request.'),
  ms: z.int().describe('Milliseconds from the start of its first request to the end of the one that ended last.'),
  requests: z.int(),
  errors: z.int().describe('Requests whose class is not ok.'),
  models: z.array(z.string()).describe('In the order of their first use.'),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost_usd: z.number(),
  unpriced_requests: unpricedField,
});

const sessionsReply = listOf(sessionSchema).extend({
  complete_from: timeField.describe('Requests before it are not counted: later ones were already too many.'),
});

type Session = z.output<typeof sessionSchema>;
export type AgentSessions = z.output<typeof sessionsReply>;

/** `/agent-sessions`: conversations and agent runs, by the session that their requests name. */
export function agentSessionOperations(parts: AdminParts): Operation[] {
  return [
    jsonOperation({
      route: 'GET /agent-sessions',
      area: 'requests',
      summary: `Conversations and agent runs of the newest ${requestsMax} requests that name a session, the last one first.`,
      query: z.strictObject({
        ...pageFields,
        account: filter('Only those of this account.'),
        key: filter('Only those of this key, by its id.'),
        from: pastInstant('Start of the range. Default: 30 days before `to`.').optional(),
        to: pastInstant('End of the range. Default: now.').optional(),
      }),
      reply: sessionsReply,
      async run({ query, operator }) {
        const { fromMs, toMs } = periodOf(query, parts.clock.wallMs());
        const events: UsageEvent[] = [];
        const listQuery: Omit<RequestQuery, 'cursor'> = {
          accounts: requestedAccounts(query.account, operator.accounts),
          where: { session: 'any', ...(query.key !== undefined && { key: query.key }) },
          sinceMs: fromMs,
          untilMs: toMs,
          after: null,
          limit: pageRows,
        };
        let cursor: string | null = null;
        do {
          const page: Awaited<ReturnType<typeof parts.ledger.list>> = await parts.ledger.list({ ...listQuery, cursor });
          events.push(...page.events);
          cursor = page.next;
        } while (cursor !== null && events.length < requestsMax);
        const completeMs = cursor === null ? fromMs : (events.at(-1)?.atMs ?? fromMs);
        const { rows, next } = pageByPlace(sessionsOf(events), query);
        return { data: [...rows], next_cursor: next, complete_from: isoOf(completeMs) };
      },
    }),
  ];
}

/** A session is of one account: others may use the same name. `events`: the newest first. */
function sessionsOf(events: readonly UsageEvent[]): Session[] {
  const sessions = new Map<string, Session>();
  for (const event of events) {
    const place = JSON.stringify([event.account, event.session]);
    const session = sessions.get(place) ?? emptySession(event);
    sessions.set(place, session);
    session.ms = Math.max(session.ms + Date.parse(session.first_at) - event.atMs, Math.round(event.ms));
    session.first_at = isoOf(event.atMs);
    session.requests += 1;
    session.errors += event.class === 'ok' ? 0 : 1;
    session.models = [event.alias, ...session.models.filter((model) => model !== event.alias)];
    session.input_tokens += event.inputTokens;
    session.output_tokens += event.outputTokens;
    session.cost_usd = Math.round((session.cost_usd + (event.costUsd ?? 0)) * 1e9) / 1e9;
    session.unpriced_requests += isUnpriced(event) ? 1 : 0;
  }
  // Many clients begin a trace for each request: one alone is no run.
  return [...sessions.values()].filter(({ session, requests }) => requests > 1 || !session.startsWith('trace:'));
}

function emptySession({ session, account, keyId, atMs }: UsageEvent): Session {
  const times = { first_at: isoOf(atMs), last_at: isoOf(atMs) };
  const sums = { ms: 0, requests: 0, errors: 0, models: [], input_tokens: 0, output_tokens: 0 };
  return { session: session ?? '', account, key: keyId, ...times, ...sums, cost_usd: 0, unpriced_requests: 0 };
}
