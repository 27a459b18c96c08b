import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertWithin, busyness } from '../machine-load.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { disagreements, recordsOf } from './books-agree.ts';
import { answeredShare, type CallSeen, openLoop, statusesOf } from './many-calls.ts';

const forms = ['whole', 'stream', 'embedding'] as const;
const aliases = [...forms, 'cold', 'thinking'] as const;
type Form = (typeof forms)[number];
type Alias = (typeof aliases)[number];

/** Of those that make the usual time of a target known. */
const before = 60;
/** A busy machine is asked more slowly: more of its requests are under way while a target falls silent. */
const slower = Math.min(6, busyness());
const perSecond = 40 / slower;
const requests = 200;
/** Two and a half seconds of the load: further requests to the silent one are soon refused. */
const concurrency = 100;
/** Above what a busy machine makes of a second, far below every timeout. */
const knownMaxMs = 8_000;
const firstTokenTimeoutMs = 30_000;

const upstream = await startUpstream();
after(() => upstream.close());
const credentialOf = (alias: Alias, index: number) => `key-of-${alias}-${index}`;
const keyOf = (alias: Alias) => `sk-cv-test-silence-${alias}`;
const gateway = await startGateway(
  { after: after as never },
  {
    // A busy machine would refuse some.
    server: { overload: 'off' },
    providers: Object.fromEntries(
      aliases.flatMap((alias) =>
        [1, 2].map((index) => [
          `${alias}-${index}`,
          { type: 'openai', base_url: `${upstream.url}/v1`, api_key: credentialOf(alias, index) },
        ]),
      ),
    ),
    // The one that falls silent is asked first.
    models: Object.fromEntries(
      aliases.map((alias) => [
        alias,
        {
          ...(alias === 'embedding' && { type: 'embedding', space: 'mock' }),
          targets: [1, 2].map((index) => ({ provider: `${alias}-${index}`, model: 'mock/ok', priority: index })),
        },
      ]),
    ),
    plans: { default: { windows: 'off', rpm: 'off', concurrency } },
    keys: aliases.map((alias) => ({ key: keyOf(alias), account: alias, name: alias })),
  },
);

describe('F63 a target that accepts and says nothing', { concurrency: true }, () => {
  for (const form of forms) {
    test(`${form} answers, its usual known: all come from elsewhere, long before any timeout, each charged once`, async () => {
      const warm = await load(form, form, before);
      assert.equal(callsTo(form, 1).length, before, 'it was the one that is asked');
      tell(form, ['always hang']);
      const seen = await load(form, form, requests);
      assert.equal(answeredShare(seen), 1, statusesOf(seen));
      assert.deepEqual(new Set(seen.map(({ status }) => status)), new Set([200]), 'no slot is held by the silent one');
      const slowestMs = Math.max(...seen.map(({ ms }) => ms));
      assertWithin(slowestMs, knownMaxMs);

      const records = await recordsOf({ url: gateway.url, adminKey, account: form });
      const held = records.filter(({ route }) => route.attempts.some((one) => one.class === 'cancelled'));
      assert.ok(held.length > 0 && held.length < requests / 2, `${held.length} were sent to the silent one`);
      assert.equal(callsTo(form, 2).length, requests, 'the other is asked once for each');
      await agree(form, [...warm, ...seen]);
      const left = callsTo(form, 1).slice(before);
      assert.ok(
        left.every(({ aborted }) => aborted),
        'what lost is closed',
      );

      tell(form, []);
      await isAskedAgain(form);
    });
  }

  test('streams, its usual known: one that shows signs of life and no content yet is left alone', async () => {
    const warm = await load('thinking', 'stream', before);
    // Three seconds of comments, before the first content, too.
    tell('thinking', ['always tokens=1;keepalive-comments=15;interval=200ms']);
    const seen = await load('thinking', 'stream', 20);
    assert.equal(answeredShare(seen), 1, statusesOf(seen));
    assert.equal(callsTo('thinking', 2).length, 0, 'nobody else is asked');
    await agree('thinking', [...warm, ...seen]);
  });

  test('streams, nothing known of it: suspect long before its timeout', async () => {
    tell('cold', ['always hang']);
    const seen = await load('cold', 'stream', 20);
    assert.equal(answeredShare(seen), 1, statusesOf(seen));
    const slowestMs = Math.max(...seen.map(({ ms }) => ms));
    assertWithin(slowestMs, firstTokenTimeoutMs / 2);
    const [later] = await load('cold', 'stream', 1);
    assert.equal(later!.outcome, 'answered');
    assertWithin(later!.ms, knownMaxMs, 'others are picked first from then on: it');
    await agree('cold', [...seen, later!]);
  });
});

/** Behaviour of calls to the first target from now on. */
function tell(alias: Alias, specs: readonly string[]): void {
  const path = alias === 'embedding' ? '/v1/embeddings' : '/v1/chat/completions';
  upstream.script(`${path} ${credentialOf(alias, 1)}`, specs);
}

function load(alias: Alias, form: Form, count: number): Promise<CallSeen[]> {
  const calls = {
    url: gateway.url,
    model: alias,
    keys: [keyOf(alias)],
    form,
    count,
    patienceMs: Math.ceil(slower * 25_000),
  };
  return openLoop(calls, perSecond);
}

/** Once it speaks: by itself, a little at a time. */
async function isAskedAgain(alias: Form): Promise<void> {
  const endMs = performance.now() + slower * 15_000;
  while (callsTo(alias, 1).filter(({ bytes_sent }) => bytes_sent > 0).length < before + 10) {
    assert.ok(performance.now() < endMs, 'it is not asked again');
    assert.equal(answeredShare(await load(alias, alias, 20)), 1);
  }
}

function callsTo(alias: Alias, index: number) {
  const authorization = `Bearer ${credentialOf(alias, index)}`;
  return upstream
    .requests()
    .filter(({ method, headers }) => method === 'POST' && headers.authorization === authorization);
}

async function agree(alias: Alias, seen: readonly CallSeen[]): Promise<void> {
  const upstreamCalls = async () =>
    Object.fromEntries([1, 2].map((index) => [`${alias}-${index}`, callsTo(alias, index).length]));
  assert.deepEqual(await disagreements({ url: gateway.url, adminKey, account: alias, seen, upstreamCalls }), []);
}
