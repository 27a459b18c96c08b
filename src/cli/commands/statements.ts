import type { ClosedStatements, Statement } from '../../admin/statements/statement-schema.ts';
import { type AdminFlags, withAdmin } from '../admin-client.ts';
import { calls, overAdmin } from '../admin-entries.ts';
import type { CommandBody, OptionEntry } from '../command-table.ts';
import type { CliParts } from '../parts.ts';
import { listForm, note, print, printJson, writeOut } from '../print.ts';
import { rowTable, shownTime } from '../rows.ts';
import { usdOf } from './usage.ts';

const zone: OptionEntry = [
  '--time-zone <name>',
  'where the month begins and ends, such as Europe/Berlin',
  { default: 'UTC' },
];
const account: OptionEntry = ['--account <id>', 'only this account'];
const month = [['<month>', 'a calendar month such as 2026-10']] as const;

interface StatementFlags extends AdminFlags {
  timeZone: string;
  account?: string;
}

export const statements: CommandBody = {
  example: 'culvert statements show 2026-10 --time-zone Europe/Berlin',
  commands: {
    // The month is in the query, not in the path.
    show: overAdmin({
      description: 'show what each account used in a calendar month',
      arguments: month,
      options: [zone, account],
      example: 'culvert statements show 2026-10 --time-zone Europe/Berlin',
      work: () => show,
    }),
    export: overAdmin({
      description: 'print it as CSV by account and model, or as a page to print',
      arguments: month,
      options: [
        zone,
        account,
        ['--format <format>', 'form of the export', { choices: ['csv', 'html'], default: 'csv' }],
      ],
      example: 'culvert statements export 2026-10 > october.csv',
      work: () => exported,
    }),
    close: calls<Statement, StatementFlags>({
      description: 'close a month that is over: its statement never changes again',
      arguments: month,
      options: [zone],
      example: 'culvert statements close 2026-10 --time-zone Europe/Berlin',
      call: 'POST /statements/close',
      body: ({ timeZone }, name) => ({ month: name, time_zone: timeZone }),
      describe: (closed) =>
        `${closed.month} is closed in ${closed.time_zone} since ${shownTime(closed.closed_at)}, by ${closed.closed_by}: $${closed.totals.cost_usd}.`,
    }),
    closed: calls<ClosedStatements>({
      description: 'list the months that are closed',
      example: 'culvert statements closed',
      call: 'GET /statements/closed',
      describe: ({ data }) =>
        data.length === 0
          ? 'No month is closed.'
          : data.map((one) => `${one.month} in ${one.time_zone}, ${shownTime(one.closed_at)} by ${one.closed_by}`),
    }),
  },
};

async function show(name: string, flags: StatementFlags, parts: CliParts): Promise<number> {
  return withAdmin(flags, parts, async (admin) => {
    const query = queryOf(name, flags);
    const statement = (await admin.request('GET', '/statements', { query })) as Statement;
    if (listForm(flags) === 'json') printJson(statement);
    else if (statement.data.length === 0) note('There was no usage in this month.');
    else {
      const total = { account: 'total', ...statement.totals };
      print(
        rowTable(
          [...statement.data, total],
          [
            ['account', (row) => row.account],
            ['requests', (row) => row.requests],
            ['input tokens', (row) => row.input_tokens],
            ['output tokens', (row) => row.output_tokens],
            ['USD', usdOf],
          ],
        ),
      );
      note(statement.status === 'closed' ? `Closed by ${statement.closed_by}.` : `Not closed (${statement.status}).`);
    }
    return 0;
  });
}

function exported(name: string, flags: StatementFlags & { format: string }, parts: CliParts): Promise<number> {
  if (flags.json === true) return show(name, flags, parts);
  return withAdmin(flags, parts, async (admin) => {
    for await (const piece of admin.read(`/statements.${flags.format}`, queryOf(name, flags))) writeOut(piece);
    return 0;
  });
}

function queryOf(month: string, { timeZone, account }: StatementFlags) {
  return { month, time_zone: timeZone, account };
}
