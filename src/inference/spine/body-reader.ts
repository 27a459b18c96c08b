import type { Result } from '../dialects/dialect.ts';

/** Reads request bodies: small ones here and now, large ones off the loop. `Bodies`: the results of each kind. */
export interface BodyReader<Bodies> {
  read<K extends keyof Bodies>(tenant: string, raw: Buffer, kind: K): Result<Bodies[K]> | Promise<Result<Bodies[K]>>;
}
