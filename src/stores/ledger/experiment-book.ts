import type { ExperimentBook, ExperimentRows, ResultsQuery } from '../../books/metering/experiments/experiment-book.ts';
import { change, read, type SqlTables } from '../sql-tables.ts';
import { idSlackMs, type RequestOrder } from './request-pages.ts';

/** Results have so many metrics: those with most feedback. */
const resultMetricsMax = 100;

/** Feedback and states over either database; who reads sums decides where that runs. */
export function createExperimentBook(tables: SqlTables): Omit<ExperimentBook, 'results'> {
  const { prefix, rows, transaction } = tables;
  const table = `${prefix}feedback`;
  const others = `SELECT count(*) AS n FROM ${table} WHERE request_id = $1 AND metric <> $2`;
  const put = `INSERT INTO ${table}
    (request_id, metric, value, is_boolean, comment, at_ms, account, alias, variant, request_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT (request_id, metric) DO UPDATE SET value = $3, is_boolean = $4, comment = $5, at_ms = $6`;
  return {
    rate: ({ requestId, metric, value, comment, atMs }, { account, alias, variant, atMs: requestMs }, metricsMax) =>
      transaction('write', function* () {
        const [counted] = yield* read(others, [requestId, metric]);
        if (Number(counted?.n) >= metricsMax) return 'too-many';
        const isBoolean = typeof value === 'boolean' ? 1 : 0;
        const rated = [requestId, metric, Number(value), isBoolean, comment, atMs];
        yield* change(put, [...rated, account, alias, variant, requestMs]);
        return 'kept';
      }),
    async feedbackOf(requestId) {
      const found = await rows(`SELECT * FROM ${table} WHERE request_id = $1 ORDER BY metric`, [requestId]);
      return found.map((row) => ({
        requestId: String(row.request_id),
        metric: String(row.metric),
        value: Number(row.is_boolean) === 1 ? Number(row.value) === 1 : Number(row.value),
        comment: row.comment === null ? null : String(row.comment),
        atMs: Number(row.at_ms),
      }));
    },
    ...variantStates(tables),
  };
}

/** States of earlier definitions are forgotten after so long. */
const forgottenMs = 90 * 86_400_000;

function variantStates(tables: SqlTables): Pick<ExperimentBook, 'states' | 'begin' | 'takeOut' | 'takeBack'> {
  const { prefix, rows, write, run } = tables;
  const table = `${prefix}variant_state`;
  const ofOne = 'WHERE alias = $1 AND shape = $2 AND variant = $3';
  return {
    async states({ alias, shape }) {
      const found = await rows(`SELECT * FROM ${table} WHERE alias = $1 AND shape = $2`, [alias, shape]);
      return found.map((row) => ({
        variant: String(row.variant),
        sinceMs: Number(row.since_ms),
        out: row.out_ms === null ? null : { atMs: Number(row.out_ms), reason: String(row.reason) },
      }));
    },
    async begin({ alias, shape }, variants, nowMs) {
      const insert = `INSERT INTO ${table} (alias, shape, variant, since_ms) VALUES ($1, $2, $3, $4)
        ON CONFLICT (alias, shape, variant) DO NOTHING`;
      const forget = `DELETE FROM ${table} WHERE alias = $1 AND shape <> $2 AND since_ms < $3`;
      await write([
        { sql: forget, values: [alias, shape, nowMs - forgottenMs] },
        ...variants.map((variant) => ({ sql: insert, values: [alias, shape, variant, nowMs] })),
      ]);
    },
    async takeOut({ alias, shape }, variant, { atMs, reason }) {
      const sql = `UPDATE ${table} SET out_ms = $4, reason = $5 ${ofOne} AND out_ms IS NULL`;
      return (await run(sql, [alias, shape, variant, atMs, reason])) === 1;
    },
    async takeBack({ alias, shape }, variant, nowMs) {
      const sql = `UPDATE ${table} SET out_ms = NULL, reason = NULL, since_ms = $4 ${ofOne} AND out_ms IS NOT NULL`;
      return (await run(sql, [alias, shape, variant, nowMs])) === 1;
    },
  };
}

