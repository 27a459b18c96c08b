import { setTimeout as pause } from 'node:timers/promises';
import { deadBefore, quotaGrainsMs } from '../quota-grains.ts';
import type { Database } from './database.ts';
import { patiently } from './patient-transaction.ts';

/** In one transaction: the writer waits for it. */
const batchRows = 500;
const batchScopes = 100;
/** Between two batches, so that the writer gets in first. */
const pauseMs = 20;

/** Removes events with keys below; resolves to their number. */
export async function pruneEvents(database: Database, beforeKey: number): Promise<number> {
  const remove = database.prepare(
    'DELETE FROM usage_event WHERE key IN (SELECT key FROM usage_event WHERE key < ? ORDER BY key LIMIT ?)',
  );
  let removed = 0;
  for (;;) {
    const batch = await patiently(database, () => Number(remove.run(beforeKey, batchRows).changes));
    removed += batch;
    if (batch < batchRows) return removed;
    await pause(pauseMs);
  }
}

/** Removes quota buckets that no window counts any more, scope by scope: each is one range of the primary key. */
export async function pruneBuckets(database: Database, nowMs: number): Promise<void> {
  const nextScope = database.prepare('SELECT scope FROM quota_bucket WHERE scope > ? ORDER BY scope LIMIT 1');
  const remove = database.prepare(
    `DELETE FROM quota_bucket WHERE scope = :scope AND grain_ms = :grainMs AND bucket IN (
       SELECT bucket FROM quota_bucket WHERE scope = :scope AND grain_ms = :grainMs AND bucket < :dead
       ORDER BY bucket LIMIT ${batchRows})`,
  );

  /** Some scopes behind `from`; the last one done, null at the end. */
  function pruneSome(from: string): string | null {
    let done = from;
    let removed = 0;
    for (let scopes = 0; scopes < batchScopes && removed < batchRows; scopes += 1) {
      const next = nextScope.get(done);
      if (next === undefined) return null;
      const scope = String(next.scope);
      let hasMore = false;
      for (const grainMs of quotaGrainsMs) {
        const changes = Number(remove.run({ scope, grainMs, dead: deadBefore(grainMs, nowMs) }).changes);
        removed += changes;
        hasMore ||= changes === batchRows;
      }
      // Then it is the next one again.
      if (hasMore) return done;
      done = scope;
    }
    return done;
  }

  let done: string | null = '';
  while (done !== null) {
    const from: string = done;
    done = await patiently(database, () => pruneSome(from));
    if (done !== null) await pause(pauseMs);
  }
}
