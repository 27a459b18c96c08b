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
import { createRoute } from '../../../routing/create-route.ts';
import { createHealth } from '../../../routing/health.ts';
import { createRetryBudget } from '../../../routing/rolling-counts.ts';
import { createSilenceWatch } from '../../../routing/silence.ts';
import type { Target } from '../../../routing/target.ts';
import type { TransportError } from '../../../upstream/transport/transport-error.ts';
import type { UpstreamObserver, UpstreamRequest } from '../../../upstream/transport/upstream-call.ts';
import type { ConversationFacts } from '../../families/chat/conversation-body.ts';
import { conversationTrial } from '../../families/chat/conversation-trial.ts';
import type { EncodedBody } from '../encode-forwarded.ts';
import { newProgress } from '../held-call.ts';
import type { Job } from '../job.ts';
import type { MakeTrial } from './contest.ts';
import { runAttempts } from './run-attempts.ts';

/** One call as the upstream sees it. */
interface Call {
  aborted: boolean;
  /** Content, which reaches the caller of a stream. */
  say(text: string): void;
  finish(): void;
  refuse(status: number, message: string): void;
  break(kind: TransportError['kind']): void;
}

const body: EncodedBody = { bytes: '{}', streamed: true, answer: 'pass-through', losses: [], unwrapTool: undefined };

/** Body for a target. */
type Encode = (target: Target) => EncodedBody | Failure | Promise<EncodedBody | Failure>;

/** A request for a stream at targets `a`, `b`… in this order, on a clock that only `wait` moves. */
function setUp(names: readonly string[], encode: Encode = () => body) {
  const clock = fakeClock();
  const health = createHealth({ clock });
  const silence = createSilenceWatch(health);
  const calls: Record<string, Call[]> = {};
  const transport = {
    send(request: UpstreamRequest, observer: UpstreamObserver) {
      const call = callOf(observer);
      const name = new URL(request.origin).hostname[0]!;
      calls[name] ??= [];
      calls[name].push(call);
      return {
        abort() {
          call.aborted = true;
        },
        pause() {},
        resume() {},
      };
    },
  };
  const targets = names.map((name, i) => targetOf(`${name}/m`, { priority: i + 1 }));
  const deps = { health, retryBudget: createRetryBudget(), random: seededRandom(1) };
  const query = queryOf(targets);
  const route = createRoute(query, { ...deps, nowMs: clock.monotonicMs() });
  const client = new FakeClient();
  const parts = { clock, transport: transport as never, silence, ...deps };
  const facts = { stream: true, includeUsage: false, needs: plainNeeds } as ConversationFacts;
  const makeTrial: MakeTrial = (answer) => {
    const encoded = encode(answer.attempt.target);
    const body = { facts, encode: () => encoded, release() {} };
    const media = () => assert.fail('media were wanted');
    const asked = { body, dialect: openAiChat.id, providers: job.providers, child: null, after: null, media };
    return conversationTrial(parts, job, asked, answer, null);
  };
  const job: Job = {
    requestId: 'req_test',
    endpoint: 'chat',
    trace: null,
    tenant: 'dev/test',
    query,
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
    providers: new Map(names.map((name) => [name, { connection: connectionOf(name) } as never])),
    bound: null,
    given: null,
    attemptsMade: null,
    progress: newProgress(),
  };
  silence.look(clock.monotonicMs());
  /** Lets time pass, looked at four times a second. */
  async function wait(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 250) {
      clock.advance(250);
      silence.look(clock.monotonicMs());
    }
    await turn();
  }
  const running = runAttempts(parts, job, { trial: makeTrial }, route);
  const callTo = (name: string, index = 0) => {
    const call = calls[name]?.[index];
    assert.ok(call !== undefined, `${name} was not asked`);
    return call;
  };
  const asked = () => Object.keys(calls).join(' ');
  const standing = () => health.snapshot(clock.monotonicMs()).map(({ target, why }) => `${target} ${why}`);
  return { client, job, route, running, wait, callTo, asked, standing };
}

