import { offLoopBodyBytes } from '../../kernel/limits.ts';
import type { Result } from '../dialects/dialect.ts';
import { type BodyKind, type BodyOf, readBody } from './body-readers.ts';

/** Reads request bodies: small ones here and now, large ones off the loop. */
export interface BodyReader {
  read<K extends BodyKind>(tenant: string, raw: Buffer, kind: K): Result<BodyOf<K>> | Promise<Result<BodyOf<K>>>;
  close(): Promise<void>;
}

/** `offLoop` reads bodies above `offLoopBodyBytes`; see body-worker.ts. */
export function createBodyReader(offLoop: BodyReader): BodyReader {
  return {
    read: (tenant, raw, kind) =>
      raw.length > offLoopBodyBytes ? offLoop.read(tenant, raw, kind) : readBody(raw, kind),
    close: () => offLoop.close(),
  };
}