/** The port's `results`. Reads all requests of the time: not on the loop. */
export async function readResults(
  { prefix, rows, oneOf }: Pick<SqlTables, 'prefix' | 'rows' | 'oneOf'>,
  place: Pick<RequestOrder<string | number>, 'column' | 'at'>,
  { alias, accounts, fromMs, toMs, apart }: ResultsQuery,
): Promise<ExperimentRows> {
  const accountFilter = (at: string) => (accounts === null ? '' : `AND ${oneOf('account', at)}`);
  const ofTime = `FROM ${prefix}usage_event
     WHERE alias = $1 AND at_ms >= $2 AND at_ms < $3 AND ${place.column} >= $4 AND ${place.column} < $5
       AND usage_source <> 'refused' ${accountFilter('$6')}`;
  const values = [alias, fromMs, toMs, place.at(fromMs - idSlackMs), place.at(toMs + idSlackMs)];
  const filtered = [...values, ...(accounts ? [accounts] : [])];
  const [next, last] = accounts === null ? ['$6', '$7'] : ['$7', '$8'];
  const who = apart?.by === 'account' ? 'account' : `key_id || ' ' || coalesce("user", session, '')`;
  const busiest: string[] = [];
  for (const variant of apart?.variants ?? []) {
    const found = await rows(
      `SELECT ${who} AS who ${ofTime} AND variant = ${next} GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT ${last}`,
      [...filtered, variant, apart?.count ?? 0],
    );
    busiest.push(...found.map((row) => String(row.who)));
  }
  const by = apart === undefined ? 'NULL' : `CASE WHEN ${oneOf(who, next)} THEN ${who} END`;
  const times = await rows(
    `SELECT variant, CASE WHEN cache IN ('hit', 'semantic') THEN NULL
         WHEN first_token_ms > 10000 THEN first_token_ms / 100 * 100 ELSE first_token_ms END AS ms, ${by} AS who,
       count(*) AS requests, sum(CASE WHEN class = 'ok' THEN 0 ELSE 1 END) AS errors,
       sum(CASE WHEN class <> 'ok' AND status >= 500 THEN 1 ELSE 0 END) AS faults, sum(coalesce(cost_usd, 0)) AS usd
     ${ofTime} GROUP BY 1, 2, 3`,
    apart === undefined ? filtered : [...filtered, busiest],
  );
  const ofFeedback = `FROM ${prefix}feedback
     WHERE alias = $1 AND request_ms >= $2 AND request_ms < $3 ${accountFilter('$5')}`;
  // Callers choose the names.
  const ratings = await rows(
    `SELECT variant, metric, is_boolean, count(*) AS n, sum(value) AS total, sum(value * value) AS squares
     ${ofFeedback} AND metric IN (SELECT metric ${ofFeedback} GROUP BY metric ORDER BY count(*) DESC, metric LIMIT $4)
     GROUP BY variant, metric, is_boolean ORDER BY metric, is_boolean`,
    [alias, fromMs, toMs, resultMetricsMax, ...(accounts ? [accounts] : [])],
  );
  return {
    times: times.map(({ variant, ms, who: caller, requests, errors, faults, usd }) => ({
      variant: nameIn(variant),
      firstTokenMs: ms === null ? null : Number(ms),
      requests: Number(requests),
      errors: Number(errors),
      faults: Number(faults),
      by: nameIn(caller),
      costUsd: Number(usd),
    })),
    ratings: ratings.map(({ variant, metric, is_boolean: isBoolean, n, total, squares }) => ({
      variant: nameIn(variant),
      metric: String(metric),
      kind: Number(isBoolean) === 1 ? 'boolean' : 'number',
      n: Number(n),
      sum: Number(total),
      sumOfSquares: Number(squares),
    })),
  };
}

function nameIn(variant: unknown): string | null {
  return variant === null ? null : String(variant);
}
