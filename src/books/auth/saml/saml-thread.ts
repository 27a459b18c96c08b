import { createTurns } from '../../../kernel/sharing/turns.ts';
import { createTimedThread } from '../../../kernel/threads/timed-thread.ts';
import type { SamlWork } from './saml-worker.ts';

/** Longer than a large response takes on a busy machine, and short enough for a thread that all logins share. */
const workMaxMs = 10_000;
const loadWaitMs = 20_000;
const waitMaxMs = 30_000;
const waitingMax = 64;

/** The library of SAML in a thread that ends when it has no work: hostile XML must not hold up other requests. */
export type SamlThread = ReturnType<typeof createSamlThread>;

export function createSamlThread() {
  const entry = new URL('./saml-worker.ts', import.meta.url);
  const thread = createTimedThread(entry, 'thread of SAML', { workMaxMs, loadWaitMs });
  const turns = createTurns({ name: 'Logins by SAML', places: 1, waitingMax });
  return {
    /** `client`: the sender, whose orders take turns with those of others. Null: it was not done in time. */
    run: <Kind extends keyof SamlWork>(
      client: string,
      kind: Kind,
      order: SamlWork[Kind]['order'],
    ): Promise<SamlWork[Kind]['result'] | null> =>
      turns
        .run(client, AbortSignal.timeout(waitMaxMs), () => thread.run<SamlWork[Kind]['result']>({ ...order, kind }))
        .catch(() => null),
  };
}
