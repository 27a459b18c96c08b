import type { WriteOperation } from '../vector-store.ts';
import type { OpenCollection } from './open-collection.ts';
import type { ShardState } from './shards/shard-state.ts';
import type { VectorRows } from './vector-rows.ts';
import type { Job } from './waiting-jobs.ts';
import { pointsOf, writePoints } from './write-points.ts';

/** One call's operations as a job of the group commit; resolves to the number of the last one. */
export function createWriteJob(
  state: ShardState,
  tenant: string,
  name: string,
  operations: readonly WriteOperation[],
): Job<number> {
  const { collections, tables, opened, damage } = state;
  const { bounds, watch, onStoredBytes } = state.options;
  let open: OpenCollection | null = null;
  let slotMark = 0;
  let memoryMark = 0;
  let counts: readonly (readonly [VectorRows, number])[] = [];
  let added = 0;
  let account = '';
  return {
    tenant,
    points: pointsOf(operations),
    run() {
      const row = state.rowOf(tenant, name);
      watch.begin();
      return damage.guard(row, () => {
        open = opened.open(row);
        open.pins++;
        slotMark = open.slots.mark();
        memoryMark = open.memory.mark();
        counts = [...open.vectors.values()].map((vector) => [vector, vector.count()]);
        added = writePoints(tables, open, operations, bounds);
        account = row.account;
        collections.setCounts(row, row.points, row.seq);
        collections.addBytes(row.cid, added);
        return row.seq;
      });
    },
    committed() {
      if (open === null) return;
      open.pins--;
      open.slots.keep();
      open.memory.settle();
      if (added !== 0) onStoredBytes(account, added);
    },
    undone() {
      if (open === null) return;
      open.pins--;
      open.slots.undo(slotMark);
      open.memory.undo(memoryMark);
      for (const [vector, count] of counts) vector.setCount(count);
    },
  };
}
