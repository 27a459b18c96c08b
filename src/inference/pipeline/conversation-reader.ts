import { offLoopBodyBytes } from '../../kernel/limits.ts';
import type { DialectId, Result } from '../dialects/dialect.ts';
import { type ConversationBody, readConversation } from './conversation-body.ts';

/** Reads request bodies: small ones here and now, large ones off the loop. */
export interface ConversationReader {
  read(raw: Buffer, dialect: DialectId): Result<ConversationBody> | Promise<Result<ConversationBody>>;
  close(): Promise<void>;
}

/** `offLoop` reads bodies above `offLoopBodyBytes`; see conversation-worker.ts. */
export function createConversationReader(offLoop: ConversationReader): ConversationReader {
  return {
    read: (raw, dialect) =>
      raw.length > offLoopBodyBytes ? offLoop.read(raw, dialect) : readConversation(raw, dialect),
    close: () => offLoop.close(),
  };
}
