import type { FailureError } from '../../kernel/failure.ts';
import type { CollectionRow } from './collection-row.ts';
import { overloaded, storageTrouble } from './storage-trouble.ts';

/** Which collections of a shard cannot be trusted: each is refused until the next start, the others are served. */
export interface Damage {
  /** Runs what touches one collection; what shows that its rows are damaged refuses it from then on. */
  guard<T>(row: Pick<CollectionRow, 'cid' | 'spec'>, run: () => T): T;
  /** Runs what touches the tables of names. */
  guardTable<T>(run: () => T): T;
  note(cid: number): void;
  has(cid: number): boolean;
}

export function createDamage(report: (message: string) => void): Damage {
  const damaged = new Set<number>();
  return {
    guard({ cid, spec }, run) {
      if (damaged.has(cid)) throw refusal(spec.name);
      try {
        return run();
      } catch (error) {
        const trouble = storageTrouble(error);
        if (trouble === null) throw error;
        if (trouble !== 'damaged') throw error;
        damaged.add(cid);
        report(
          `vectors: collection '${spec.name}' is damaged on the disk (${reasonOf(error)}) and is refused; others are served`,
        );
        throw refusal(spec.name);
      }
    },
    guardTable(run) {
      try {
        return run();
      } catch (error) {
        if (storageTrouble(error) !== 'damaged') throw error;
        report(`vectors: a list of collections is damaged on the disk (${reasonOf(error)})`);
        throw overloaded(
          'The list of these collections is damaged on the disk. Other collections are served. Restore the vector data from a backup.',
        );
      }
    },
    note: (cid) => damaged.add(cid),
    has: (cid) => damaged.has(cid),
  };
}

function refusal(name: string): FailureError {
  return overloaded(
    `Collection '${name}' is damaged on the disk and is not served. Other collections are. Restore it from a backup, or delete it.`,
  );
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
