// It compares times, so it is alone in its process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CacheStore } from '../../src/books/metering/cache-store.ts';
import type { Landed } from '../../src/inference/cache/flight.ts';
import { type CachedAnswer, cachedEvents } from '../../src/inference/cache/packed-entry.ts';
import { errorBound, upperBound, withObservation } from '../../src/inference/cache/semantic/error-bound.ts';
import { unpackQuestions } from '../../src/inference/cache/semantic/known-questions.ts';
import { changingPart, learnTemplate } from '../../src/inference/cache/semantic/question-template.ts';
import { isSameAnswer } from '../../src/inference/cache/semantic/same-answer.ts';
import {
  SemanticCache,
  type Similar,
  type SimilarQuestion,
} from '../../src/inference/cache/semantic/semantic-cache.ts';
import type { InnerCalls } from '../../src/inference/spine/answer-cache.ts';
import { seededRandom } from '../../src/kernel/random.ts';
import { memoryCache } from '../memory-cache.ts';
import { bagOf, spellings } from './start-asked.ts';

test('the bound is that of Clopper and Pearson at 95 %', () => {
  assert.equal(upperBound(0, 0), 1);
  assert.equal(upperBound(3, 3), 1);
  for (const [wrong, all, bound] of [
    [0, 298, 0.01],
    [0, 299, 0.00997],
    [0, 59, 0.0495],
    [1, 100, 0.0466],
    [5, 100, 0.1023],
    [10, 1_000, 0.01688],
  ] as const) {
    assert.ok(Math.abs(upperBound(wrong, all) - bound) < 0.0002, `${wrong} of ${all}: ${upperBound(wrong, all)}`);
  }
});

test('what is wrong nearer by counts for less near questions too, and what is right nearer by does not', () => {
  let observed = {};
  for (let n = 0; n < 100; n += 1) observed = withObservation(observed, 0.95, true);
  assert.ok(errorBound(observed, 0.95) < 0.05);
  assert.ok(errorBound(observed, 1) < 0.05);
  assert.equal(errorBound(observed, 0.9), 1);
  const before = errorBound(observed, 0.99);
  assert.ok(errorBound(withObservation(observed, 0.9, false), 0.99) > before);
});

test('a template is what different questions have in common, cut between words', () => {
  const around = (text: string) =>
    `You answer visitors of a shop.\nBe short.\nQuestion: ${text}\nUse the facts below only.`;
  const template = learnTemplate(['where is tea', 'when do you open', 'what is rice'].map(around));
  const { part, template: name } = changingPart(around('who are you'), template);
  assert.equal(part.trim(), 'who are you');
  assert.notEqual(name, '');
  assert.deepEqual(changingPart('who are you', template), { part: 'who are you', template: '' });
  assert.equal(learnTemplate(['how do I pay', 'how do I sleep']), null);
});

const calls: InnerCalls = {
  embed: async (_, texts) => texts.map(bagOf),
  judge: async (_, question) => (question === 'silent' ? null : question === 'same'),
};

test('answers are the same by their words, by a judge, or by embeddings and numbers', async () => {
  const same = (one: string, other: string, judge?: string, question = 'same') =>
    isSameAnswer(calls, { model: 'embed', judge }, question, [one, other]);
  assert.equal(await same('Paris.', ' paris'), true);
  assert.equal(await same('5 %', '5'), false);
  assert.equal(await same('Paris', 'It is Paris'), false);
  assert.equal(await same('Paris', 'It is Paris', 'judge'), true);
  assert.equal(await same('Paris', 'It is Paris', 'judge', 'other'), false);
  assert.equal(await same('Paris', 'It is Paris', 'judge', 'silent'), null);
  const long = 'The shop opens at 9 in the morning, and it closes when the last visitor of the day has left it at 20.';
  assert.equal(await same(long, long.replace('The shop', 'Our shop')), true);
  assert.equal(await same(long, long.replace('20', '21')), false);
});

