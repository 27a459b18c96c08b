import { BatchSums, type BucketsOf, type RollupRow, rollupSums } from './batch-sums.ts';
import { type Column, columnsOf, type UsageEvent } from './columns.ts';

const hoursPerDay = 24;
const dayMs = 86_400_000;

/** A day is added up when it is over for so long: then hardly anything of it is still to come. */
export const sumDelayMs = 2 * 3_600_000;
/** What came less than this ago cannot be of a day that is added up, whichever replica's clock said so. */
export const lateAfterMs = sumDelayMs / 2;

/** What tells the rows of `rollup_day` and `rollup_name` apart; their sums are those of `rollup`. */
export const dayKey: readonly Column[] = columnsOf([
  ['day', 'whole'],
  ['account', 'text'],
  ['key_id', 'text'],
  ['endpoint', 'text'],
  ['alias', 'text'],
  ['provider', 'text'],
]);
export const nameKey: readonly Column[] = columnsOf([
  ['day', 'whole'],
  ['account', 'text'],
  ['key_id', 'text'],
  ['alias', 'text'],
  ['user', 'text'],
  ['tag', 'text'],
]);
export const dayTable: readonly Column[] = [...dayKey, ...rollupSums];
export const nameTable: readonly Column[] = [...nameKey, ...rollupSums];

export interface DaySums {
  days: object[];
  names: object[];
}

/** What events of days that are added up already add to them: crashes that are charged late, mostly. */
export function lateSums(events: readonly UsageEvent[], untilMs: number, bucketsOf: BucketsOf): DaySums {
  const days = new Map<string, RollupRow>();
  const names = new Map<string, RollupRow>();
  for (const event of events) {
    if (Math.floor(event.atMs / dayMs) * dayMs >= untilMs) continue;
    const sums = new BatchSums(bucketsOf);
    sums.add(event);
    const [row] = sums.rollups();
    if (row === undefined) continue;
    const day = Math.floor(row.hour / hoursPerDay);
    const name = { user: event.user ?? '', tag: event.tag ?? '' };
    addTo(days, dayKey, { ...row, day } as RollupRow);
    addTo(names, nameKey, { ...row, day, ...name } as RollupRow);
  }
  return { days: [...days.values()], names: [...names.values()] };
}

function addTo(rows: Map<string, RollupRow>, key: readonly Column[], row: RollupRow): void {
  const named = row as unknown as Record<string, number>;
  const name = JSON.stringify(key.map(({ field }) => named[field]));
  const there = rows.get(name) as unknown as Record<string, number> | undefined;
  if (there === undefined) rows.set(name, row);
  else for (const { field } of rollupSums) there[field]! += named[field]!;
}
