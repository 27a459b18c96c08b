import { z } from 'zod';
import type { Records } from './directory.ts';
import { listOf, pageFields, timeField } from './fields.ts';
import { jsonOperation, type Operation } from './operation.ts';
import { encoded, placeOf } from './page.ts';
import type { AdminParts } from './parts.ts';

const auditSchema = z.object({
  id: z.int(),
  at: timeField,
  actor: z.string().describe('admin: over HTTP; cli: in its own process; start: the first start.'),
  action: z.string(),
  subject: z.string().describe('Id of what was changed.'),
  before: z.unknown(),
  after: z.unknown(),
});

/** `/audit`: who changed what. */
export function auditOperations(parts: AdminParts, records: Records): Operation[] {
  return [
    jsonOperation({
      method: 'GET',
      path: '/audit',
      summary: 'Every change of accounts, keys and plans, newest first, without secrets.',
      query: z.strictObject(pageFields),
      body: null,
      reply: listOf(auditSchema),
      async run({ query }) {
        const before = query.cursor === undefined ? null : placeOf(query.cursor);
        const rows = await records.asking(() => parts.store.audit({ limit: query.limit + 1, before }));
        const shown = rows.slice(0, query.limit);
        return {
          data: shown.map(({ atMs, ...row }) => ({ ...row, at: new Date(atMs).toISOString() })),
          next_cursor: rows.length > shown.length ? encoded(String(shown.at(-1)?.id)) : null,
        };
      },
    }),
  ];
}
