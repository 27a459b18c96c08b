import type { Notice, NoticeStore } from '../../metering/notice-store.ts';
import { openCulvertDatabase } from './culvert-schema.ts';
import { transaction } from './transaction.ts';

export interface SqliteNoticeStore extends NoticeStore {
  close(): Promise<void>;
}

/** Notices in `culvert.db`. A stored notice survives a power cut. */
export function openSqliteNoticeStore(file: string): SqliteNoticeStore {
  const database = openCulvertDatabase(file, 'fsync');
  const note = database.prepare('INSERT OR IGNORE INTO crossing VALUES (?, ?, ?, ?)');
  const queue = database.prepare('INSERT INTO notice VALUES (?, ?, ?, ?, ?, ?)');
  const forget = database.prepare('DELETE FROM crossing WHERE scope = ? AND limit_id = ? AND share = ?');
  const crossings = database.prepare('SELECT * FROM crossing ORDER BY crossed_ms, scope, limit_id, share');
  const dueNotices = database.prepare('SELECT * FROM notice WHERE next_ms <= ? ORDER BY created_ms, id LIMIT ?');
  const lease = database.prepare('UPDATE notice SET next_ms = ? WHERE id = ?');
  const retry = database.prepare('UPDATE notice SET tries = ?, next_ms = ? WHERE id = ?');
  const remove = database.prepare('DELETE FROM notice WHERE id = ?');

  return {
    cross: (crossing, notice) =>
      transaction(database, () => {
        const { scope, limit, share, crossedMs } = crossing;
        if (note.run(scope, limit, share, crossedMs).changes === 0) return false;
        queue.run(notice.id, notice.plan, notice.body, notice.createdMs, notice.tries, notice.createdMs);
        return true;
      }),
    async rearm(scope, limit, share) {
      await transaction(database, () => forget.run(scope, limit, share));
    },
    async crossed() {
      return crossings.all().map((row) => ({
        scope: String(row.scope),
        limit: String(row.limit_id),
        share: Number(row.share),
        crossedMs: Number(row.crossed_ms),
      }));
    },
    async due(nowMs, leaseUntilMs, limit) {
      // Asked all the time, and mostly nothing is due: then it waits for nobody's write.
      if (dueNotices.get(nowMs, 1) === undefined) return [];
      return transaction(database, () => {
        const notices = dueNotices.all(nowMs, limit).map(noticeOf);
        for (const { id } of notices) lease.run(leaseUntilMs, id);
        return notices;
      });
    },
    async delivered(id) {
      await transaction(database, () => remove.run(id));
    },
    async failed(id, tries, nextMs) {
      await transaction(database, () => (nextMs === null ? remove.run(id) : retry.run(tries, nextMs, id)));
    },
    async close() {
      database.close();
    },
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
