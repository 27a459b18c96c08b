import { z } from 'zod';
import type { BodyRow } from '../books/metering/body-store.ts';
import type { FoundBodies } from '../inference/endpoints/body-keeper.ts';
import { invalid } from '../kernel/failure.ts';
import { requestedAccounts } from './account-scope.ts';
import type { Records } from './directory.ts';
import { filter, listOf, pageFields, pastInstant, timeField } from './fields.ts';
import { jsonOperation, type Operation, refuse } from './operation.ts';
import type { AdminParts } from './parts.ts';

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
const searchMaxMs = 2_000;
/** Signatures read at once: each has a KB, and the loop opens them in one turn. */
const signaturesAtOnce = 200;
const excerptChars = 160;

/** `/bodies`: kept requests and answers, and the search in them. */
export function bodyOperations(parts: AdminParts, records: Records): Operation[] {
  return [
    jsonOperation({
      route: 'GET /bodies',
      area: 'requests',
      summary:
        'Kept requests and answers, newest first, or those with a text. A page may have few rows or none before the end.',
      query: z.strictObject({
        ...pageFields,
        ...filters,
        text: z
          .string()
          .min(2)
          .max(256)
          .optional()
          .describe(
            'Words that request and answer have, in any place. Quotes make several words one: "due date". Case does not matter.',
          ),
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
        const found = await search(parts, which, { words: splitWords(text), limit, before: cursor ?? null });
        return { ...found, data: found.rows.map(({ row, excerpt }) => shown(row, labelOf(row.keyId), excerpt)) };
      },
    }),
    jsonOperation({
      route: 'DELETE /bodies',
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

type Facts = Omit<BodyRow, 'sealed'>;

interface Match {
  row: Facts;
  excerpt: string;
}

type Which = Omit<Parameters<NonNullable<AdminParts['bodyKeeper']>['list']>[0], 'before' | 'limit'>;

/** Words, and texts in quotes, in lower case. */
function splitWords(text: string | undefined): string[] {
  const parts = text?.toLowerCase().match(/"[^"]+"|[^\s"]+/g) ?? [];
  return parts.map((part) => part.replaceAll('"', ''));
}

/** Looks through rows until the page is full, there are no more, or it has taken long. Others get their turns between. */
async function search(
  parts: AdminParts,
  which: Which,
  { words, limit, before }: { words: readonly string[]; limit: number; before: string | null },
): Promise<{ rows: Match[]; searched: number; next_cursor: string | null }> {
  const { searchableTexts: textsOf } = await import('../inference/endpoints/shown-bodies.ts');
  const keeper = keeperOf(parts);
  const untilMs = parts.clock.monotonicMs() + searchMaxMs;
  const rows: Match[] = [];
  let searched = 0;
  let last = before;
  const rowsToCheck = words.length === 0 ? all(keeper, which, before) : candidates(keeper, which, before, words);
  for await (const { requestId, row, bodies } of rowsToCheck) {
    const excerpt = row === null ? null : excerptOf(bodies, words, textsOf);
    if (row !== null && excerpt !== null) rows.push({ row, excerpt });
    searched += 1;
    last = requestId;
    if (rows.length === limit || parts.clock.monotonicMs() > untilMs) return { rows, searched, next_cursor: last };
  }
  return { rows, searched, next_cursor: null };
}

/** A row and its texts. Without a row: it cannot have the words. */
interface Candidate {
  requestId: string;
  row: Facts | null;
  bodies: FoundBodies | null;
}

type Keeper = ReturnType<typeof keeperOf>;

async function* all(keeper: Keeper, which: Which, first: string | null): AsyncGenerator<Candidate> {
  for (let before = first; ; ) {
    const page = await keeper.list({ ...which, before, limit: readAtOnce });
    for (const row of page) {
      yield { requestId: row.requestId, row, bodies: await keeper.open(row) };
      before = row.requestId;
      await turnOfOthers();
    }
    if (page.length < readAtOnce) return;
  }
}

/** Reads the bodies of those alone whose signature may have all words. */
async function* candidates(
  keeper: Keeper,
  which: Which,
  first: string | null,
  words: readonly string[],
): AsyncGenerator<Candidate> {
  const { mayHave } = await import('../inference/endpoints/text-signature.ts');
  for (let before = first; ; ) {
    const page = await keeper.signatures({ ...which, before, limit: signaturesAtOnce });
    for (const { requestId, signature } of page) {
      before = requestId;
      const may = signature === null || words.every((word) => mayHave(signature, word));
      const bodies = may ? await keeper.find(requestId) : null;
      yield { requestId, row: bodies, bodies };
      if (may) await turnOfOthers();
    }
    if (page.length < signaturesAtOnce) return;
    await turnOfOthers();
  }
}

function turnOfOthers(): Promise<void> {
  return new Promise(setImmediate);
}

/** Null: it does not have all words. The excerpt is around the first one. */
function excerptOf(
  bodies: FoundBodies | null,
  words: readonly string[],
  textsOf: (path: string, bodies: FoundBodies) => string[],
): string | null {
  const [first] = words;
  if (bodies === null) return first === undefined ? 'It cannot be opened with the present secret.' : null;
  const texts = textsOf(bodies.path, bodies);
  if (first === undefined) return cut(texts.findLast((one) => one.trim() !== '') ?? '', 0);
  const lower = texts.map((one) => one.toLowerCase());
  if (!words.every((word) => lower.some((one) => one.includes(word)))) return null;
  const place = lower.findIndex((one) => one.includes(first));
  return cut(texts[place] ?? '', lower[place]?.indexOf(first) ?? 0);
}

function cut(text: string, at: number): string {
  const start = Math.max(0, at - excerptChars / 2);
  const piece = text.slice(start, start + excerptChars).replaceAll(/\s+/g, ' ');
  return `${start > 0 ? '…' : ''}${piece}${start + excerptChars < text.length ? '…' : ''}`;
}

function shown(row: Facts, key_label: string, excerpt: string): z.input<typeof bodyRow> {
  const { requestId, atMs, account, keyId, model, status, path } = row;
  const created_at = new Date(atMs).toISOString();
  return { request: requestId, created_at, account, key: keyId, key_label, model, status, path, excerpt };
}
