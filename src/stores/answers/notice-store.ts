import type {
  Crossing,
  EndedNotice,
  ListedNotice,
  Notice,
  NoticeQuery,
  NoticeStore,
} from '../../books/metering/notices/notice-store.ts';
import { rowShape } from '../row-shape.ts';
import type { ClosableTables, Step } from '../sql-tables.ts';

const crossingShape = rowShape<Crossing>()(
  { text: ['scope', 'limit'], number: ['share', 'crossedMs'] },
  { limit: 'limit_id' },
);
const noticeShape = rowShape<Notice>()({ text: ['id', 'plan', 'body'], number: ['createdMs', 'tries'] });
const listedShape = rowShape<ListedNotice>()({
  text: ['id', 'plan', 'body', 'state'],
  'text?': ['reason'],
  number: ['createdMs', 'tries'],
  'number?': ['nextMs', 'endedMs'],
});

/** The history holds this many, and none that ended longer ago. */
export const noticeHistory = { rowsMax: 10_000, ageMaxMs: 30 * 86_400_000 } as const;

/** Notices, and what was reported of each window, over either database. `aheadMs`: as in `JobWorker`. */
export function createNoticeStore(
  { prefix, rows, write, close, run }: ClosableTables,
  aheadMs = () => 0,
): NoticeStore & Pick<ClosableTables, 'close'> {
  const crossing = `${prefix}crossing`;
  const notice = `${prefix}notice`;
  const ended = `${prefix}ended_notice`;
  return {
    async cross(crossed, queued) {
      const sql = `${crossingShape.insert(crossing)} ON CONFLICT DO NOTHING`;
      // Queued exactly where the crossing is new.
      const [noted] = await write([
        { sql, values: crossingShape.cells(crossed), needed: true },
        queueStep(prefix, queued, aheadMs()),
      ]);
      return noted === 1;
    },
    async rearm(scope, limit, share) {
      const sql = `DELETE FROM ${crossing} WHERE scope = $1 AND limit_id = $2 AND share = $3`;
      await run(sql, [scope, limit, share]);
    },
    async crossed(scope) {
      return (await rows(`SELECT * FROM ${crossing} WHERE scope = $1`, [scope])).map(crossingShape.read);
    },
    async crossings(behind, limit) {
      const after = behind === null ? '' : 'WHERE (scope, limit_id, share) > ($2, $3, $4)';
      const sql = `SELECT * FROM ${crossing} ${after} ORDER BY scope, limit_id, share LIMIT $1`;
      const values = behind === null ? [limit] : [limit, behind.scope, behind.limit, behind.share];
      return (await rows(sql, values)).map(crossingShape.read);
    },
    async due(ourNowMs, leaseUntilMs, limit, but = []) {
      const nowMs = ourNowMs + aheadMs();
      // Asked all the time, and mostly nothing is due: then it waits for nobody's write.
      if ((await rows(`SELECT id FROM ${notice} WHERE next_ms <= $1 LIMIT 1`, [nowMs])).length === 0) return [];
      const others = but.length === 0 ? '' : `AND plan NOT IN (${but.map((_, at) => `$${at + 4}`).join(', ')})`;
      const due = `SELECT id FROM (
          SELECT id, created_ms, row_number() OVER (PARTITION BY plan ORDER BY created_ms, id) AS turn
          FROM ${notice} WHERE next_ms <= $1 ${others}
        ) AS waiting ORDER BY turn, created_ms, id LIMIT $2`;
      // Of replicas that ask at one moment, the second finds the first's rows leased.
      const lease = `UPDATE ${notice} SET next_ms = $3 WHERE next_ms <= $1 AND id IN (${due}) RETURNING *`;
      const leased = (await rows(lease, [nowMs, limit, leaseUntilMs + aheadMs(), ...but])).map(noticeShape.read);
      return leased.toSorted((a, b) => a.createdMs - b.createdMs || (a.id < b.id ? -1 : 1));
    },
    async retry(id, { tries, nextMs, reason }) {
      const sql = `UPDATE ${notice} SET tries = $2, next_ms = $3, reason = $4 WHERE id = $1`;
      await run(sql, [id, tries, nextMs + aheadMs(), reason]);
    },
    end: async (id, how) => void (await write(endOf(notice, ended, id, how))),
    list: (query) => rows(...listedNotices(notice, ended, query)).then((found) => found.map(listedShape.read)),
    close,
  };
}

/** Queues a notice that is due at once. `aheadMs`: how far the store's clock is before ours. */
export function queueStep(prefix: string, notice: Notice, aheadMs: number): Step {
  const sql = `INSERT INTO ${prefix}notice (${noticeShape.columns}, next_ms) VALUES ($1, $2, $3, $4, $5, $6)`;
  return { sql, values: [...noticeShape.cells(notice), notice.createdMs + aheadMs] };
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
