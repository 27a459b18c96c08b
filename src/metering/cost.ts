import type { Config } from '../config/schema.ts';

/** Which line of `costs` a call is charged by, or the units that every one costs. */
export type CostLine = keyof Config['costs'] | number;

/**
 * What a call is charged, in milli-units: its line × the model's own cost (1 where no model answers) × `count`, the
 * images of an image call, the pages of a crawl. Attempts, fallbacks and the items of a batch cost nothing more.
 */
export function costMilliOf(costs: Config['costs'], line: CostLine, modelCost = 1, count = 1): number {
  const units = typeof line === 'number' ? line : costs[line];
  return Math.round(units * modelCost * 1_000) * count;
}
