import type { UsageQuery, UsageRow } from '../../metering/ledger.ts';
import type { Marks } from '../ledger-filters.ts';
import { idSlackMs } from '../request-pages.ts';
import { type UsageDialect, type UsagePart, usagePartSql, usageParts, usageRows, usageSumSql } from '../usage-sql.ts';
import type { Run } from './database.ts';
import { requestIdAt } from './ledger-reader.ts';
import { postgresMarks } from './marks.ts';

const dialect: UsageDialect = { schema: 'culvert.', slash: `strpos(target, '/')` };

/** See the port's `usage`. */
export async function readUsage(run: Run, query: UsageQuery): Promise<UsageRow[]> {
  const { marks, values } = postgresMarks();
  const parts = usageParts(query, await summedMs(run));
  const sql = parts.map((part) => usagePartSql(query, part, marks, dialect, keysOf(part, marks))).join(' UNION ALL ');
  const { rows } = await run(usageSumSql(sql), values);
  return usageRows(query, rows);
}

/** Single requests lie in the order of their ids: without them, all that are kept would be read. */
function keysOf({ source, from, to }: UsagePart, marks: Marks): string[] {
  if (source !== 'usage_event') return [];
  const [first, end] = [requestIdAt(from - idSlackMs), requestIdAt(to + idSlackMs)];
  return [`request_id >= ${marks.of(first)}`, `request_id < ${marks.of(end)}`];
}

/** All days before are added up. */
export async function summedMs(run: Run): Promise<number> {
  const { rows } = await run<{ until_ms: number }>({
    name: 'summed-until',
    text: 'SELECT until_ms FROM culvert.summed',
  });
  return rows[0]?.until_ms ?? 0;
}
