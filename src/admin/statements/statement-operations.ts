import { z } from 'zod';
import type { Operator } from '../../books/auth/operator.ts';
import { sumDelayMs } from '../../books/ledger/day-sums.ts';
import { zoneMonth } from '../../books/ledger/zone-days.ts';
import type { UsageRow } from '../../books/metering/ledger.ts';
import { forbidden, invalid } from '../../kernel/failure.ts';
import { requestedAccounts } from '../account-scope.ts';
import type { Records } from '../directory.ts';
import { accountOf } from '../entries/accounts.ts';
import { jsonOperation, type Operation, refuse, textOperation } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { statementCsv } from './statement-csv.ts';
import { statementPage } from './statement-page.ts';
import {
  closedReply,
  monthOf,
  type Row,
  type Statement,
  type Sums,
  statement,
  statementQuery,
  sumNames,
} from './statement-schema.ts';

const area = 'usage';

/** `/statements`: what each account used in a calendar month. */
export function statementOperations(parts: AdminParts, records: Records): Operation[] {
  const read = (of: z.output<typeof statementQuery>, operator: Operator) => statementOf(parts, records, of, operator);
  return [
    jsonOperation({
      route: 'GET /statements',
      area,
      summary: 'Returns what each account used in a calendar month, by model.',
      query: statementQuery,
      reply: statement,
      run: (call) => read(call.query, call.operator),
    }),
    textOperation({
      route: 'GET /statements.csv',
      area,
      summary: 'Exports the statement as CSV: a row for each account and model.',
      query: statementQuery,
      contentType: 'text/csv; charset=utf-8; header=present',
      run: async (call) => statementCsv(await read(call.query, call.operator)),
    }),
    textOperation({
      route: 'GET /statements.html',
      area,
      summary: 'Returns the statement as a page to print, or to save as PDF: a sheet for each account.',
      query: statementQuery,
      contentType: 'text/html; charset=utf-8',
      run: async (call) => statementPage(await read(call.query, call.operator)),
    }),
    jsonOperation({
      route: 'GET /statements/closed',
      area,
      summary: 'Lists the months that are closed, the newest first.',
      reply: closedReply,
      async run() {
        const closed = await parts.ledger.statements.closed();
        return {
          data: closed.map(({ month, timeZone: zone, closedMs, closedBy }) => {
            return { month, time_zone: zone, closed_at: new Date(closedMs).toISOString(), closed_by: closedBy };
          }),
        };
      },
    }),
    jsonOperation({
      route: 'POST /statements/close',
      area,
      summary: 'Closes a month that is over: its statement stays as it is now. Closing it again changes nothing.',
      body: z.strictObject(monthOf),
      reply: statement,
      run: (call) => closed(parts, records, call.body, call.operator),
    }),
  ];
}

async function statementOf(
  parts: AdminParts,
  records: Records,
  { month, time_zone, account }: z.output<typeof statementQuery>,
  operator: Operator,
): Promise<Statement> {
  if (account !== undefined) accountOf(await records.current(operator.accounts), account);
  const scope = requestedAccounts(account, operator.accounts);
  const stored = await parts.ledger.statements.stored(month, time_zone);
  if (stored === null) return made(parts, records, { month, time_zone }, scope);
  const whole = JSON.parse(stored.body) as Statement;
  if (scope === null) return whole;
  const data = whole.data.filter((one) => scope.includes(one.account));
  return { ...whole, data, totals: totalOf(data) };
}

