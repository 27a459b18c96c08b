import { offLoopBodyBytes } from '../../kernel/limits.ts';
import type { BodyReader } from '../spine/body-reader.ts';
import { type Bodies, readBody } from './body-readers.ts';

/** The bodies of every family. */
export interface AllBodies extends BodyReader<Bodies> {
  close(): Promise<void>;
}

/** `offLoop` reads bodies above `offLoopBodyBytes`; see body-worker.ts. */
export function createBodyReader(offLoop: AllBodies): AllBodies {
  return {
    read: (tenant, raw, kind) =>
      raw.length > offLoopBodyBytes ? offLoop.read(tenant, raw, kind) : readBody(raw, kind),
    close: () => offLoop.close(),
  };
}
