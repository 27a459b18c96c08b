/** Changes that are worth a look one by one. */
const changesMax = 2_000;
/** Rows side by side that may have come or left. */
const runMax = 64;

export interface ChangedRows<Row> {
  removed: readonly Row[];
  /** With the new form of rows that changed. */
  present: readonly Row[];
}

/**
 * Rows of two lists in one order that are not the same object in both; null: too many, or too many in a row. `AccountStore.load`
 * answers the same objects for rows that did not change.
 */
export function changedRows<Row extends { id: string }>(
  before: readonly Row[],
  after: readonly Row[],
): ChangedRows<Row> | null {
  const removed: Row[] = [];
  const present: Row[] = [];
  let i = 0;
  let j = 0;
  for (;;) {
    while (i < before.length && before[i] === after[j]) {
      i += 1;
      j += 1;
    }
    const old = before[i];
    const next = after[j];
    if (old === undefined && next === undefined) break;
    if (removed.length + present.length > changesMax) return null;
    const come = old === undefined ? after.length - j : after.slice(j, j + runMax).indexOf(old);
    const left = next === undefined ? before.length - i : before.slice(i, i + runMax).indexOf(next);
    const isOne = old !== undefined && old.id === next?.id;
    const isNew = !isOne && come > 0 && (left <= 0 || come <= left);
    const isOld = !isOne && !isNew && left > 0;
    const [olds, news] = [isOld ? left : isNew ? 0 : 1, isNew ? come : isOld ? 0 : 1];
    if (olds > changesMax || news > changesMax) return null;
    removed.push(...before.slice(i, i + olds));
    present.push(...after.slice(j, j + news));
    i += olds;
    j += news;
  }
  return removed.length + present.length > changesMax ? null : { removed, present };
}