/** Promises of this turn of the loop have settled. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function callOf(observer: UpstreamObserver): Call {
  const send = (data: object | string) =>
    observer.data(Buffer.from(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`));
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
  });
  let begun = false;
  function begin(): void {
    if (begun) return;
    begun = true;
    observer.headers(200, {
      names: () => [],
      get: (name) => (name === 'content-type' ? 'text/event-stream' : undefined),
    });
  }
  return {
    aborted: false,
    say(text) {
      begin();
      send(chunk({ content: text }));
    },
    finish() {
      send(chunk({}, 'stop'));
      send('[DONE]');
      observer.ended();
    },
    refuse(status, message) {
      observer.headers(status, {
        names: () => [],
        get: (name) => (name === 'content-type' ? 'application/json' : undefined),
      });
      observer.data(Buffer.from(JSON.stringify({ error: { message } })));
      observer.ended();
    },
    break(kind) {
      observer.failed({ kind, message: kind });
    },
  };
}

function connectionOf(name: string) {
  const made = createConnection({
    name,
    provider: providerTypes.get('openai')!,
    baseUrl: `http://${name}.test/v1`,
    secrets: ['secret'],
    headers: {},
    apiVersion: null,
  });
  assert.ok(made.ok);
  return made.connection;
}

const classes = (job: Pick<Job, 'progress'>) =>
  job.progress.attempts.map(({ provider, class: outcome, usageSource }) => `${provider} ${outcome} ${usageSource}`);

test('a silent target: the request is asked elsewhere too, the first content wins, the other call is aborted', async () => {
  const { client, job, running, wait, callTo, asked, standing } = setUp(['a', 'b']);
  await wait(10_000);
  assert.equal(asked(), 'a');
  await wait(250);
  assert.equal(asked(), 'a b');
  await wait(500);
  callTo('b').say('from b');
  assert.equal(callTo('a').aborted, true);
  callTo('b').finish();
  await running;
  assert.match(client.text, /from b/);
  assert.equal(client.ends, 1);
  assert.deepEqual(classes(job), ['a cancelled abandoned', 'b ok counted']);
  assert.equal(job.progress.answeredBy?.target.id, 'b/m');
  assert.equal(job.progress.firstTokenMs, 500);
  assert.deepEqual(standing(), ['a/m silent', 'b/m null']);
});

test('the silent target may still be the first: the second call is aborted and settled as abandoned', async () => {
  const { client, job, running, wait, callTo } = setUp(['a', 'b']);
  await wait(10_250);
  callTo('a').say('from a');
  assert.equal(callTo('b').aborted, true);
  // Later bytes of the loser reach nobody.
  callTo('b').say('from b');
  callTo('a').finish();
  await running;
  assert.match(client.text, /from a/);
  assert.doesNotMatch(client.text, /from b/);
  assert.deepEqual(classes(job), ['b cancelled abandoned', 'a ok counted']);
  const times = job.progress.attempts.map(({ startMs, ms }) => [startMs, ms]);
  assert.deepEqual(
    times,
    [
      [10_250, 0],
      [0, 10_250],
    ],
    'they ran beside each other',
  );
});

test('a second call that fails does not end the first, and a third target is asked', async () => {
  const { client, job, running, wait, callTo, asked } = setUp(['a', 'b', 'c']);
  await wait(10_250);
  callTo('b').refuse(500, 'broken');
  await turn();
  assert.equal(asked(), 'a b c');
  callTo('a').say('late');
  callTo('a').finish();
  await running;
  assert.equal(callTo('c').aborted, true);
  assert.match(client.text, /late/);
  assert.deepEqual(classes(job), ['b transient none', 'c cancelled abandoned', 'a ok counted']);
});

test('a second call that refuses the request does not end the first', async () => {
  const { client, job, running, wait, callTo, asked } = setUp(['a', 'b', 'c']);
  await wait(10_250);
  callTo('b').refuse(400, 'no seed here');
  await turn();
  assert.deepEqual([asked(), callTo('a').aborted], ['a b', false]);
  callTo('a').say('late');
  callTo('a').finish();
  await running;
  assert.match(client.text, /late/);
  assert.deepEqual(classes(job), ['b caller_fault none', 'a ok counted']);
});

test('a second call that refuses the request has the last word where the first fails', async () => {
  const { client, running, wait, callTo, asked } = setUp(['a', 'b', 'c']);
  await wait(10_250);
  callTo('b').refuse(400, 'no seed here');
  await turn();
  callTo('a').break('reset');
  await running;
  assert.equal(asked(), 'a b');
  const failure = client.failed?.failure;
  assert.ok(failure?.kind === 'upstream-refused');
  assert.equal(failure.message, 'answered 400: no seed here');
});

test('a second call that we fail at ourselves does not end the first', async () => {
  const { client, job, running, wait, callTo } = setUp(['a', 'b']);
  await wait(10_250);
  callTo('b').break('no-descriptor');
  await turn();
  callTo('a').say('late');
  callTo('a').finish();
  await running;
  assert.match(client.text, /late/);
  assert.deepEqual(classes(job), ['b gateway_fault none', 'a ok counted']);
});

test('a target whose credential cannot be had is a bad credential, and the next target answers', async () => {
  const { client, job, running, callTo } = setUp(['a', 'b']);
  await turn();
  callTo('a').break('not-authorized');
  await turn();
  callTo('b').say('from b');
  callTo('b').finish();
  await running;
  assert.match(client.text, /from b/);
  assert.deepEqual(classes(job), ['a bad_credential none', 'b ok counted']);
});

test('when both fail, the request goes on to the next target', async () => {
  const { client, job, running, wait, callTo } = setUp(['a', 'b', 'c']);
  await wait(10_250);
  callTo('a').break('reset');
  await turn();
  callTo('c').break('reset');
  await turn();
  callTo('b').say('from b');
  callTo('b').finish();
  await running;
  assert.match(client.text, /from b/);
  assert.deepEqual(classes(job), ['a transient none', 'c transient none', 'b ok counted']);
});

test('the winner that breaks off half-way ends the request: another answer cannot follow', async () => {
  const { client, job, running, wait, callTo } = setUp(['a', 'b', 'c']);
  await wait(10_250);
  callTo('b').say('half of');
  callTo('b').break('reset');
  await running;
  assert.equal(client.ends, 1);
  assert.deepEqual(classes(job), ['a cancelled abandoned', 'b truncated counted']);
});

test('the caller leaves: every call is aborted', async () => {
  const { client, job, running, wait, callTo } = setUp(['a', 'b']);
  await wait(10_250);
  client.leave();
  await running;
  assert.deepEqual([callTo('a').aborted, callTo('b').aborted], [true, true]);
  assert.equal(job.progress.class, 'aborted');
});

test('with no other target, a silent one is waited for', async () => {
  const { client, job, running, wait, callTo, asked } = setUp(['a']);
  await wait(15_000);
  assert.equal(asked(), 'a');
  callTo('a').say('at last');
  callTo('a').finish();
  await running;
  assert.match(client.text, /at last/);
  assert.deepEqual(classes(job), ['a ok counted']);
});

test('a target that cannot take the request is passed over, and costs no attempt', async () => {
  const cannot: Failure = { kind: 'invalid-request', message: 'not in this format' } as Failure;
  const { client, job, running, wait, callTo, asked } = setUp(['a', 'b'], ({ id }) => (id === 'b/m' ? cannot : body));
  await wait(11_000);
  assert.equal(asked(), 'a');
  callTo('a').say('from a');
  callTo('a').finish();
  await running;
  assert.match(client.text, /from a/);
  assert.deepEqual(classes(job), ['a ok counted']);
});

const answers = (call: Call) => {
  call.say('from a');
  call.finish();
};
const refuses = (call: Call) => call.refuse(400, 'not so');
for (const [when, end, outcome] of [
  ['the answer came', answers, 'a ok counted'],
  ['the request was refused', refuses, 'a caller_fault none'],
] as const) {
  test(`a body that is ready after ${when} is not sent`, async () => {
    let ready: (body: EncodedBody) => void = () => undefined;
    const { job, running, wait, callTo, asked } = setUp(['a', 'b'], ({ id }) =>
      id === 'b/m' ? new Promise((resolve) => (ready = resolve)) : body,
    );
    await wait(10_250);
    end(callTo('a'));
    await running;
    ready(body);
    await turn();
    assert.equal(asked(), 'a');
    assert.deepEqual(classes(job), [outcome]);
  });
}
