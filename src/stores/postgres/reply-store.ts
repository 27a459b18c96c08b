import type { ReplyStore, ReplyTake, ReplyTaken } from '../../metering/reply-store.ts';
import { bootIsOver } from './boots.ts';
import type { Database } from './database.ts';
import { inTime, unavailable } from './unavailable.ts';

/**
 * Between a conflict and the look at its cause, the other row may have gone. In each such round another process won
 * meanwhile.
 */
const takeRoundsMax = 10;

/** A caller waits for it: as for a reservation. */
const takeTimeoutMs = 250;
/** A key that may have been taken for a request that was refused: when it is given back, and how often that is tried. */
const giveBackAfterMs = 1_500;
const giveBackTriesMax = 3;

export function createPostgresReplyStore({ opens, rest }: Pick<Database, 'opens' | 'rest'>): ReplyStore {
  async function take(row: ReplyTake): Promise<ReplyTaken> {
    const values = [row.scope, row.key, row.bodyHash, row.requestId, row.bootId, row.expiresMs, row.nowMs];
    for (let round = 1; round <= takeRoundsMax; round += 1) {
      const { changes } = await opens.run(takeReply, values);
      if (changes === 1) return { kind: 'taken' };
      const { rows } = await opens.run<ReplyColumns>(readReply, [row.scope, row.key]);
      const found = rows[0];
      if (found !== undefined) return takenOf(found, row.bodyHash);
    }
    throw new Error('other requests took and released the Idempotency-Key again and again');
  }

  /** Otherwise a repeat would hear of a running request until the key expires. */
  function giveBack(row: ReplyTake, triesLeft: number): void {
    const timer = setTimeout(() => {
      rest.run(releaseReply, [row.scope, row.key, row.requestId]).catch(() => {
        if (triesLeft > 1) giveBack(row, triesLeft - 1);
      });
    }, giveBackAfterMs);
    timer.unref();
  }

  return {
    async take(row) {
      try {
        return await unavailable(inTime(take(row), takeTimeoutMs));
      } catch (error) {
        giveBack(row, giveBackTriesMax);
        throw error;
      }
    },
    async keep(scope, key, requestId, { status, sealed }) {
      await unavailable(rest.run(keepReply, [scope, key, requestId, status, sealed]));
    },
    async release(scope, key, requestId) {
      await unavailable(rest.run(releaseReply, [scope, key, requestId]));
    },
    async sweep(nowMs) {
      const { changes } = await unavailable(rest.run('DELETE FROM culvert.reply WHERE expires_ms <= $1', [nowMs]));
      return changes;
    },
  };
}

interface ReplyColumns {
  body_hash: string;
  request_id: string;
  status: number | null;
  sealed: Uint8Array | null;
}

function takenOf(row: ReplyColumns, bodyHash: string): ReplyTaken {
  const requestId = row.request_id;
  if (row.body_hash !== bodyHash) return { kind: 'other-body', requestId };
  if (row.status === null) return { kind: 'in-flight', requestId };
  return { kind: 'kept', requestId, status: row.status, sealed: row.sealed };
}

/** One statement, so one winner: whoever loses changes nothing. */
const takeReply = {
  name: 'reply-take',
  text: `
    INSERT INTO culvert.reply AS old (scope, key, body_hash, request_id, boot_id, expires_ms)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (scope, key) DO UPDATE
      SET body_hash = excluded.body_hash, request_id = excluded.request_id, boot_id = excluded.boot_id,
          expires_ms = excluded.expires_ms, status = NULL, sealed = NULL
      WHERE old.expires_ms <= $7 OR (old.status IS NULL AND ${bootIsOver('old.boot_id')})`,
};
const readReply = {
  name: 'reply-read',
  text: 'SELECT body_hash, request_id, status, sealed FROM culvert.reply WHERE scope = $1 AND key = $2',
};
const keepReply = {
  name: 'reply-keep',
  text: `UPDATE culvert.reply SET status = $4, sealed = $5
    WHERE scope = $1 AND key = $2 AND request_id = $3 AND status IS NULL`,
};
const releaseReply = {
  name: 'reply-release',
  text: 'DELETE FROM culvert.reply WHERE scope = $1 AND key = $2 AND request_id = $3 AND status IS NULL',
};