test('answers that wait for a slow judge have a bound, so one scope holds no more than its share', async () => {
  const store = memoryCache(() => 1_750_000_000_000, { scopeBytes: 1e9, totalBytes: 1e9 });
  let waiting = 0;
  const judged: (() => void)[] = [];
  const slow: InnerCalls = {
    embed: calls.embed,
    judge: () => {
      waiting += 1;
      return new Promise((resolve) => judged.push(() => resolve(true)));
    },
  };
  const parts = { store, clock: { wallMs: () => 1_750_000_000_000 }, random: seededRandom(7), onChecked() {} };
  const cache = new SemanticCache({ ...parts, calls: slow });
  const rule = { model: 'embed', judge: 'judge', errorMax: 0.01, sample: 0.1, deadlineMs: 200 };
  const answers = new Map<string, Landed>();
  const learn = async (scope: string, n: number) => {
    const question = {
      ...{
        rule,
        text: 'where is the tea',
        filter: { scope, digest: 'f' },
        answerKey: { scope, digest: `${scope}${n}` },
      },
      row: { keyId: 'k', model: 'm', tag: null },
      answerOf: async (digest: string) => answers.get(digest) ?? null,
    };
    const similar = await cache.ask(question);
    assert.ok(similar !== null && 'learn' in similar);
    const landed = { entry: entryOf(`It is on the shelf number ${n}.`), atMs: 0 };
    answers.set(`${scope}${n}`, landed);
    similar.learn(landed.entry);
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  };
  for (let n = 0; n < 50; n += 1) await learn('a', n);
  assert.equal(waiting, 32);
  for (let n = 0; n < 3; n += 1) await learn('b', n);
  assert.equal(waiting, 34, 'another scope is learnt from, and its first question is compared with none');
  for (const end of judged) end();
  for (let turn = 0; turn < 200; turn += 1) await nextTurn();
  await learn('a', 50);
  assert.equal(waiting, 35);
});

/** Questions with their answers: what decides is a name, a number, a negation, a year, a unit or the order of words. */
function labelled(): [question: string, answer: string][] {
  const names = ['France', 'Spain', 'Peru', 'Chad'];
  const pairs = [
    ['dog', 'cat'],
    ['sea', 'lake'],
    ['hand', 'foot'],
  ];
  return [
    ...names.flatMap((name) => [
      [`the capital of ${name}`, `capital ${name}`] as [string, string],
      [`the king of ${name} in 1900`, `king 1900 ${name}`] as [string, string],
      [`the king of ${name} in 1901`, `king 1901 ${name}`] as [string, string],
      [`whether ${name} is large`, `large ${name}`] as [string, string],
      [`whether ${name} is not large`, `not large ${name}`] as [string, string],
      [`the price of 5 kg of salt from ${name}`, `5 kg ${name}`] as [string, string],
      [`the price of 5 lb of salt from ${name}`, `5 lb ${name}`] as [string, string],
    ]),
    ...pairs.flatMap(([one, other]) => [
      [`whether a ${one} is larger than a ${other}`, `${one} over ${other}`] as [string, string],
      [`whether a ${other} is larger than a ${one}`, `${other} over ${one}`] as [string, string],
    ]),
  ];
}

for (const errorMax of [0.01, 0.05, 0.2]) {
  test(`of labelled questions, hits are wrong in fewer than ${errorMax * 100} %`, async () => {
    const random = seededRandom(7);
    let nowMs = 1_750_000_000_000;
    const store = memoryCache(() => nowMs, { scopeBytes: 1e9, totalBytes: 1e9 });
    let [checks, wrongChecks] = [0, 0];
    const onChecked = (_: string, isRight: boolean) => {
      checks += 1;
      if (!isRight) wrongChecks += 1;
    };
    const cache = new SemanticCache({ store, clock: { wallMs: () => nowMs }, calls, random, onChecked });
    const answers = new Map<string, Landed>();
    const questions = labelled();
    const times = errorMax < 0.05 ? 30_000 : 8_000;
    let [hits, wrong] = [0, 0];
    const spelt = questions.map(([question]) => spellings(question));
    for (let n = 0; n < times; n += 1) {
      nowMs += 1;
      // Some are asked more often than others.
      const at = Math.floor(random.next() ** 2 * questions.length);
      const [, truth = ''] = questions[at] ?? [];
      const text = spelt[at]?.[Math.floor(random.next() * 42)] ?? '';
      const similar = await cache.ask({
        rule: { model: 'embed', errorMax, deadlineMs: 200, sample: 0.05 },
        text,
        filter: { scope: 'key a', digest: 'filter' },
        answerKey: { scope: 'key a', digest: text },
        row: { keyId: 'a', model: 'chat', tag: null },
        answerOf: async (digest) => answers.get(digest) ?? null,
      });
      if (similar !== null && 'landed' in similar) {
        hits += 1;
        if (textOf(similar.landed.entry) !== truth) wrong += 1;
      } else {
        const entry = entryOf(truth);
        answers.set(text, { entry, atMs: nowMs });
        if (similar !== null) similar.learn(entry);
        await nextTurn();
      }
    }
    assert.ok(hits > times / 10, `${hits} hits of ${times}`);
    assert.ok(wrong <= hits * Math.min(errorMax, 0.01), `${wrong} of ${hits} hits are wrong`);
    assert.ok(checks > 0 && wrongChecks <= checks * errorMax, `${wrongChecks} of ${checks}`);
  });
}

