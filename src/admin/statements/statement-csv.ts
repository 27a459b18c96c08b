import { csvLine } from '../csv.ts';
import { type Statement, sumNames } from './statement-schema.ts';

/** A statement as CSV: a row for each account and model. */
export function statementCsv({ month, time_zone, status, data }: Statement): string {
  const head = csvLine(['month', 'time_zone', 'status', 'account', 'name', 'model', ...sumNames]);
  const lines = data.flatMap(({ account, name, lines }) =>
    lines.map((one) =>
      csvLine([month, time_zone, status, account, name, one.model, ...sumNames.map((sum) => one[sum])]),
    ),
  );
  return head + lines.join('');
}
