import type { JsonObject } from '../kernel/json.ts';
import { createTurns } from '../kernel/sharing/turns.ts';
import { createTimedThread } from '../kernel/timed-thread.ts';
import type { SchemaOrder } from './schema-check-worker.ts';

const waitingMax = 256;
const waitingBytesMax = 16 * 1024 * 1024;
/** Limit of waiting, and again of checking: schemas and answers are callers', and both can be made to take for ever. */
const timeoutMs = 2_000;

/** Says whether texts meet JSON schemas, in a separate thread, started at the first of them. */
export interface SchemaCheck {
  /** `why` the text does not meet the schema, null when it does; or null, when nobody could tell in time. */
  look(tenant: string, text: string, schema: JsonObject): Promise<{ why: string | null } | null>;
  close(): Promise<void>;
}

export function createSchemaCheck(): SchemaCheck {
  const entry = new URL('./schema-check-worker.ts', import.meta.url);
  const thread = createTimedThread(entry, 'thread that checks schemas', { workMaxMs: timeoutMs });
  const turns = createTurns({ name: 'Answers to check', places: 1, waitingMax, waitingBytesMax });
  return {
    async look(tenant, text, schema) {
      const turn = await turns.take(tenant, AbortSignal.timeout(timeoutMs), text.length).catch(() => null);
      if (turn === null) return null;
      try {
        const order: Omit<SchemaOrder, 'id'> = { text, schema };
        const why = await thread.run<string>(order, []);
        return why === null ? null : { why: why || null };
      } catch {
        // A schema that cannot be read says nothing of the answer.
        return null;
      } finally {
        turn.giveBack();
      }
    },
    close: () => thread.close(),
  };
}
