import { setTimeout as pause } from 'node:timers/promises';
import { trafficGrainsMs, trafficKeptMs } from '../../ledger/traffic.ts';
import { deadBefore, quotaGrainsMs } from '../quota-grains.ts';
import type { Run } from './database.ts';
import { requestIdAt } from './ledger-reader.ts';
import { pruneRecordOrder } from './record-order.ts';

const batchRows = 1_000;
/** Between two batches, so that requests get in. */
const pauseMs = 20;

/** Removes events that came before and quota buckets that count no more, in small commits; resolves to how many events. */
export async function pruneLedger(run: Run, beforeMs: number, nowMs: number): Promise<number> {
  const events = await inBatches(run, deleteEvents, [requestIdAt(beforeMs)]);
  await run(pruneRecordOrder, [requestIdAt(beforeMs)]);
  for (const grainMs of quotaGrainsMs) await inBatches(run, deleteBuckets, [grainMs, deadBefore(grainMs, nowMs)]);
  for (const grain of ['minute', 'hour'] as const) {
    const grainMs = trafficGrainsMs[grain];
    await inBatches(run, deleteTraffic, [grainMs, Math.floor((nowMs - trafficKeptMs[grain]) / grainMs)]);
  }
  return events;
}

async function inBatches(run: Run, statement: string, values: readonly unknown[]): Promise<number> {
  let removed = 0;
  for (;;) {
    const { changes } = await run(statement, values);
    removed += changes;
    if (changes < batchRows) return removed;
    await pause(pauseMs);
  }
}

// Replicas that prune at one moment take different rows.
const deleteEvents = `
  DELETE FROM culvert.usage_event WHERE request_id IN (
    SELECT request_id FROM culvert.usage_event WHERE request_id < $1
    ORDER BY request_id LIMIT ${batchRows} FOR UPDATE SKIP LOCKED)`;
const deleteBuckets = `
  DELETE FROM culvert.quota_bucket WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM culvert.quota_bucket WHERE grain_ms = $1 AND bucket < $2
    LIMIT ${batchRows} FOR UPDATE SKIP LOCKED))`;
const deleteTraffic = `
  DELETE FROM culvert.traffic WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM culvert.traffic WHERE grain_ms = $1 AND bucket < $2
    LIMIT ${batchRows} FOR UPDATE SKIP LOCKED))`;
