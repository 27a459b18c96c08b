import type { UsageQuery, UsageRow } from '../../metering/ledger.ts';
import { type UsageDialect, usagePartSql, usageParts, usageRows, usageSumSql } from '../usage-sql.ts';
import type { Run } from './database.ts';
import { postgresMarks } from './marks.ts';

const dialect: UsageDialect = { schema: 'culvert.', slash: `strpos(target, '/')` };

/** See the port's `usage`. */
export async function readUsage(run: Run, query: UsageQuery): Promise<UsageRow[]> {
  const { marks, values } = postgresMarks();
  const parts = usageParts(query, await summedMs(run));
  const sql = parts.map((part) => usagePartSql(query, part, marks, dialect)).join(' UNION ALL ');
  const { rows } = await run(usageSumSql(sql), values);
  return usageRows(query, rows);
}

/** All days before are added up. */
export async function summedMs(run: Run): Promise<number> {
  const { rows } = await run<{ until_ms: number }>({
    name: 'summed-until',
    text: 'SELECT until_ms FROM culvert.summed',
  });
  return rows[0]?.until_ms ?? 0;
}
