import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ReplyStore, ReplyTake, ReplyTaken } from '../../books/metering/reply-store.ts';
import { every } from '../../kernel/every.ts';
import { FailureError } from '../../kernel/failure.ts';
import type { BootTables, Row, SqlTables } from '../sql-tables.ts';

/** Rounds in which the row of a conflict may have gone before the look at it: another process won each. */
const takeRoundsMax = 10;
/** Rows removed in one transaction, of up to a megabyte each. */
const sweptAtOnce = 10;

/** Replies over either database. `quick`: the same tables, for the look that a caller waits for. */
export function createReplyStore(
  { prefix, write, first, run, bootIsOver, close }: BootTables,
  quick: Pick<SqlTables, 'first' | 'run'> = { first, run },
): ReplyStore & Pick<BootTables, 'close'> {
  const { take, known, keep, release, sweep } = statementsOf(`${prefix}reply`, bootIsOver('old.boot_id'));

  async function taken(row: ReplyTake): Promise<ReplyTaken> {
    const values = [row.scope, row.key, row.bodyHash, row.requestId, row.bootId, row.expiresMs, row.nowMs];
    for (let round = 1; round <= takeRoundsMax; round += 1) {
      if ((await quick.run(take, values)) === 1) return { kind: 'taken' };
      const found = await quick.first(known, [row.scope, row.key], (earlier) => takenOf(earlier, row.bodyHash));
      if (found !== null) return found;
    }
    throw new FailureError({
      kind: 'quota-unavailable',
      message: 'Other requests took and released this Idempotency-Key again and again; nothing was run. Retry it.',
    });
  }

  const refused = createRefusedTakes(write, release);

  return {
    async take(row) {
      try {
        return await taken(row);
      } catch (error) {
        refused.add(row);
        throw error;
      }
    },
    async keep(scope, key, requestId, { status, sealed }) {
      await run(keep, [scope, key, requestId, status, sealed]);
    },
    async release(scope, key, requestId) {
      await run(release, [scope, key, requestId]);
    },
    async sweep(nowMs) {
      for (let removed = 0; ; await nextTurn()) {
        const batch = await run(sweep, [nowMs]);
        removed += batch;
        if (batch < sweptAtOnce) return removed;
      }
    },
    close() {
      refused.stop();
      return close();
    },
  };
}

function statementsOf(reply: string, bootIsOver: string) {
  const ofRequest = 'scope = $1 AND key = $2 AND request_id = $3 AND status IS NULL';
  return {
    /** One statement, so one winner: the loser changes nothing. */
    take: {
      name: 'reply-take',
      text: `INSERT INTO ${reply} AS old (scope, key, body_hash, request_id, boot_id, expires_ms)
      VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (scope, key) DO UPDATE
        SET body_hash = excluded.body_hash, request_id = excluded.request_id, boot_id = excluded.boot_id,
            expires_ms = excluded.expires_ms, status = NULL, sealed = NULL
        WHERE old.expires_ms <= $7 OR (old.status IS NULL AND ${bootIsOver})`,
    },
    known: {
      name: 'reply-read',
      text: `SELECT body_hash, request_id, status, sealed FROM ${reply} WHERE scope = $1 AND key = $2`,
    },
    keep: { name: 'reply-keep', text: `UPDATE ${reply} SET status = $4, sealed = $5 WHERE ${ofRequest}` },
    release: { name: 'reply-release', text: `DELETE FROM ${reply} WHERE ${ofRequest}` },
    sweep: `DELETE FROM ${reply} WHERE (scope, key) IN (
    SELECT scope, key FROM ${reply} WHERE expires_ms <= $1 LIMIT ${sweptAtOnce})`,
  };
}

function takenOf(row: Row, bodyHash: string): ReplyTaken {
  const requestId = String(row.request_id);
  if (row.body_hash !== bodyHash) return { kind: 'other-body', requestId };
  if (row.status === null) return { kind: 'in-flight', requestId };
  const sealed = row.sealed instanceof Uint8Array ? row.sealed : null;
  return { kind: 'kept', requestId, status: Number(row.status), sealed };
}

/** By then the database has ended a statement that it began. */
const giveBackEveryMs = 1_500;
/** A database that was silent does what waited for it in any order: the first time may come before the taking. */
const timesOf = 2;
/** Keys that wait to be given back, and those of one transaction. Further ones stay taken until they expire. */
const waitingMax = 10_000;
const atOnceMax = 100;

interface Waiting {
  values: readonly unknown[];
  times: number;
}

/**
 * Keys that may have been taken for requests that were refused. They are given back, however long the database is away:
 * otherwise a repeat would be refused as running until the key expires. `release`: SQL of scope, key and request.
 */
function createRefusedTakes(write: SqlTables['write'], release: { name: string; text: string }) {
  /** `due` have waited for a turn; `fresh` came since. */
  let due: Waiting[] = [];
  let fresh: Waiting[] = [];
  let isWriting = false;
  let stopTurns: (() => void) | null = null;

  async function turn(): Promise<void> {
    if (isWriting) return;
    isWriting = true;
    try {
      while (due.length > 0) {
        const some = due.slice(0, atOnceMax);
        await write(some.map(({ values }) => ({ sql: release, values })));
        due = due.slice(some.length);
        for (const { values, times } of some) if (times < timesOf) fresh.push({ values, times: times + 1 });
      }
    } catch {
      // It is away: all of them wait for the next turn.
    } finally {
      isWriting = false;
    }
    due = due.concat(fresh);
    fresh = [];
    if (due.length === 0) stop();
  }

  function stop(): void {
    stopTurns?.();
    stopTurns = null;
  }

  return {
    add({ scope, key, requestId }: ReplyTake): void {
      if (due.length + fresh.length >= waitingMax) return;
      fresh.push({ values: [scope, key, requestId], times: 1 });
      stopTurns ??= every(giveBackEveryMs, () => void turn());
    },
    stop,
  };
}
