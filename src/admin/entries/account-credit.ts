import { z } from 'zod';
import type { TopUp } from '../../books/auth/account-store.ts';
import type { Operator } from '../../books/auth/operator.ts';
import { nanoUsd } from '../../books/metering/counter-scope.ts';
import { readCredit } from '../../books/metering/limits/limit-view.ts';
import { amountOf } from '../../books/metering/limits/quota-message.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import { randomBase62 } from '../../kernel/ids.ts';
import { csvLine } from '../csv.ts';
import type { KnownAccount, Records } from '../directory.ts';
import { timeField } from '../fields.ts';
import { jsonOperation, type Operation, refuse, textOperation } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { accountOf, declaredConflict } from './accounts.ts';

const usdMax = 1_000_000;
/** Largest grant: as with budgets, amounts stay whole numbers of nano-USD. */
const grantedUsdMax = 5_000_000;
const listedMax = 1_000;
const exportedMax = 100_000;

const topUpSchema = z.object({
  id: z.string(),
  usd: z.number().describe('Below 0: it was taken away.'),
  note: z.string(),
  by: z.string(),
  at: timeField,
});

const creditReply = z.object({
  account: z.string(),
  granted_usd: z.number().nullable().describe('All that was ever added; null: the account has no credit.'),
  used_usd: z
    .number()
    .nullable()
    .describe('What its requests cost since then; null: no server runs, or there is none.'),
  remaining_usd: z.number().nullable().describe('Below 0 by what ran when it came to its end.'),
  data: z.array(topUpSchema).describe(`The newest ${listedMax} top-ups.`),
});

export type AccountCredit = z.output<typeof creditReply>;

const newTopUp = z.strictObject({
  usd: z
    .number()
    .min(-usdMax)
    .max(usdMax)
    .refine((usd) => nanoUsd(usd) !== 0, 'expected another amount than 0')
    .describe('USD to add; below 0 to take away.'),
  note: z.string().max(500).default('').describe('For people, such as who paid.'),
  id: z
    .string()
    .regex(/^[\w.:@-]{1,64}$/, 'expected 1 to 64 of letters, digits and _.:@-')
    .optional()
    .describe(
      'Yours, such as the number of an invoice: the same top-up sent again changes nothing. Default: a new one.',
    ),
});

/** `/accounts/{id}/credit`: what an account has paid before. */
export function accountCreditOperations(parts: AdminParts, records: Records): Operation[] {
  return [
    jsonOperation({
      route: 'GET /accounts/{id}/credit',
      area: 'accounts',
      summary: 'What is left of the credit of an account, and what was added to it.',
      reply: creditReply,
      run: async ({ params, operator }) =>
        creditOf(parts, records, accountOf(await records.current(operator.accounts), params.id)),
    }),
    textOperation({
      route: 'GET /accounts/{id}/credit.csv',
      area: 'accounts',
      summary: 'Exports what was added to the credit of an account as CSV, newest first.',
      contentType: 'text/csv; charset=utf-8; header=present',
      async run({ params, operator }) {
        const { id: account } = accountOf(await records.current(operator.accounts), params.id);
        const rows = await records.asking(() => parts.store.topUps(account, exportedMax));
        const lines = rows.map(shown).map(({ id, usd, note, by, at }) => csvLine([account, at, id, usd, note, by]));
        return csvLine(['account', 'at', 'id', 'usd', 'note', 'by']) + lines.join('');
      },
    }),
    jsonOperation({
      route: 'POST /accounts/{id}/credit',
      area: 'accounts',
      summary:
        'Adds to the credit of an account, which pays for its requests from then on. Twice with one id adds once.',
      body: newTopUp,
      reply: creditReply,
      run: ({ params, body, operator }) => addCredit(parts, records, params.id, body, operator),
    }),
  ];
}

async function creditOf(parts: AdminParts, records: Records, account: KnownAccount) {
  const topUps = await records.asking(() => parts.store.topUps(account.id, listedMax));
  const { creditNano } = account;
  const reading =
    creditNano == null || parts.counters === null ? null : await readCredit(parts.counters, account.id, creditNano);
  return {
    account: account.id,
    granted_usd: creditNano == null ? null : amountOf('usd', creditNano),
    used_usd: reading?.used ?? null,
    remaining_usd: reading?.remaining ?? null,
    data: topUps.map(shown),
  };
}

async function addCredit(
  parts: AdminParts,
  records: Records,
  of: string,
  body: z.output<typeof newTopUp>,
  operator: Operator,
): Promise<z.input<typeof creditReply>> {
  const directory = await records.current(operator.accounts);
  const account = accountOf(directory, of);
  if (account.row === null) refuse(declaredConflict(parts, 'account', account.id));
  const { usd, note, id = `top_${randomBase62(16)}` } = body;
  const usdNano = nanoUsd(usd);
  if (usdNano < 0 && account.creditNano == null) {
    refuse(invalid('usd', `usd: the account '${account.id}' has no credit to take away; a first top-up is above 0`));
  }
  if (Math.abs((account.creditNano ?? 0) + usdNano) > nanoUsd(grantedUsdMax)) {
    refuse(invalid('usd', `usd: no account takes more than ${grantedUsdMax} USD in all`));
  }
  const topUp: TopUp = { account: account.id, id, usdNano, note, actor: operator.name, atMs: parts.clock.wallMs() };
  const done = await records.apply([{ kind: 'add-credit', topUp }], {
    actor: operator.name,
    action: 'account.credit',
    subject: account.id,
    before: null,
    after: { id, usd, note },
  });
  if (done === 'exists') await refuseAnother(parts, records, topUp);
  try {
    return await creditOf(parts, records, accountOf(await records.current(operator.accounts), account.id));
  } catch (error) {
    if (done !== 'done') throw error;
    // A refusal would make its operator add it again.
    const granted_usd = amountOf('usd', (account.creditNano ?? 0) + usdNano);
    return { account: account.id, granted_usd, used_usd: null, remaining_usd: null, data: [shown(topUp)] };
  }
}

/** The same top-up sent again is no mistake. */
async function refuseAnother(parts: AdminParts, records: Records, { account, id, usdNano }: TopUp): Promise<void> {
  const rows = await records.asking(() => parts.store.topUps(account, exportedMax));
  const before = rows.find((row) => row.id === id);
  if (before !== undefined && before.usdNano === usdNano) return;
  const conflict: Failure = {
    kind: 'conflict',
    message: `The account '${account}' has a top-up '${id}' of another amount. Take another id.`,
  };
  refuse(conflict);
}

function shown({ id, usdNano, note, actor, atMs }: TopUp): z.input<typeof topUpSchema> {
  return { id, usd: amountOf('usd', usdNano), note, by: actor, at: new Date(atMs).toISOString() };
}
