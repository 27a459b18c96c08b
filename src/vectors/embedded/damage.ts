import type { FailureError } from '../../kernel/failure.ts';
import type { CollectionRow } from './collection-row.ts';
import { overloaded, storageTrouble } from './storage-trouble.ts';

/** Which collections of a shard cannot be trusted: each is refused until the next start, the others are served. */
export type Damage = ReturnType<typeof createDamage>;

export function createDamage(report: (message: string) => void) {
  const damaged = new Set<number>();
  return {
    /** Runs what touches one collection; what shows that its rows are damaged refuses it from then on. */
    guard<T>({ cid, spec }: Pick<CollectionRow, 'cid' | 'spec'>, run: () => T): T {
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
    /** Runs what touches the tables of names. */
    guardTable<T>(run: () => T): T {
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
    note: (cid: number): void => void damaged.add(cid),
    has: (cid: number): boolean => damaged.has(cid),
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
