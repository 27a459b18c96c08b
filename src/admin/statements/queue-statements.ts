import type { Operator } from '../../books/auth/operator.ts';
import { sumDelayMs } from '../../books/ledger/day-sums.ts';
import { zoneMonth } from '../../books/ledger/zone-days.ts';
import { planFor } from '../../books/metering/notices/addressee.ts';
import type { Notice, NoticeStore } from '../../books/metering/notices/notice-store.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../kernel/clock.ts';
import { randomBase62 } from '../../kernel/ids.ts';
import type { AdminApi } from '../admin-api.ts';
import type { StatementMessage } from './statement-message.ts';
import type { Statement } from './statement-schema.ts';

/** Closes months, by its name in the audit log. */
const closer: Operator = { name: 'statements', role: 'owner', accounts: null };
/** Scope of the crossings that say which receiver has been sent a month. */
const scope = 'statements';

/**
 * Closes the month that is over, and queues its statement for each receiver that did not get it yet: once, whichever
 * replica looks first. A month in which nothing was used is not sent. Resolves to how many were queued.
 */
export async function queueStatements(parts: {
  api: Pick<AdminApi, 'handle'>;
  store: Pick<NoticeStore, 'crossed' | 'cross'>;
  settings: Config['telemetry']['statements'];
  clock: Clock;
}): Promise<number> {
  const { api, store, settings, clock } = parts;
  const { to, time_zone } = settings;
  const nowMs = clock.wallMs();
  const month = lastMonth(time_zone, nowMs);
  const limitOf = (receiver: string) => `${month} ${time_zone} ${receiver}`;
  const sent = new Set((await store.crossed(scope)).map(({ limit }) => limit));
  const due = to.filter(({ name }) => !sent.has(limitOf(name)));
  if (due.length === 0) return 0;
  const query = new URLSearchParams({ month, time_zone });
  const read = (operator: Operator) => replyOf(api, { method: 'GET', path: '/statements', query, body: '', operator });
  if ((await read(closer)).data.length === 0) return 0;
  const body = JSON.stringify({ month, time_zone });
  await replyOf(api, {
    method: 'POST',
    path: '/statements/close',
    query: new URLSearchParams(),
    body,
    operator: closer,
  });
  let queued = 0;
  for (const { name, accounts = null } of due) {
    const statement = await read({ ...closer, accounts });
    const crossing = { scope, limit: limitOf(name), share: 1, crossedMs: nowMs };
    if (await store.cross(crossing, noticeOf(name, statement, nowMs))) queued += 1;
  }
  return queued;
}

/** The newest month whose sums are whole. */
function lastMonth(zone: string, nowMs: number): string {
  const today = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' }).format(nowMs);
  const before = monthBefore(today.slice(0, 7));
  return zoneMonth(before, zone).toMs + sumDelayMs <= nowMs ? before : monthBefore(before);
}

function monthBefore(month: string): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number - 2, 1)).toISOString().slice(0, 7);
}

async function replyOf(api: Pick<AdminApi, 'handle'>, request: Parameters<AdminApi['handle']>[0]): Promise<Statement> {
  const { status, body } = await api.handle(request);
  if (status !== 200) throw new Error(`${request.path} answered ${status}: ${String(body)}`);
  return JSON.parse(String(body)) as Statement;
}

function noticeOf(receiver: string, data: Statement, nowMs: number): Notice {
  const message: StatementMessage = { type: 'statement', timestamp: new Date(nowMs).toISOString(), data };
  const plan = planFor('statement', receiver);
  return { id: `msg_${randomBase62(24)}`, plan, body: JSON.stringify(message), createdMs: nowMs, tries: 0 };
}
