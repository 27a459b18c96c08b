import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClient } from '../../../../test/fake-client.ts';
import { fakeClock } from '../../../../test/fake-clock.ts';
import { plainNeeds, queryOf, targetOf } from '../../../../test/simulation/routing-samples.ts';
import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import { providerTypes } from '../../../formats/providers/catalog.ts';
import { createConnection } from '../../../formats/providers/provider-connection.ts';
import type { Failure } from '../../../kernel/failure.ts';
import { seededRandom } from '../../../kernel/random.ts';
import { createHealth } from '../../../routing/health.ts';
import { createRetryBudget } from '../../../routing/rolling-counts.ts';
import { createSilenceWatch } from '../../../routing/silence.ts';
import { newProgress } from '../../spine/held-call.ts';
import type { Job } from '../../spine/job.ts';
import type { ConversationBody, EncodeOrder } from './conversation-body.ts';
import { runFanOut } from './fan-out.ts';

test('a fault of ours in one choice ends the others first, and is told once they are in the books', async () => {
  const clock = fakeClock();
  const health = createHealth({ clock });
  const silence = createSilenceWatch(health);
  silence.look(clock.monotonicMs());
  let aborted = 0;
  let sent = 0;
  const send = () => {
    sent += 1;
    const abort = () => {
      aborted += 1;
    };
    return { abort, pause() {}, resume() {} };
  };
  const parts = {
    clock,
    transport: { send } as never,
    silence,
    health,
    retryBudget: createRetryBudget(),
    random: seededRandom(1),
  };
  const made = createConnection({
    name: 'a',
    provider: providerTypes.get('openai')!,
    route: undefined,
    baseUrl: 'https://a.example/v1',
    secrets: ['secret'],
    headers: {},
    apiVersion: null,
    dialects: null,
  });
  assert.ok(made.ok);
  const client = new FakeClient();
  const progress = newProgress();
  const job: Job = {
    requestId: 'req_test',
    endpoint: 'chat',
    trace: null,
    tenant: 'dev/test',
    query: queryOf([targetOf('a/m')]),
    user: null,
    client,
    sink: client,
    stream: true,
    inputTokensEstimate: 1,
    atMs: 0,
    startedMs: clock.monotonicMs(),
    isCallersDeadline: false,
    deadlineMs: clock.monotonicMs() + 600_000,
    headers: [],
    costMilli: 0,
    callerHeaders: {},
    providers: new Map([['a', { connection: made.connection } as never]]),
    bound: null,
    given: null,
    attemptsMade: null,
    progress,
  };
  const encode = async ({ child }: EncodeOrder) => {
    if (child?.seed === 8) {
      // When the other one has been sent.
      await new Promise((resolve) => setImmediate(resolve));
      throw new RangeError('ours');
    }
    return { bytes: '{}', streamed: true, answer: 'converted', losses: [], unwrapTool: undefined };
  };
  const facts = { extras: null, n: 2, seed: 7, stream: true, includeUsage: false, needs: plainNeeds };
  const conversation = {
    body: { facts, encode, release() {} } as unknown as ConversationBody,
    dialect: openAiChat.id,
    providers: job.providers,
    child: null,
    after: null,
    media: () => assert.fail('media were wanted'),
  };
  const remedy = async (failure: Failure) => failure;
  const head = { fallbackId: 'chatcmpl-1', model: 'm', createdS: 1, includeUsage: false };
  await assert.rejects(runFanOut(parts, job, { conversation, dialect: openAiChat, head, remedy }), /ours/);
  assert.deepEqual([sent, aborted], [1, 1]);
  assert.equal(progress.attempts.length, 1);
  // Left to who answers for the crash.
  assert.equal(client.ends, 0);
});
