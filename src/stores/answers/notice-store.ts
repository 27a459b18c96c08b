import type {
  Crossing,
  EndedNotice,
  ListedNotice,
  Notice,
  NoticeQuery,
  NoticeStore,
} from '../../books/metering/notices/notice-store.ts';
import type { ClosableTables } from '../sql-tables.ts';

/** The history holds this many, and none that ended longer ago. */
export const noticeHistory = { rowsMax: 10_000, ageMaxMs: 30 * 86_400_000 } as const;

/** Notices, and what was reported of each window, over either database. */
export function createNoticeStore({
  prefix,
  rows,
  write,
  close,
}: ClosableTables): NoticeStore & Pick<ClosableTables, 'close'> {
  const crossing = `${prefix}crossing`;
  const notice = `${prefix}notice`;
  const ended = `${prefix}ended_notice`;
  return {
    async cross({ scope, limit, share, crossedMs }, { id, plan, body, createdMs, tries }) {
      const note = `INSERT INTO ${crossing} (scope, limit_id, share, crossed_ms) VALUES ($1, $2, $3, $4)
        ON CONFLICT DO NOTHING`;
      const queue = `INSERT INTO ${notice} (id, plan, body, created_ms, tries, next_ms) VALUES ($1, $2, $3, $4, $5, $6)`;
      // Queued exactly where the crossing is new.
      const [noted] = await write([
        { sql: note, values: [scope, limit, share, crossedMs], needed: true },
        { sql: queue, values: [id, plan, body, createdMs, tries, createdMs] },
      ]);
      return noted === 1;
    },
    async rearm(scope, limit, share) {
      const sql = `DELETE FROM ${crossing} WHERE scope = $1 AND limit_id = $2 AND share = $3`;
      await write([{ sql, values: [scope, limit, share] }]);
    },
    async crossed(scope) {
      return (await rows(`SELECT * FROM ${crossing} WHERE scope = $1`, [scope])).map(crossingOf);
    },
    async crossings(behind, limit) {
      const after = behind === null ? '' : 'WHERE (scope, limit_id, share) > ($2, $3, $4)';
      const sql = `SELECT * FROM ${crossing} ${after} ORDER BY scope, limit_id, share LIMIT $1`;
      const values = behind === null ? [limit] : [limit, behind.scope, behind.limit, behind.share];
      return (await rows(sql, values)).map(crossingOf);
    },
    async due(nowMs, leaseUntilMs, limit, but = []) {
      // Asked all the time, and mostly nothing is due: then it waits for nobody's write.
      if ((await rows(`SELECT id FROM ${notice} WHERE next_ms <= $1 LIMIT 1`, [nowMs])).length === 0) return [];
      const others = but.length === 0 ? '' : `AND plan NOT IN (${but.map((_, at) => `$${at + 4}`).join(', ')})`;
      const due = `SELECT id FROM (
          SELECT id, created_ms, row_number() OVER (PARTITION BY plan ORDER BY created_ms, id) AS turn
          FROM ${notice} WHERE next_ms <= $1 ${others}
        ) AS waiting ORDER BY turn, created_ms, id LIMIT $2`;
      // Of replicas that ask at one moment, the second finds the first's rows leased.
      const lease = `UPDATE ${notice} SET next_ms = $3 WHERE next_ms <= $1 AND id IN (${due}) RETURNING *`;
      const leased = (await rows(lease, [nowMs, limit, leaseUntilMs, ...but])).map(noticeOf);
      return leased.toSorted((a, b) => a.createdMs - b.createdMs || (a.id < b.id ? -1 : 1));
    },
    async retry(id, { tries, nextMs, reason }) {
      const sql = `UPDATE ${notice} SET tries = $2, next_ms = $3, reason = $4 WHERE id = $1`;
      await write([{ sql, values: [id, tries, nextMs, reason] }]);
    },
    end: async (id, how) => void (await write(endOf(notice, ended, id, how))),
    list: (query) => rows(...listedNotices(notice, ended, query)).then((found) => found.map(listedOf)),
    close,
  };
}

function crossingOf(row: Record<string, unknown>): Crossing {
  return {
    scope: String(row.scope),
    limit: String(row.limit_id),
    share: Number(row.share),
    crossedMs: Number(row.crossed_ms),
  };
}

function noticeOf(row: Record<string, unknown>): Notice {
  return {
    id: String(row.id),
    plan: String(row.plan),
    body: String(row.body),
    createdMs: Number(row.created_ms),
    tries: Number(row.tries),
  };
}

/** The statements that move a notice into the history, and forget what is too old. */
function endOf(notice: string, ended: string, id: string, { state, tries, reason, endedMs }: EndedNotice) {
  const move = `INSERT INTO ${ended} (id, plan, body, created_ms, tries, state, reason, ended_ms)
    SELECT id, plan, body, created_ms, $2, $3, $4, $5 FROM ${notice} WHERE id = $1 ON CONFLICT DO NOTHING`;
  const over = `DELETE FROM ${ended} WHERE ended_ms < $1 OR ended_ms <= (
    SELECT ended_ms FROM ${ended} ORDER BY ended_ms DESC LIMIT 1 OFFSET ${noticeHistory.rowsMax})`;
  return [
    { sql: move, values: [id, tries, state, reason, endedMs] },
    { sql: `DELETE FROM ${notice} WHERE id = $1`, values: [id] },
    { sql: over, values: [endedMs - noticeHistory.ageMaxMs] },
  ];
}

/** The statement of a list, and its values. */
function listedNotices(notice: string, ended: string, { limit, before, plans }: NoticeQuery): [string, unknown[]] {
  const isOfPlans = plans === 'quota';
  const beginWith = plans === null || isOfPlans ? '' : plans.beginWith;
  const following = before === null ? '' : ' AND (created_ms < $4 OR (created_ms = $4 AND id < $5))';
  const sql = `SELECT * FROM (
      SELECT id, plan, body, created_ms, tries, 'waiting' AS state, reason, next_ms, NULL AS ended_ms FROM ${notice}
      UNION ALL
      SELECT id, plan, body, created_ms, tries, state, reason, NULL AS next_ms, ended_ms FROM ${ended}
    ) AS every_notice
    WHERE substr(plan, 1, length($2)) = $2 AND ($3 = 0 OR plan NOT LIKE '% %')${following}
    ORDER BY created_ms DESC, id DESC LIMIT $1`;
  return [sql, [limit, beginWith, isOfPlans ? 1 : 0, ...(before === null ? [] : [before.createdMs, before.id])]];
}

function listedOf(row: Record<string, unknown>): ListedNotice {
  return {
    ...noticeOf(row),
    state: String(row.state) as ListedNotice['state'],
    reason: row.reason === null ? null : String(row.reason),
    nextMs: row.next_ms === null ? null : Number(row.next_ms),
    endedMs: row.ended_ms === null ? null : Number(row.ended_ms),
  };
}
