import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BatchStore, BegunNow, EndedLine } from '../../books/metering/batch-store.ts';
import type { Lease } from '../../kernel/leased-jobs.ts';

/** Notes what becomes of lines, as many as have gathered in one write. */
export interface LineNotes {
  /** Before a line is asked. False: another line of the batch has its key. */
  begin(line: BegunNow): Promise<boolean>;
  end(line: EndedLine): Promise<void>;
}

/** The lease is another's, or the batch has ended: nothing was written. */
export class LeaseLost extends Error {}

/** Lines of one write: no other one waits longer. */
const notedAtOnce = 100;

interface Waiting<Line> {
  line: Line;
  resolve(isNew: boolean): void;
  reject(error: unknown): void;
}

export function createLineNotes(store: Pick<BatchStore, 'note'>, lease: Lease): LineNotes {
  const begun: Waiting<BegunNow>[] = [];
  const ended: Waiting<EndedLine>[] = [];
  let isWriting = false;

  async function write(): Promise<void> {
    isWriting = true;
    while (begun.length + ended.length > 0) {
      // All of this turn of the loop go together.
      await nextTurn();
      const some = { begun: begun.splice(0, notedAtOnce), ended: ended.splice(0, notedAtOnce) };
      try {
        const lines = { begun: some.begun.map(({ line }) => line), ended: some.ended.map(({ line }) => line) };
        const refused = await store.note(lease, lines.begun, lines.ended);
        if (refused === null) throw new LeaseLost('the lease is lost');
        for (const { line, resolve } of some.begun) resolve(!refused.has(line.seq));
        for (const { resolve } of some.ended) resolve(true);
      } catch (error) {
        for (const { reject } of [...some.begun, ...some.ended]) reject(error);
      }
    }
    isWriting = false;
  }

  function put<Line>(list: Waiting<Line>[], line: Line): Promise<boolean> {
    return new Promise((resolve, reject) => {
      list.push({ line, resolve, reject });
      if (!isWriting) void write();
    });
  }

  return { begin: (line) => put(begun, line), end: async (line) => void (await put(ended, line)) };
}
