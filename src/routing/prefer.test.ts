import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../test/fake-clock.ts';
import { plainNeeds, queryOf, targetOf } from '../../test/simulation/routing-samples.ts';
import { createPrice } from '../formats/neutral/price.ts';
import { explainRoute } from './explain.ts';
import { createHealth } from './health.ts';
import type { Preference } from './prefer.ts';
import type { Target } from './target.ts';

const clock = fakeClock(Date.parse('2026-07-01T12:00:00Z'));
const priced = (id: string, input: number, output = input, priority = 1) =>
  targetOf(id, { price: createPrice([{ rates: { input, output } }]), priority });

/** Verdicts, after each target was seen to take so long to its first token. */
function verdicts(prefer: Preference, targets: readonly (readonly [Target, number])[], needs = plainNeeds): string[][] {
  const health = createHealth({ clock });
  for (const [target, firstTokenMs] of targets) {
    const [lane] = health.lanes(target);
    const attempt = {};
    const nowMs = clock.monotonicMs();
    health.began(lane!, attempt, 600_000, nowMs);
    health.firstToken(lane!, attempt, 'stream', firstTokenMs, nowMs);
    const end = { class: 'ok', retryAfterMs: null, afterMs: 0, content: 'seen', tenant: 'dev/laptop' } as const;
    health.ended(lane!, attempt, end, nowMs);
  }
  const query = queryOf(
    targets.map(([target]) => target),
    { prefer, needs },
  );
  return explainRoute(query, health, clock.monotonicMs()).candidates.map(({ target, verdict }) => [target, verdict]);
}

test('the explanation says who is preferred and by what figures', () => {
  const targets = [
    [priced('dear/m', 10), 100],
    [priced('cheap/m', 1), 3_000],
    [priced('fair/m', 2), 200],
  ] as const;
  assert.deepEqual(verdicts('cheapest', targets), [
    ['dear/m', 'ready: asked if those before it fail, cheapest: about 0.006 USD'],
    ['cheap/m', 'ready: picked, cheapest: about 0.0006 USD'],
    ['fair/m', 'ready: asked if those before it fail, cheapest: about 0.0012 USD'],
  ]);
  assert.deepEqual(verdicts('fastest', targets), [
    ['dear/m', 'ready: picked, fastest: 100 ms to the first token'],
    ['cheap/m', 'ready: asked if those before it fail, fastest: 3000 ms to the first token'],
    ['fair/m', 'ready: asked if those before it fail, fastest: 200 ms to the first token'],
  ]);
  const balanced = verdicts('balanced', targets);
  assert.deepEqual(balanced[2], ['fair/m', 'ready: picked, balanced: about 0.0012 USD, 200 ms to the first token']);
});

test('long prompts and long answers may have another cheapest', () => {
  const targets = [
    [priced('in/m', 1, 20), 100],
    [priced('out/m', 4, 1), 100],
  ] as const;
  const picked = (inputTokensEstimate: number) =>
    verdicts('cheapest', targets, { ...plainNeeds, inputTokensEstimate }).find(([, verdict]) =>
      verdict!.includes('picked'),
    );
  assert.equal(picked(100)?.[0], 'out/m');
  assert.equal(picked(100_000)?.[0], 'in/m');
});

test('priorities come first, and an unknown price counts as the highest', () => {
  const [first, cheaper] = [priced('first/m', 10), priced('cheaper/m', 1, 1, 2)];
  assert.match(
    verdicts('cheapest', [
      [first, 100],
      [cheaper, 100],
    ])[0]![1]!,
    /^ready: picked$|^ready: picked,/,
  );
  const unknown = targetOf('unknown/m');
  assert.deepEqual(
    verdicts('cheapest', [
      [unknown, 100],
      [first, 100],
    ])[0],
    ['unknown/m', 'ready: asked if those before it fail, cheapest: of unknown price'],
  );
  assert.match(
    verdicts('cheapest', [
      [unknown, 100],
      [targetOf('other/m'), 100],
    ])[0]![1]!,
    /one of 2 to pick from/,
  );
});

test('what is priced by picture, second, character or minute is compared by that', () => {
  const facts = { format: 'openai' } as never;
  for (const [unit, made] of [
    ['image', 'image'],
    ['videoSecond', 'video'],
    ['millionCharacters', null],
    ['minute', 'transcription'],
  ] as const) {
    const at = (id: string, usd: number) =>
      targetOf(id, { price: createPrice([{ rates: { [unit]: usd } }]), ...(made !== null && { [made]: facts }) });
    const targets = [
      [at('dear/m', 0.4), 100],
      [at('cheap/m', 0.1), 3_000],
    ] as const;
    const [dear, cheap] = verdicts('cheapest', targets);
    assert.match(cheap![1]!, /USD$/);
    assert.notEqual(dear![1]!.split(',')[0], cheap![1]!.split(',')[0], `${unit}: only one of them is preferred`);
  }
});
