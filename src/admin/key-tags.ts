import type { UsageRow } from '../books/metering/ledger.ts';
import type { Directory } from './directory.ts';

/** The keys with a tag, also revoked ones; undefined where none is asked for. */
export function keysTagged({ keys }: Directory, tag: string | undefined): readonly string[] | undefined {
  return tag === undefined ? undefined : keys.filter(({ tags }) => tags?.includes(tag)).map(({ id }) => id);
}

/**
 * Rows whose `part` is a key, by the tags that the keys have now: a key with two tags counts in both, and '' is those
 * without one. They come in the order of their first rows.
 */
export function byKeyTag(rows: readonly UsageRow[], directory: Directory, part: 'group' | 'split'): UsageRow[] {
  const sums = new Map<string, UsageRow>();
  for (const row of rows) {
    const { tags = [] } = directory.key(row[part] ?? '') ?? {};
    for (const tag of tags.length === 0 ? [''] : tags) {
      const named = { ...row, [part]: tag };
      const place = JSON.stringify([named.group, named.split]);
      const before = sums.get(place);
      sums.set(place, before === undefined ? named : added(before, named));
    }
  }
  return [...sums.values()];
}

/** The sum of two rows, with the names of the first. */
export function added(to: UsageRow, row: UsageRow): UsageRow {
  return {
    group: to.group,
    split: to.split,
    requests: to.requests + row.requests,
    milliUnits: to.milliUnits + row.milliUnits,
    inputTokens: to.inputTokens + row.inputTokens,
    outputTokens: to.outputTokens + row.outputTokens,
    costUsd: to.costUsd + row.costUsd,
    errors: to.errors + row.errors,
    countedTokens: to.countedTokens + row.countedTokens,
    estimatedTokens: to.estimatedTokens + row.estimatedTokens,
    countedCostUsd: to.countedCostUsd + row.countedCostUsd,
    estimatedCostUsd: to.estimatedCostUsd + row.estimatedCostUsd,
    unpriced: to.unpriced + row.unpriced,
  };
}
