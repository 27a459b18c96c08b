import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { targetOf } from '../../../../test/simulation/routing-samples.ts';
import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import type { Fault } from '../../../formats/neutral/outcome.ts';
import { createConnection } from '../../../formats/providers/provider-connection.ts';
import { openai } from '../../../formats/providers/services/openai.ts';
import { systemClock } from '../../../kernel/clock.ts';
import type { Timeouts } from '../../../routing/target.ts';
import type { PreparedBody } from '../job.ts';
import { Attempt, type AttemptJob } from './attempt.ts';

const facts = { name: 'a', provider: openai, baseUrl: null, secrets: ['secret'], headers: {}, apiVersion: null };
const made = createConnection(facts);
assert.ok(made.ok);
const { connection } = made;

/** An attempt at a target that says nothing, for a prompt of so many tokens. */
function silentAttempt(timeouts: Timeouts, inputTokensEstimate: number): Attempt {
  const call = { abort() {}, pause() {}, resume() {} };
  const job: Partial<AttemptJob> = {
    deadlineMs: systemClock.monotonicMs() + 60_000,
    providers: new Map([['a', { connection } as never]]),
    ...{ callerHeaders: {}, given: null, bound: null, trace: null },
  };
  const target = targetOf('a/m', { timeouts });
  const body = { bytes: '{}', streamed: true, upstreamDialect: openAiChat, inputTokensEstimate };
  const sink = { start() {}, content: () => true, chunk: () => 'ready', end: (found: Fault | null) => found };
  const parts = { clock: systemClock, transport: { send: () => call } };
  const attempt = { target, credential: target.credentials[0] };
  return new Attempt(
    parts as never,
    job as AttemptJob,
    attempt as never,
    body as unknown as PreparedBody,
    sink as never,
  );
}

test('a long prompt has more time to its first token where nobody has set one', async () => {
  const timeouts = { connectMs: 3_000, firstTokenMs: 20, idleMs: 30_000, totalMs: 600_000 };
  const asSet = await silentAttempt(timeouts, 50_000).run();
  assert.equal(asSet?.message, 'sent no content within 0.02 s');
  const grown = silentAttempt({ ...timeouts, firstTokenGrows: true }, 10_000);
  const ran = grown.run();
  assert.equal(await Promise.race([ran, pause(300, 'waits')]), 'waits');
  assert.equal((await ran)?.message, 'sent no content within 1.02 s');
});
