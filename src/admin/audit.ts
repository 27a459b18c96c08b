import { z } from 'zod';
import type { AuditQuery, AuditRow } from '../books/auth/account-store.ts';
import { type AccountScope, isWithin } from './account-scope.ts';
import type { Records } from './directory.ts';
import { definedMembers, filter, listOf, pageFields, pastInstant, timeField } from './fields.ts';
import { jsonOperation, type Operation } from './operation.ts';
import { encoded, placeOf } from './page.ts';
import type { AdminParts } from './parts.ts';

const auditSchema = z.object({
  id: z.int(),
  at: timeField,
  actor: z
    .string()
    .describe(
      'admin: over HTTP; cli: in its own process; start: the first start; server: without an operator, such as when its file changed.',
    ),
  action: z.string(),
  subject: z.string().describe('Id of what was changed.'),
  before: z.unknown(),
  after: z.unknown(),
});

const auditReply = listOf(auditSchema);

/** For pages that show it. */
export type AuditReply = z.output<typeof auditReply>;

/** `/audit`: who changed what. */
export function auditOperations(parts: AdminParts, records: Records): Operation[] {
  /** `next`: the last id looked at, null at the end. Of some accounts a page may be short, or empty, before the end. */
  async function page({ limit, before, ...where }: AuditQuery, scope: AccountScope) {
    const candidatesMax = scope === null ? limit : candidateRowsMax;
    const rows = await records.asking(() => parts.store.audit({ ...where, limit: candidatesMax + 1, before }));
    const inScope = rows.slice(0, candidatesMax).filter((row) => scope === null || isWithin(accountsOf(row), scope));
    const shown = inScope.slice(0, limit);
    const last =
      inScope.length > shown.length ? shown.at(-1) : rows.length > candidatesMax ? rows[candidatesMax - 1] : undefined;
    return { shown, next: last?.id ?? null };
  }

  return [
    jsonOperation({
      route: 'GET /audit',
      area: 'audit',
      summary: 'Lists every change of accounts, keys and plans, newest first, without secrets.',
      query: z.strictObject({
        ...pageFields,
        actor: filter('Only what this operator did.'),
        action: filter('Only this action, such as plan.update. A first word such as plan matches all of its actions.'),
        subject: filter('Only changes of the entry with this id, and of its credentials.'),
        since: pastInstant('Only changes from this time on.').optional(),
        until: pastInstant('Only changes before this time.').optional(),
      }),
      reply: auditReply,
      async run({ query, operator }) {
        const before = query.cursor === undefined ? null : placeOf(query.cursor);
        const { limit, actor, action, subject, since, until } = query;
        const nowMs = parts.clock.wallMs();
        const times = definedMembers({ sinceMs: since?.(nowMs), untilMs: until?.(nowMs) });
        const where = { ...definedMembers({ actor, action, subject }), ...times };
        const { shown, next } = await page({ limit, before, ...where }, operator.accounts);
        return {
          data: shown.map(({ atMs, ...row }) => ({ ...row, at: new Date(atMs).toISOString() })),
          next_cursor: next === null ? null : encoded(String(next)),
        };
      },
    }),
  ];
}

/** Rows that one page for an operator of some accounts is chosen from. */
const candidateRowsMax = 5_000;

/** Whose a change was; null: everybody's, such as a plan. */
function accountsOf({ action, subject, before, after }: AuditRow): AccountScope {
  if (action.startsWith('account.')) return [subject];
  const { account } = (after ?? before ?? {}) as { account?: unknown };
  if (typeof account === 'string') return [account];
  // Operators and invitations: with the accounts of before, those who manage the others learn nothing of them.
  const lists = [before, after]
    .filter((facts) => facts !== null)
    .map((facts) => (facts as { accounts?: unknown }).accounts);
  const all = lists.flatMap((accounts) => (Array.isArray(accounts) ? (accounts as string[]) : []));
  return all.length > 0 && lists.every(Array.isArray) ? all : null;
}
