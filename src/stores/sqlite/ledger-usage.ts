import type { UsageQuery, UsageRow } from '../../metering/ledger.ts';
import { idSlackMs } from '../request-pages.ts';
import {
  type UsageDialect,
  type UsagePart,
  usagePartSql,
  usageParts,
  usageRows,
  usageSumNames,
  usageSumSql,
  usageSums,
} from '../usage-sql.ts';
import type { Database } from './database.ts';
import { ledgerKeyAt } from './ledger-writer.ts';
import { sqliteMarks } from './marks.ts';
import { summedMs } from './summed.ts';

const dialect: UsageDialect = { schema: '', slash: `instr(target, '/')` };
/** Events summed between two breaths: about 10 ms. */
const sliceRows = 10_000;
/** The same of days that are added up. */
const sliceDays = 31;

/** The port's `usage`: from roll-ups, and from single requests what these do not keep. */
export async function sumUsage(
  database: Database,
  query: UsageQuery,
  breathe: () => Promise<void>,
): Promise<UsageRow[]> {
  const parts = usageParts(query, summedMs(database));
  if (parts.some(({ source }) => source === 'usage_event')) return sumInFile(database, query, parts, breathe);
  const { marks, values } = sqliteMarks();
  const sql = parts.map((part) => usagePartSql(query, part, marks, dialect)).join(' UNION ALL ');
  return usageRows(query, database.prepare(usageSumSql(sql)).all(...values));
}

/** Callers choose what they send as `user`: there may be millions, so they are summed in a file, not in memory. */
async function sumInFile(
  database: Database,
  query: UsageQuery,
  parts: readonly UsagePart[],
  breathe: () => Promise<void>,
): Promise<UsageRow[]> {
  const table = `name_sum_${++sumsMade}`;
  database.exec(
    `CREATE TEMP TABLE ${table} (name ANY, split ANY, requests INTEGER, errors INTEGER, cost_milli INTEGER,
     input_tokens INTEGER, output_tokens INTEGER, usd_nano INTEGER, counted_tokens INTEGER, estimated_tokens INTEGER,
     counted_usd_nano INTEGER, estimated_usd_nano INTEGER, PRIMARY KEY (name, split)) STRICT, WITHOUT ROWID`,
  );
  try {
    const add = (part: UsagePart, conditions: readonly string[] = []) => {
      const { marks, values } = sqliteMarks();
      const rows = usagePartSql(query, part, marks, dialect, conditions);
      database
        .prepare(`INSERT INTO ${table} SELECT name, split, ${usageSums} FROM (${rows}) WHERE true
        GROUP BY name, split ON CONFLICT DO UPDATE SET ${added}`)
        .run(...values);
    };
    for (const part of parts) {
      if (part.source === 'usage_event') await inSlices(database, part, (keys) => add(part, [keys]), breathe);
      else
        for (let day = part.from; day < part.to; day += sliceDays) {
          add({ ...part, from: day, to: Math.min(part.to, day + sliceDays) });
          await breathe();
        }
    }
    return usageRows(query, database.prepare(usageSumSql(`SELECT * FROM ${table}`)).all());
  } finally {
    database.exec(`DROP TABLE ${table}`);
  }
}

const added = usageSumNames.map((name) => `${name} = ${name} + excluded.${name}`).join(', ');

/** Two may run in turns. */
let sumsMade = 0;

/** Reads some thousand events of a part at a time, by a condition on their key. */
export async function inSlices(
  database: Database,
  { from, to }: Pick<UsagePart, 'from' | 'to'>,
  each: (keys: string) => void,
  breathe: () => Promise<void>,
): Promise<void> {
  const sliceEnd = database.prepare(
    `SELECT key FROM usage_event WHERE key >= ? AND key < ? ORDER BY key LIMIT 1 OFFSET ${sliceRows}`,
  );
  const until = Math.max(0, ledgerKeyAt(to + idSlackMs));
  let at: number | null = Math.max(0, ledgerKeyAt(from - idSlackMs));
  while (at !== null) {
    const end: unknown = sliceEnd.get(at, until)?.key;
    const high: number = end === undefined ? until : Number(end);
    each(`key >= ${at} AND key < ${high}`);
    at = end === undefined ? null : high;
    await breathe();
  }
}
