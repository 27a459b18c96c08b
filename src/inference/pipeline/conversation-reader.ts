import { offLoopBodyBytes } from '../../kernel/limits.ts';
import type { Result } from '../dialects/dialect.ts';
import { type BodyKind, type ConversationBody, readConversation } from './conversation-body.ts';

/** Reads request bodies: small ones here and now, large ones off the loop. */
export interface ConversationReader {
  read(tenant: string, raw: Buffer, kind: BodyKind): Result<ConversationBody> | Promise<Result<ConversationBody>>;
  close(): Promise<void>;
}

/** `offLoop` reads bodies above `offLoopBodyBytes`; see conversation-worker.ts. */
export function createConversationReader(offLoop: ConversationReader): ConversationReader {
  return {
    read: (tenant, raw, kind) =>
      raw.length > offLoopBodyBytes ? offLoop.read(tenant, raw, kind) : readConversation(raw, kind),
    close: () => offLoop.close(),
  };
}
