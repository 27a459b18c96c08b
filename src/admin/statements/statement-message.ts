import type { Statement } from './statement-schema.ts';

/** A statement as a webhook gets it. */
export interface StatementMessage {
  type: 'statement';
  timestamp: string;
  data: Statement;
}

/** Accounts that the text of a mail names; its files have all. */
const namedMax = 50;

/** One line that says the most of it, for a subject. */
export function statementSubject({ data: { month, totals, data } }: StatementMessage): string {
  const [only, ...more] = data;
  const scope = only !== undefined && more.length === 0 ? only.name : `${data.length} accounts`;
  return `Statement ${month} of ${scope}: ${usd(totals)}`;
}

/** The sums as plain text, a line for each account. */
export function statementText({ data: { month, time_zone: zone, totals, data } }: StatementMessage): string {
  const byCost = data.toSorted((a, b) => b.cost_usd - a.cost_usd);
  const lines = byCost.slice(0, namedMax).map(({ account, name, ...sums }) => {
    return `${name === account ? account : `${name} (${account})`}: ${used(sums)}`;
  });
  const others = data.length - lines.length;
  return [
    `Use in ${month}, time zone ${zone}: ${used(totals)}`,
    '',
    ...lines,
    ...(others > 0 ? [`${others} more accounts are in the attached files.`] : []),
    '',
    'The attached CSV has a row for each account and model. The attached page can be printed or saved as PDF.',
    '',
  ].join('\n');
}

type Sums = Pick<Statement['totals'], 'requests' | 'cost_usd' | 'unpriced_requests'>;

function used(sums: Sums): string {
  const { requests, unpriced_requests: unpriced } = sums;
  const count = `${requests.toLocaleString('en-US')} request${requests === 1 ? '' : 's'}`;
  return `${usd(sums)}, ${count}${unpriced > 0 ? `, ${unpriced.toLocaleString('en-US')} without a price` : ''}`;
}

function usd({ cost_usd }: Pick<Sums, 'cost_usd'>): string {
  return cost_usd.toLocaleString('en-US', { style: 'currency', currency: 'USD' });
}
