import { join } from 'node:path';
import { commitOf, writeSection } from '../results.ts';
import { print, type Row } from '../rows.ts';
import { reserve, storage } from './disk-of-one.ts';
import { type Measurement, measureOn } from './ground.ts';
import { descriptors, metrics, restarts, retryAfter } from './operating.ts';
import type { MockProcess } from './processes.ts';
import { idle, pipelined, stalled } from './room-of-others.ts';
import { pages, patterns, tokens, transcodes } from './turns-of-others.ts';

/** What one tenant may take from the others, and what operating may take from all: each through gateways of its own. */
export const fairness: Readonly<Record<string, Measurement>> = {
  stalled,
  idle,
  pipelined,
  pages,
  patterns,
  tokens,
  transcodes,
  storage,
  reserve,
  metrics,
  descriptors,
  restarts,
  'retry-after': retryAfter,
};

/** One after another, as each of them wants the machine. `checkout` is a folder of another commit to measure instead. */
export async function measureFairness(
  mock: MockProcess,
  names: readonly string[],
  checkout: string | null,
): Promise<Row[]> {
  const bin = checkout === null ? null : join(checkout, 'bin', 'culvert.mjs');
  const rows: Row[] = [];
  for (const name of names) {
    rows.push(...print(await measureOn(mock.port, bin, fairness[name] as Measurement)));
  }
  return rows;
}

/** In results.md, those of another checkout beside ours. */
export function writeFairness(rows: readonly Row[], checkout: string | null): void {
  const commit = checkout === null ? null : commitOf(checkout);
  writeSection({
    subject: commit === null ? 'fairness' : `fairness at ${commit}`,
    command: `node bench/run.mjs availability fairness${checkout === null ? '' : ' --checkout=…'}`,
    ...(commit !== null && { commit }),
    how: `What one key takes, and what another key that asks meanwhile sees; one after another, each through a gateway of its own
with default settings but for what a row names; one mock in a process of its own. A figure with a best beside it is
the median of two or three rounds, of two the worse.`,
    rows,
  });
}
