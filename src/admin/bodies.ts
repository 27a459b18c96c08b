import { z } from 'zod';
import type { BodyRow } from '../books/metering/body-store.ts';
import type { FoundBodies } from '../inference/endpoints/body-keeper.ts';
import { invalid } from '../kernel/failure.ts';
import type { Records } from './directory.ts';
import { filter, listOf, pageFields, pastInstant, timeField } from './fields.ts';
import { jsonOperation, type Operation, refuse } from './operation.ts';
import type { AdminParts } from './parts.ts';
import { requestedAccounts } from './scope.ts';

const bodyRow = z.object({
  request: z.string().describe('Id of the request, whose bodies `/admin/v1/requests/{id}` shows.'),
  created_at: timeField,
  account: z.string(),
  key: z.string(),
  key_label: z.string().describe('`account/name` of the key; its id where it is gone.'),
  model: z.string().nullable().describe('Null: it was refused before it had one.'),
  status: z.int(),
  path: z.string(),
  excerpt: z.string().describe('The words around the first place of `text`, or the beginning of what was asked.'),
});

const bodiesReply = listOf(bodyRow).extend({
  searched: z.int().describe('Requests that were looked through for this page.'),
});

/** For pages that show them. */
export type BodiesReply = z.output<typeof bodiesReply>;

const removedReply = z.object({ removed: z.int() });

export type BodiesRemovedReply = z.output<typeof removedReply>;

const filters = {
  account: filter('Only those of this account.'),
  key: filter('Only those of this key, by its id.'),
  model: filter('Only those of this model.'),
};

/** Rows read at once: each may be megabytes. */
const readAtOnce = 20;
/** A page ends after so long, whatever it has found: the search goes on with its cursor. */
const searchMaxMs = 500;
const excerptChars = 160;

/** `/bodies`: kept requests and answers, and the search in them. */
export function bodyOperations(parts: AdminParts, records: Records): Operation[] {
  return [
    jsonOperation({
      method: 'GET',
      path: '/bodies',
      area: 'requests',
      summary:
        'Kept requests and answers, newest first, or those with a text. A page may have few rows or none before the end.',
      query: z.strictObject({
        ...pageFields,
        ...filters,
        text: z.string().min(2).max(256).optional().describe('A text in request or answer. Case does not matter.'),
        from: pastInstant('Only those from this time on.').optional(),
        to: pastInstant('Only those before this time.').optional(),
      }),
      reply: bodiesReply,
      async run({ query, operator }) {
        const { account, key, model, text, from, to, limit, cursor } = query;
        if (cursor !== undefined && !/^req_[0-9a-f-]{36}$/.test(cursor)) {
          refuse(invalid('cursor', 'cursor: expected the `next_cursor` of the previous response'));
        }
        const nowMs = parts.clock.wallMs();
        const which = {
          accounts: requestedAccounts(account, operator.accounts),
          keyId: key,
          model,
          fromMs: from?.(nowMs),
          toMs: to?.(nowMs),
        };
        const directory = await records.current(operator.accounts);
        const labelOf = (id: string) => {
          const known = directory.key(id);
          return known === null ? id : `${known.account}/${known.name}`;
        };
        const found = await search(parts, which, { text: text?.toLowerCase() ?? null, limit, before: cursor ?? null });
        return { ...found, data: found.rows.map(({ row, excerpt }) => shown(row, labelOf(row.keyId), excerpt)) };
      },
    }),
    jsonOperation({
      method: 'DELETE',
      path: '/bodies',
      area: 'requests',
      summary: 'Removes kept requests and answers: all, or those of an account, a key or a model.',
      query: z.strictObject(filters),
      reply: removedReply,
      async run({ query: { account, key, model }, operator }) {
        const accounts = requestedAccounts(account, operator.accounts);
        const removed = await keeperOf(parts).remove({ accounts, keyId: key, model });
        await records.apply([], {
          actor: operator.name,
          action: 'bodies.remove',
          subject: key ?? account ?? model ?? 'all',
          before: { account, key, model, removed },
          after: null,
        });
        return { removed };
      },
    }),
  ];
}

function keeperOf({ bodyKeeper }: AdminParts): NonNullable<AdminParts['bodyKeeper']> {
  if (bodyKeeper !== undefined) return bodyKeeper;
  return refuse(invalid(null, 'Kept bodies need a running server, and none runs.'));
}

interface Match {
  row: BodyRow;
  excerpt: string;
}

/** Looks through rows until the page is full, there are no more, or it has taken long. Others get their turns between. */
async function search(
  parts: AdminParts,
  which: Omit<Parameters<NonNullable<AdminParts['bodyKeeper']>['list']>[0], 'before' | 'limit'>,
  { text, limit, before }: { text: string | null; limit: number; before: string | null },
): Promise<{ rows: Match[]; searched: number; next_cursor: string | null }> {
  const keeper = keeperOf(parts);
  const { searchableTexts: textsOf } = await import('../inference/endpoints/shown-bodies.ts');
  const untilMs = parts.clock.monotonicMs() + searchMaxMs;
  const rows: Match[] = [];
  let searched = 0;
  let last = before;
  for (;;) {
    const page = await keeper.list({ ...which, before: last, limit: readAtOnce });
    for (const row of page) {
      const excerpt = excerptOf(await keeper.open(row), text, textsOf);
      if (excerpt !== null) rows.push({ row, excerpt });
      searched += 1;
      last = row.requestId;
      if (rows.length === limit || parts.clock.monotonicMs() > untilMs) {
        return { rows, searched, next_cursor: last };
      }
      await new Promise(setImmediate);
    }
    if (page.length < readAtOnce) return { rows, searched, next_cursor: null };
  }
}

/** Null: it does not have the text. */
function excerptOf(
  bodies: FoundBodies | null,
  text: string | null,
  textsOf: (path: string, bodies: FoundBodies) => string[],
): string | null {
  if (bodies === null) return text === null ? 'It cannot be opened with the present secret.' : null;
  const texts = textsOf(bodies.path, bodies);
  if (text === null) return cut(texts.findLast((one) => one.trim() !== '') ?? '', 0);
  for (const one of texts) {
    const at = one.toLowerCase().indexOf(text);
    if (at >= 0) return cut(one, at);
  }
  return null;
}

function cut(text: string, at: number): string {
  const start = Math.max(0, at - excerptChars / 2);
  const piece = text.slice(start, start + excerptChars).replaceAll(/\s+/g, ' ');
  return `${start > 0 ? '…' : ''}${piece}${start + excerptChars < text.length ? '…' : ''}`;
}

function shown(row: BodyRow, key_label: string, excerpt: string): z.input<typeof bodyRow> {
  const { requestId, atMs, account, keyId, model, status, path } = row;
  const created_at = new Date(atMs).toISOString();
  return { request: requestId, created_at, account, key: keyId, key_label, model, status, path, excerpt };
}
