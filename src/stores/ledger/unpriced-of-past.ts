import { unpricedSql } from '../../books/ledger/columns.ts';
import { hourMs, minuteMs } from '../../kernel/clock.ts';

/** How each table with the new column gets its counts: from single requests, or from sums that have them already. */
interface Filled {
  table: string;
  /** Its key, as expressions over the source. */
  key: Readonly<Record<string, string>>;
  source: string;
  counts: string;
}

const ofKey = { account: 'account', key_id: 'key_id', endpoint: 'endpoint', alias: 'alias' };
const kinds = { all: "''", account: 'account', model: 'alias', provider: 'provider' };

/**
 * SQL that adds the count of requests without a price to all sums that have USD, and fills it for the requests that are
 * still kept. `schema` is the tables' prefix.
 */
export function unpricedOfPast(schema: '' | 'culvert.'): string {
  const whole = schema === '' ? 'INTEGER' : 'BIGINT';
  const provider =
    schema === '' ? `substr(target, 1, instr(target, '/') - 1)` : `substr(target, 1, strpos(target, '/') - 1)`;
  // Read once: there may be millions of requests, few of which have no price.
  const past = 'unpriced_past';
  const ofPast = (table: string, key: Filled['key']): Filled => ({ table, key, source: past, counts: 'count(*)' });
  const ofHours = (table: string, key: Filled['key']): Filled => ({
    table,
    key,
    source: `${schema}rollup WHERE unpriced > 0`,
    counts: 'sum(unpriced)',
  });
  const byDay = { day: 'day', account: 'account', key_id: 'key_id', alias: 'alias' };
  const filled: Filled[] = [
    ofPast('rollup', { hour: `at_ms / ${hourMs}`, ...ofKey, provider: 'provider' }),
    ofHours('rollup_day', { day: 'hour / 24', ...ofKey, provider: 'provider' }),
    ofPast('rollup_name', { ...byDay, '"user"': '"user"', tag: 'tag' }),
    ofPast('rollup_user', { ...byDay, '"user"': '"user"' }),
    ofPast('rollup_tag', { ...byDay, tag: 'tag' }),
    ...Object.entries(kinds).flatMap(([kind, name]) => [
      ofPast('traffic', { grain_ms: `${minuteMs}`, kind: `'${kind}'`, name, bucket: `at_ms / ${minuteMs}` }),
      ofHours('traffic', { grain_ms: `${hourMs}`, kind: `'${kind}'`, name, bucket: 'hour' }),
    ]),
  ];
  const tables = [...new Set(filled.map(({ table }) => table))];
  return `
    ${tables.map((table) => `ALTER TABLE ${schema}${table} ADD COLUMN unpriced ${whole} NOT NULL DEFAULT 0;`).join('\n')}
    CREATE TEMP TABLE ${past} AS SELECT at_ms, at_ms / ${24 * hourMs} AS day, account, key_id, endpoint, alias,
      ${provider} AS provider, coalesce("user", '') AS "user", coalesce(tag, '') AS tag
      FROM ${schema}usage_event WHERE ${unpricedSql};
    ${filled.map((one) => fillSql(schema, one)).join('\n')}
    DROP TABLE ${past};`;
}

function fillSql(schema: string, { table, key, source, counts }: Filled): string {
  const columns = Object.entries(key);
  const ours = columns.map(([, from], at) => `${from} AS k${at}`).join(', ');
  const same = columns.map(([column], at) => `${table}.${column} = ours.k${at}`).join(' AND ');
  return `UPDATE ${schema}${table} SET unpriced = ours.unpriced FROM (
    SELECT ${ours}, ${counts} AS unpriced FROM ${source} GROUP BY ${columns.map((_, at) => at + 1).join(', ')}
    ) AS ours WHERE ${same};`;
}
