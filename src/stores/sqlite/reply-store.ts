import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ReplyStore, ReplyTaken } from '../../metering/reply-store.ts';
import { openCulvertDatabase } from './culvert-schema.ts';
import { createHousekeeper, createLateCheckpoint } from './housekeeper.ts';
import { transaction } from './transaction.ts';

export interface SqliteReplyStore extends ReplyStore {
  close(): Promise<void>;
}

/** Rows removed in one turn of the loop, of up to a megabyte each. */
const sweepRows = 10;

/**
 * Replies in `culvert.db`. One server a folder: whatever runs under another boot than `bootId` runs no more. A power
 * cut may take the last replies, which costs a repeat its reply, so no turn of the loop waits for the disk.
 */
export function openSqliteReplyStore(options: {
  file: string;
  bootId: string;
  /** Hears of failed housekeeping. For the log. */
  onTrouble: (message: string) => void;
}): SqliteReplyStore {
  const { file, bootId, onTrouble } = options;
  const database = openCulvertDatabase(file, 'checkpoint');
  const housekeeper = createHousekeeper(file);
  const log = createLateCheckpoint(database, housekeeper, (error) =>
    onTrouble(`replies: checkpoint failed: ${String(error)}`),
  );
  const select = database.prepare('SELECT * FROM reply WHERE scope = ? AND key = ?');
  const put = database.prepare('INSERT OR REPLACE INTO reply VALUES (?, ?, ?, ?, ?, ?, NULL, NULL)');
  const keep = database.prepare(
    'UPDATE reply SET status = ?, sealed = ? WHERE scope = ? AND key = ? AND request_id = ?',
  );
  const release = database.prepare('DELETE FROM reply WHERE scope = ? AND key = ? AND request_id = ?');
  const sweep = database.prepare(
    'DELETE FROM reply WHERE (scope, key) IN (SELECT scope, key FROM reply WHERE expires_ms <= ? LIMIT ?)',
  );

  return {
    take: (row) =>
      transaction(database, (): ReplyTaken => {
        const known = select.get(row.scope, row.key);
        const isOver =
          known === undefined ||
          Number(known.expires_ms) <= row.nowMs ||
          (known.status === null && known.boot_id !== bootId);
        if (isOver) {
          put.run(row.scope, row.key, row.bodyHash, row.requestId, row.bootId, row.expiresMs);
          return { kind: 'taken' };
        }
        const requestId = String(known.request_id);
        if (known.body_hash !== row.bodyHash) return { kind: 'other-body', requestId };
        if (known.status === null) return { kind: 'in-flight', requestId };
        const sealed = known.sealed instanceof Uint8Array ? known.sealed : null;
        return { kind: 'kept', requestId, status: Number(known.status), sealed };
      }),
    async keep(scope, key, requestId, reply) {
      await transaction(database, () => keep.run(reply.status, reply.sealed, scope, key, requestId));
      log.wrote(reply.sealed?.length);
    },
    async release(scope, key, requestId) {
      await transaction(database, () => release.run(scope, key, requestId));
    },
    async sweep(nowMs) {
      let removed = 0;
      for (;;) {
        const batch = await transaction(database, () => Number(sweep.run(nowMs, sweepRows).changes));
        removed += batch;
        if (batch < sweepRows) break;
        await nextTurn();
      }
      log.wrote();
      return removed;
    },
    async close() {
      await housekeeper.close();
      database.close();
    },
  };
}