function entryOf(text: string): CachedAnswer {
  const answer: CachedAnswer['answer'] = [
    { type: 'text-delta', choice: 0, text },
    { type: 'finish', choice: 0, reason: 'stop', stopSequence: null },
    { type: 'end' },
  ];
  return { answer, provider: 'p', model: 'm', usd: null, losses: [], endpoint: 'chat' };
}

function textOf({ answer }: CachedAnswer): string {
  const [first] = cachedEvents(answer) ?? [];
  return first?.type === 'text-delta' ? first.text : '';
}

test('what two replicas observe at once of one question adds up', async () => {
  const nowMs = 1_750_000_000_000;
  const kept = memoryCache(() => nowMs, { scopeBytes: 1e9, totalBytes: 1e9 });
  let place = { scope: '', digest: '' };
  // A store elsewhere: others write between a read and a write.
  const shared: CacheStore = {
    ...kept,
    async get(scope, digest) {
      const found = await kept.get(scope, digest);
      await nextTurn();
      if (digest.startsWith('q.')) place = { scope, digest };
      return found;
    },
  };
  const answers = new Map<string, Landed>();
  const replica = () =>
    new SemanticCache({
      store: shared,
      clock: { wallMs: () => nowMs },
      calls: { ...calls, embed: async (_, texts) => texts.map(() => [1, 0]) },
      random: { next: () => 0.5 },
      onChecked() {},
    });
  const replicas = [replica(), replica(), replica()];
  const all = spellings('the capital of France').slice(0, 31);
  const ask = async (text: string, at: number) => {
    const question: SimilarQuestion = {
      rule: { model: 'embed', errorMax: 0.01, deadlineMs: 200, sample: 0 },
      text,
      filter: { scope: 'key a', digest: 'filter' },
      answerKey: { scope: 'key a', digest: text },
      row: { keyId: 'a', model: 'chat', tag: null },
      answerOf: async (digest) => answers.get(digest) ?? null,
    };
    let similar: Similar | null | undefined = null;
    // On a busy machine a look may be late, which is a miss.
    for (let tries = 0; similar === null && tries < 100; tries += 1) {
      similar = await replicas[at % replicas.length]?.ask(question);
    }
    const entry = entryOf('Paris');
    answers.set(text, { entry, atMs: nowMs });
    assert.ok(similar != null && 'learn' in similar);
    return () => similar.learn(entry);
  };
  (await ask(all[0] ?? '', 0))();
  for (let n = 0; n < 20; n += 1) await nextTurn();
  const learners = [];
  for (const [at, text] of all.slice(1).entries()) learners.push(await ask(text, at));
  for (const learn of learners) learn();
  for (let n = 0; n < 3_000; n += 1) await nextTurn();
  const found = await shared.get(place.scope, place.digest);
  const [question] = unpackQuestions(found?.body ?? Buffer.alloc(0), place);
  const observed = Object.values(question?.observed ?? {}).reduce((sum, [right, wrong]) => sum + right + wrong, 0);
  assert.equal(observed, 30);
});
