import { hourMs } from '../../kernel/clock.ts';

/**
 * SQL that makes the hours of `traffic` from earlier roll-ups: counts without durations. `schema` is the tables'
 * prefix.
 */
export function trafficOfPast(schema: '' | 'culvert.'): string {
  const counts = ['requests', 'errors', 'cost_milli', 'input_tokens', 'output_tokens', 'usd_nano'];
  const kinds = { all: "''", account: 'account', model: 'alias', provider: 'provider' };
  return Object.entries(kinds)
    .map(
      ([kind, name]) => `
      INSERT INTO ${schema}traffic (grain_ms, kind, name, bucket, ${counts.join(', ')})
        SELECT ${hourMs}, '${kind}', ${name}, hour, ${counts.map((count) => `sum(${count})`).join(', ')}
        FROM ${schema}rollup WHERE '${kind}' <> 'provider' OR provider <> '' GROUP BY ${name === "''" ? '' : `${name}, `}hour;`,
    )
    .join('');
}
