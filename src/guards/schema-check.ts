import type { JsonObject } from '../kernel/json.ts';
import { createTurns } from '../kernel/sharing/turns.ts';
import { createTimedThread } from '../kernel/timed-thread.ts';
import type { SchemaOrder } from './schema-check-worker.ts';

const waitingMax = 256;
const waitingBytesMax = 16 * 1024 * 1024;
/** Limit of waiting, and again of checking: schemas and answers are callers', and both can be made to take for ever. */
const timeoutMs = 2_000;
/** While one tenant's answer takes that long, another tenant finds a thread at once. */
const threads = 2;

/** Says whether texts meet JSON schemas, in separate threads, each started when it is needed. */
export interface SchemaCheck {
  /** `why` the text does not meet the schema, null when it does; or null, when nobody could tell in time. */
  look(tenant: string, text: string, schema: JsonObject): Promise<{ why: string | null } | null>;
  close(): Promise<void>;
}

export function createSchemaCheck(): SchemaCheck {
  const entry = new URL('./schema-check-worker.ts', import.meta.url);
  const open = () => createTimedThread(entry, 'thread that checks schemas', { workMaxMs: timeoutMs });
  const all = Array.from({ length: threads }, open);
  /** Those without work, the one used last at the end. */
  const idle = [...all];
  const turns = createTurns({ name: 'Answers to check', places: threads, waitingMax, waitingBytesMax });
  return {
    async look(tenant, text, schema) {
      const turn = await turns.take(tenant, AbortSignal.timeout(timeoutMs), text.length).catch(() => null);
      const thread = turn === null ? undefined : idle.pop();
      if (turn === null || thread === undefined) return null;
      try {
        const order: Omit<SchemaOrder, 'id'> = { text, schema };
        const why = await thread.run<string>(order, []);
        return why === null ? null : { why: why || null };
      } catch {
        // A schema that cannot be read says nothing of the answer.
        return null;
      } finally {
        idle.push(thread);
        turn.giveBack();
      }
    },
    close: async () => void (await Promise.all(all.map((thread) => thread.close()))),
  };
}