async function closed(
  parts: AdminParts,
  records: Records,
  { month, time_zone }: Pick<Statement, 'month' | 'time_zone'>,
  operator: Operator,
): Promise<Statement> {
  if (operator.accounts !== null) {
    const message = `The operator '${operator.name}' manages only some accounts. A statement is of all accounts, so only operators of all accounts close it.`;
    refuse(forbidden(message));
  }
  const { statements } = parts.ledger;
  if ((await statements.stored(month, time_zone)) === null) {
    const open = await made(parts, records, { month, time_zone }, null);
    if (open.status === 'running') {
      const until = new Date(Date.parse(open.to) + sumDelayMs).toISOString();
      refuse(invalid('month', `month: ${month} can be closed from ${until} on, when its last requests have ended`));
    }
    const closedMs = parts.clock.wallMs();
    const closedBy = operator.name;
    const whole: Statement = {
      ...open,
      status: 'closed',
      closed_at: new Date(closedMs).toISOString(),
      closed_by: closedBy,
    };
    if (await statements.keep({ month, timeZone: time_zone, closedMs, closedBy, body: JSON.stringify(whole) }))
      await records.apply([], {
        actor: closedBy,
        action: 'statement.close',
        subject: `${month} ${time_zone}`,
        before: null,
        after: whole.totals,
      });
  }
  return statementOf(parts, records, { month, time_zone, account: undefined }, operator);
}

/** From the sums as they are now. */
async function made(
  { ledger, clock }: AdminParts,
  records: Records,
  { month, time_zone }: Pick<Statement, 'month' | 'time_zone'>,
  accounts: readonly string[] | null,
): Promise<Statement> {
  const { fromMs, toMs } = zoneMonth(month, time_zone);
  const span = { accounts, where: {}, fromMs, toMs };
  const [byAccount, byModel, changes, directory] = await Promise.all([
    ledger.usage({ ...span, groupBy: 'account', splitBy: null }),
    ledger.usage({ ...span, groupBy: 'account', splitBy: 'model' }),
    ledger.repriced({ accounts, fromMs, toMs }),
    records.current(accounts),
  ]);
  const changed = new Map<string, number>();
  for (const { account, model, usdNano } of changes) {
    for (const name of [account, `${account}\n${model}`]) changed.set(name, (changed.get(name) ?? 0) + usdNano);
  }
  const linesOf = Map.groupBy(byModel, ({ group }) => group);
  const data = byAccount.map((one): Row => {
    const { group: account } = one;
    const whole = sumsOf(one, changed.get(account) ?? 0);
    const lines = (linesOf.get(account) ?? []).map((part) => {
      const model = part.split ?? '';
      return { model, ...sumsOf(part, changed.get(`${account}\n${model}`) ?? 0) };
    });
    return { account, name: directory.account(account)?.name ?? account, ...whole, lines: withRest(whole, lines) };
  });
  const inOrder = data.toSorted((a, b) => (a.account < b.account ? -1 : 1));
  return {
    object: 'statement',
    month,
    time_zone,
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    status: clock.wallMs() < toMs + sumDelayMs ? 'running' : 'open',
    closed_at: null,
    closed_by: null,
    totals: totalOf(inOrder),
    data: inOrder,
  };
}

const nanoPerUsd = 1e9;

function sumsOf(row: UsageRow, changedNano: number): Sums {
  return {
    requests: row.requests,
    errors: row.errors,
    units: row.milliUnits / 1_000,
    input_tokens: row.inputTokens,
    output_tokens: row.outputTokens,
    cost_usd: row.costUsd,
    unpriced_requests: row.unpriced,
    recalculated_usd: changedNano / nanoPerUsd,
  };
}

/** Whole nano-units, so that a sum shows no binary dust. */
function added(a: Sums, b: Sums, sign: 1 | -1): Sums {
  const all = sumNames.map((name) => [name, Math.round((a[name] + sign * b[name]) * nanoPerUsd) / nanoPerUsd]);
  return Object.fromEntries(all) as Sums;
}

const nothing = Object.fromEntries(sumNames.map((name) => [name, 0])) as Sums;

function totalOf(rows: readonly Sums[]): Sums {
  return rows.reduce<Sums>((sum, one) => added(sum, one, 1), nothing);
}

/** There may be more models than one question answers: the rest is a line without a model, so that lines add up. */
function withRest(whole: Sums, lines: Row['lines']): Row['lines'] {
  const rest = added(whole, totalOf(lines), -1);
  return rest.requests === 0 ? lines : [...lines, { model: '', ...rest }];
}
