import { z } from 'zod';
import { addresseeOf, planFor } from '../books/metering/notices/addressee.ts';
import { type AlertMessage, alertSubject } from '../books/metering/notices/alert-message.ts';
import { type QuotaMessage, quotaSubject } from '../books/metering/notices/notice-message.ts';
import type { ListedNotice } from '../books/metering/notices/notice-store.ts';
import { objectIn, parsedData } from '../kernel/json.ts';
import { type AccountScope, isWithin } from './account-scope.ts';
import type { Records } from './directory.ts';
import { isoOf, listOf, pageFields, timeField } from './fields.ts';
import { jsonOperation, type Operation } from './operation.ts';
import { encoded, groupsOf } from './page.ts';
import type { AdminParts } from './parts.ts';
import { type StatementMessage, statementSubject } from './statements/statement-message.ts';

const kinds = ['alerts', 'quota', 'statement'] as const;

const noticeSchema = z.object({
  id: z.string().describe('The webhook-id, the same at every try.'),
  kind: z.enum(kinds),
  receiver: z.string().describe('Name of the receiver; of quota, the plan that names the webhook.'),
  state: z.enum(['waiting', 'delivered', 'given_up', 'dropped']),
  subject: z.string().describe('One sentence that sums the message up.'),
  tries: z.int(),
  reason: z.string().nullable().describe('Why the last try failed; null: none did, or the notice arrived.'),
  created_at: timeField,
  next_try_at: timeField.nullable(),
  ended_at: timeField.nullable().describe('Time at which it arrived, was given up or was dropped.'),
  message: z.unknown().describe('The body as it is signed and sent; of a statement without its accounts.'),
});

const noticesReply = listOf(noticeSchema);

/** For pages that show it. */
export type NoticesReply = z.output<typeof noticesReply>;

/** Rows that one page for an operator of some accounts is chosen from. */
const examinedMax = 5_000;

/** `/notices`: alerts, quota notices and statements, with what became of them. */
export function noticeOperations({ notices }: AdminParts, records: Records): Operation[] {
  return [
    jsonOperation({
      route: 'GET /notices',
      area: 'settings',
      summary:
        'Lists alerts, quota notices and sent statements of the last 30 days, newest first, and whether they arrived.',
      query: z.strictObject({
        ...pageFields,
        kind: z.enum(kinds).optional().describe('Only alerts, only notices about quota, or only monthly statements.'),
      }),
      reply: noticesReply,
      async run({ query: { limit, cursor, kind = null }, operator: { accounts } }) {
        const examined = accounts === null ? limit : examinedMax;
        const plans = kind === null || kind === 'quota' ? kind : { beginWith: planFor(kind, '') };
        const before = cursor === undefined ? null : placeOf(cursor);
        const rows = await records.asking(() => notices.list({ limit: examined + 1, before, plans }));
        const visible = rows.slice(0, examined).filter((row) => isVisible(row, accounts));
        const shown = visible.slice(0, limit);
        const last =
          visible.length > shown.length ? shown.at(-1) : rows.length > examined ? rows[examined - 1] : undefined;
        const next = last === undefined ? null : encoded(`${last.createdMs} ${last.id}`);
        return { data: shown.map(noticeShown), next_cursor: next };
      },
    }),
  ];
}

/** Alerts and statements are about the whole server: operators of some accounts see notices of their accounts alone. */
function isVisible(notice: ListedNotice, scope: AccountScope): boolean {
  if (scope === null) return true;
  const { account } = objectIn(parsedData(notice.body)?.data);
  return addresseeOf(notice).kind === 'quota' && typeof account === 'string' && isWithin([account], scope);
}

function noticeShown(notice: ListedNotice): z.input<typeof noticeSchema> {
  const { id, state, tries, reason, createdMs, nextMs, endedMs, body } = notice;
  const to = addresseeOf(notice);
  return {
    ...readMessage(body),
    id,
    kind: to.kind,
    receiver: to.kind === 'quota' ? to.plan : to.receiver,
    state,
    tries,
    reason,
    created_at: timeOf(createdMs),
    next_try_at: nextMs === null ? null : timeOf(nextMs),
    ended_at: endedMs === null ? null : timeOf(endedMs),
  };
}

/** A time, or the nearest one that a date can hold. */
function timeOf(ms: number): string {
  return isoOf(Math.max(0, Math.min(ms, 8.64e15)));
}

/** A row that another program wrote, or another version, is shown as it is: it must not hide the others. */
function readMessage(body: string): Pick<z.input<typeof noticeSchema>, 'subject' | 'message'> {
  try {
    const message = JSON.parse(body) as AlertMessage | QuotaMessage | StatementMessage;
    const shown = message.type === 'statement' ? { ...message, data: { ...message.data, data: [] } } : message;
    return { subject: subjectOf(message), message: shown };
  } catch {
    return { subject: 'This version of Culvert cannot read the message.', message: body };
  }
}

function subjectOf(message: AlertMessage | QuotaMessage | StatementMessage): string {
  switch (message.type) {
    case 'alerts':
      return alertSubject(message);
    case 'statement':
      return statementSubject(message);
    default:
      return quotaSubject(message);
  }
}

function placeOf(cursor: string): Pick<ListedNotice, 'createdMs' | 'id'> {
  const { createdMs, id } = groupsOf(cursor, /^(?<createdMs>\d{1,16}) (?<id>.{0,256})$/s);
  return { createdMs: Number(createdMs), id: String(id) };
}
