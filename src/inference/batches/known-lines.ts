import type { BegunLine } from '../../books/metering/batch-store.ts';
import type { BatchRun } from './batch-parts.ts';

export interface KnownLine extends BegunLine {
  /** The ledger charges the request that was made for it. */
  isPaid: boolean;
}

const rowsAtOnce = 500;

/**
 * Finds what is known of a line; asked in the order of the lines. `isFresh`: this process has taken the answers of
 * this part of the batch, and nobody has charged them before.
 */
export function knownLines(
  { batch, store, charged }: BatchRun,
  isFresh: (part: number) => boolean,
): (seq: number) => Promise<KnownLine | null> {
  let page: KnownLine[] = [];
  let last = 0;
  let isAll = false;
  const mayBePaid = ({ ended, part, returned }: BegunLine) => !ended && (part === null || (returned && !isFresh(part)));
  return async (seq) => {
    while (!isAll && last < seq) {
      const rows = await store.lines(batch.id, last, rowsAtOnce);
      const open = rows.filter(mayBePaid).map(({ requestId }) => requestId);
      const paid = open.length === 0 ? null : await charged(batch.account, open);
      page = rows.map((row) => ({ ...row, isPaid: paid?.has(row.requestId) === true }));
      last = page.at(-1)?.seq ?? last;
      isAll = rows.length < rowsAtOnce;
    }
    while (page[0] !== undefined && page[0].seq < seq) page.shift();
    return page[0]?.seq === seq ? page[0] : null;
  };
}
