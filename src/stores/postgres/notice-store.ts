import type { Notice, NoticeStore } from '../../metering/notice-store.ts';
import type { Database } from './database.ts';
import { unavailable } from './unavailable.ts';

export function createPostgresNoticeStore({ rest }: Pick<Database, 'rest'>): NoticeStore {
  return {
    async cross(crossing, notice) {
      // One statement: the notice is queued exactly where the crossing is new.
      const { changes } = await unavailable(
        rest.run(cross, [
          crossing.scope,
          crossing.limit,
          crossing.share,
          crossing.crossedMs,
          notice.id,
          notice.plan,
          notice.body,
          notice.createdMs,
          notice.tries,
        ]),
      );
      return changes === 1;
    },
    async rearm(scope, limit, share) {
      await unavailable(
        rest.run('DELETE FROM culvert.crossing WHERE scope = $1 AND limit_id = $2 AND share = $3', [
          scope,
          limit,
          share,
        ]),
      );
    },
    async crossed() {
      const { rows } = await unavailable(
        rest.run<{ scope: string; limit_id: string; share: number; crossed_ms: number }>(
          'SELECT * FROM culvert.crossing ORDER BY crossed_ms',
        ),
      );
      return rows.map((row) => ({
        scope: row.scope,
        limit: row.limit_id,
        share: row.share,
        crossedMs: row.crossed_ms,
      }));
    },
    async due(nowMs, leaseUntilMs, limit) {
      const { rows } = await unavailable(rest.run<NoticeColumns>(leaseDue, [nowMs, leaseUntilMs, limit]));
      return rows.map(noticeOf).toSorted((a, b) => a.createdMs - b.createdMs);
    },
    async delivered(id) {
      await unavailable(rest.run('DELETE FROM culvert.notice WHERE id = $1', [id]));
    },
    async failed(id, tries, nextMs) {
      await unavailable(
        nextMs === null
          ? rest.run('DELETE FROM culvert.notice WHERE id = $1', [id])
          : rest.run('UPDATE culvert.notice SET tries = $2, next_ms = $3 WHERE id = $1', [id, tries, nextMs]),
      );
    },
  };
}

interface NoticeColumns {
  id: string;
  plan: string;
  body: string;
  created_ms: number;
  tries: number;
}

function noticeOf(row: NoticeColumns): Notice {
  return { id: row.id, plan: row.plan, body: row.body, createdMs: row.created_ms, tries: row.tries };
}

const cross = {
  name: 'notice-cross',
  text: `
    WITH crossed AS (
      INSERT INTO culvert.crossing (scope, limit_id, share, crossed_ms) VALUES ($1, $2, $3, $4)
      ON CONFLICT DO NOTHING RETURNING 1
    )
    INSERT INTO culvert.notice (id, plan, body, created_ms, tries, next_ms)
    SELECT $5, $6, $7, $8::bigint, $9, $8::bigint FROM crossed`,
};
/** Replicas that ask at one moment get different ones. */
const leaseDue = {
  name: 'notice-due',
  text: `
    UPDATE culvert.notice SET next_ms = $2 WHERE id IN (
      SELECT id FROM culvert.notice WHERE next_ms <= $1 ORDER BY created_ms, id LIMIT $3 FOR UPDATE SKIP LOCKED
    ) RETURNING *`,
};
