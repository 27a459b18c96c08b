import { FailureError } from './failure.ts';

const anotherSecret =
  'was sealed with another storage.secret, which this server does not have. An operator can add that secret to storage.earlier_secrets.';

/**
 * Refuses what a caller has stored and no secret of this server opens: the one that sealed it is no longer in
 * `storage.earlier_secrets`, or was forgotten. For the caller it is gone; the message tells the operator how to bring it back.
 */
export class Unopenable extends FailureError {
  /** `what`: begins the sentence, such as `The file 'file-1'`. `why`: goes on with it. */
  constructor(what: string, why: string = anotherSecret) {
    super({ kind: 'not-found', message: `${what} ${why}` });
  }
}

/** Rows behind this one of a list; null: those that it begins with. */
type ReadRows<Row> = (behind: Row | null, limit: number) => Promise<readonly Row[]>;

/** Rows that are read in the place of others, at least, and how often. */
const refillRows = 200;
const refillsMax = 50;

/**
 * Up to `limit` rows of a list that can be opened. Further rows are read for those that cannot, which must neither take the
 * list away nor end it early.
 */
export async function openable<Row, Opened>(
  limit: number,
  { read, opener, leftOut }: OpenableList<Row, Opened>,
): Promise<Opened[]> {
  const opened: Opened[] = [];
  let left = 0;
  let behind: Row | null = null;
  for (let refills = 0; refills <= refillsMax; refills++) {
    const needed = refills === 0 ? limit : Math.max(limit - opened.length, refillRows);
    const rows = await read(behind, needed);
    const open = await opener(rows);
    for (const row of rows) {
      if (opened.length === limit) break;
      try {
        opened.push(open(row));
      } catch (error) {
        if (!(error instanceof Unopenable)) throw error;
        left += 1;
      }
    }
    behind = rows.at(-1) ?? null;
    if (rows.length < needed || opened.length === limit) break;
  }
  leftOut(left);
  return opened;
}

interface OpenableList<Row, Opened> {
  read: ReadRows<Row>;
  opener(rows: readonly Row[]): ((row: Row) => Opened) | Promise<(row: Row) => Opened>;
  leftOut: LeftOut;
}

const lineIntervalMs = 60_000;

/** Counts entries that a list leaves out, for the operator's log: callers cannot know of them. */
export type LeftOut = (entries: number) => void;

/** A line says how many there were since the last one, a minute ago or more. `lineOf`: begins it. */
export function createLeftOut(
  clock: { monotonicMs(): number },
  log: (message: string) => void,
  lineOf = (entries: number) => `lists left out ${entries} of their entries`,
): LeftOut {
  let all = 0;
  let loggedMs = Number.NEGATIVE_INFINITY;
  return (entries) => {
    all += entries;
    const nowMs = clock.monotonicMs();
    if (entries === 0 || nowMs - loggedMs < lineIntervalMs) return;
    log(`${lineOf(all)}: each ${anotherSecret}`);
    [all, loggedMs] = [0, nowMs];
  };
}
