import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NeutralEvent } from '../../src/formats/neutral/event.ts';
import { readCacheDirectives } from '../../src/inference/cache/cache-directives.ts';
import { keepingSteps } from '../../src/inference/cache/keep-events.ts';
import { type CachedAnswer, cachedEvents, packEntry, unpackEntry } from '../../src/inference/cache/packed-entry.ts';
import { decidingDigest } from '../../src/inference/cache/semantic/deciding-parts.ts';
import type { AnswerPlace } from '../../src/inference/spine/steps/after.ts';
import { isFailure } from '../../src/kernel/failure.ts';
import { type Random, seededRandom } from '../../src/kernel/random.ts';
import { casesOf } from '../cases.ts';
import { targetOf } from '../simulation/routing-samples.ts';
import { billedHits } from './billed-hits.ts';
import { aliasOf, keyA, type LabelledQuestion, labelledCache } from './false-hits.ts';
import {
  agent,
  changedIn,
  parameters,
  payload,
  pick,
  picture,
  saying,
  type Topic,
  things,
  topics,
} from './near-questions.ts';
import { spellings } from './start-asked.ts';

/** The classes of false hits that caches of others are known for: 0 wrong of so many cases each. */
const cases = casesOf(1_000);

interface FalseHits {
  /** The question of a topic in one of its 42 spellings. */
  taught?(topic: Topic, spelling: string): Omit<LabelledQuestion, 'truth'>;
  /** A question near it with another answer. `n` makes each case a new one. */
  near(topic: Topic, n: number, random: Random, spelling: string): Near;
}

/** Without `truth` each case has an answer that no other one has. */
type Near = Omit<LabelledQuestion, 'truth'> & { truth?: string };

const plain = (_: Topic, spelling: string) => ({ body: saying(spelling) });

const classes: Record<string, FalseHits> = {
  "another's answer": {
    taught: (_, spelling) => ({ body: saying(spelling), alias: aliasOf({}, { scope: 'key' }) }),
    near: (_, n, __, spelling) => {
      const scope = (['key', 'account', 'plan'] as const)[n % 3] ?? 'key';
      const who = { key: { keyId: `k${n}` }, account: { account: `acc${n}` }, plan: { plan: `p${n}` } }[scope];
      return { body: saying(spelling), by: { ...keyA, ...who }, alias: aliasOf({}, { scope }) };
    },
  },
  'a changing payload in a fixed template': {
    taught: (_, spelling) => ({ body: saying(payload(spelling)) }),
    near: (topic, n, random) => ({ body: saying(payload(`${changedIn(topic, n, random)} ${n}`)) }),
  },
  'one deciding word, number or year': {
    near: (topic, n, random, spelling) => {
      const changed = changedIn(topic, n, random);
      return {
        truth: changed,
        body: saying(spelling.includes(topic.question) ? spelling.replace(topic.question, changed) : changed),
      };
    },
  },
  'the consecutive turns of an agent': {
    taught: (_, spelling) => ({ body: { messages: agent(2, spelling) } }),
    near: ({ question }, n, __, spelling) => {
      const step = n % 2 === 0 ? 1 : 3 + (n % 5);
      return { truth: `${question} ${step}`, body: { messages: agent(step, spelling) } };
    },
  },
  'tools, n, seed or a format left out': {
    near: (_, n, __, spelling) => ({ body: saying(spelling, parameters[n % parameters.length]?.(n)) }),
  },
  'the last message alone': {
    near: (_, n, __, spelling) => {
      const earlier = { role: 'user', content: `In the year ${n}` };
      const [system, last] = saying(spelling).messages;
      return { body: { ...saying(''), messages: [system, earlier, { role: 'assistant', content: 'Yes?' }, last] } };
    },
  },
  'another system prompt, model or picture': {
    near: (_, n, __, spelling) => {
      const [system, last] = saying(spelling).messages;
      const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${picture(n)}` } };
      const withPicture = { role: 'user', content: [{ type: 'text', text: spelling }, image] };
      const prompt = { role: 'system', content: `be good, rule ${n}` };
      if (n % 3 === 0) return { body: saying(spelling), alias: aliasOf({ id: `chat${n}` }) };
      return { body: { ...saying(''), messages: n % 3 === 1 ? [prompt, last] : [system, withPicture] } };
    },
  },
  'a stale answer after a change': {
    near: (_, n, __, spelling) => {
      const price = { input: n, output: 1, cacheRead: null, cacheWrite: null };
      const changes = [
        { candidates: [{ target: targetOf(`up/m${n}`), rank: 0 }] },
        { candidates: [{ target: targetOf(`other${n}/m`), rank: 0 }] },
        { candidates: [{ target: targetOf('up/m', { body: { top_k: n } }), rank: 0 }] },
        { guards: [`guard${n}`] },
        { variant: `v${n}` },
        { candidates: [{ target: { ...targetOf('up/m'), price: { ...price } as never }, rank: 0 }] },
      ];
      return { body: saying(spelling), alias: aliasOf(changes[n % changes.length]) };
    },
  },
};

for (const [what, { taught = plain, near }] of Object.entries(classes)) {
  test(`0 wrong of ${cases}: ${what}`, async () => {
    const cache = labelledCache();
    const random = seededRandom(28);
    let [wrong, right] = [0, 0];
    for (const topic of topics) {
      for (const spelling of spellings(topic.question).slice(0, 20)) {
        const served = await cache.ask({ truth: topic.question, ...taught(topic, spelling) });
        if (served !== null) right += Number(served === topic.question);
      }
    }
    assert.ok(right >= 2 * topics.length, `${right} right hits`);
    for (let n = 0; n < cases; n += 1) {
      const topic = topics[n % topics.length] as Topic;
      const spelling = pick(random, spellings(topic.question).slice(20));
      const question = { truth: `other ${n}`, ...near(topic, n, random, spelling) };
      const served = await cache.ask(question);
      if (served !== null && served !== question.truth) wrong += 1;
    }
    assert.equal(wrong, 0, `${wrong} wrong of ${cases}`);
    const last = topics.at(-1) as Topic;
    const served = await cache.ask({ truth: 'x', ...taught(last, spellings(last.question).at(-1) ?? '') });
    assert.equal(served, last.question, 'and it still answers');
  });
}

test(`0 wrong of ${cases}: one deciding word, number or year, by the difference check alone`, () => {
  const random = seededRandom(5);
  const truths = new Map<string, string>();
  for (let n = 0; n < cases; n += 1) {
    const changed = changedIn(topics[n % topics.length] as Topic, n, random);
    for (const spelling of [changed, pick(random, spellings(changed))]) {
      const digest = decidingDigest(spelling);
      assert.equal(truths.get(digest) ?? changed, changed, spelling);
      truths.set(digest, changed);
    }
  }
});

test(`0 wrong of ${cases}: a threshold that a caller lowers`, async () => {
  const cache = labelledCache();
  const values = ['0', '0.1', '1%', 'any', 'semantic', 'similar', 'force', '*', '', 'hit', '-1', '1e9', 'lax', 'true'];
  const names = ['threshold', 'similarity', 'error', 'sample', 'max-age', 'ttl', 'scope', 'semantic', 'mode', 'key'];
  const question = 'the taste of lemons';
  // Not enough were compared: nothing may be served, whatever a caller says.
  for (const spelling of spellings(question).slice(0, 12)) {
    assert.equal(await cache.ask({ truth: 'sour', body: saying(spelling) }), null);
  }
  let [wrong, refused] = [0, 0];
  for (let n = 0; n < cases; n += 1) {
    const [name, value] = [names[n % names.length] ?? '', values[n % values.length] ?? ''];
    const headers = [
      { 'x-culvert-cache': value },
      { [`x-culvert-cache-${name}`]: value },
      { 'cache-control': `${name}=${value}, max-stale=${n}` },
      {},
    ][n % 4] as Record<string, string>;
    const more = n % 4 === 3 ? { cache: { [name]: value } } : {};
    const wish = readCacheDirectives(headers);
    if (isFailure(wish)) refused += 1;
    else assert.deepEqual(Object.keys(wish).sort(), ['exact', 'maxAgeS', 'use'], 'nothing of a threshold');
    const served = await cache.ask({ truth: `t${n}`, body: saying(`${question} ${n}`, more), headers });
    if (served !== null) wrong += 1;
  }
  assert.equal(wrong, 0);
  assert.ok(refused >= cases / 8, `${refused} refused`);
});

/** What is kept of an answer with these events; null: nothing. */
function keptOf(events: readonly NeutralEvent[], toolCalls: boolean, failed: boolean): CachedAnswer | null {
  let kept: CachedAnswer | null = null;
  const keep = (entry: CachedAnswer) => {
    kept = entry;
  };
  const attempt = { target: targetOf('up/m') };
  const place = {
    answer: { attempt, trial: {} },
    job: { attemptsMade: null, progress: { losses: [] }, endpoint: 'chat', atMs: 0 },
    schema: undefined,
  } as unknown as AnswerPlace<unknown>;
  const { first, last } = keepingSteps({ toolCalls, keep, lost() {}, later: setImmediate, as: 'events' });
  const end = {
    start() {},
    content: () => true,
    chunk: () => 'ready' as const,
    end: <F>(found: F) => found,
  };
  const sink = first.over(last.over(end, place), place);
  for (const event of events) sink.chunk([event]);
  void sink.end(failed ? ({ kind: 'malformed', message: 'cut' } as never) : null, undefined as never);
  return kept;
}

function generatedAnswer(random: Random): NeutralEvent[] {
  const words = Array.from({ length: 1 + Math.floor(random.next() * 6) }, () => pick(random, things));
  return [
    { type: 'start', id: 'c1', model: 'm', createdS: 1 },
    ...(random.next() < 0.3 ? [{ type: 'reasoning-delta', choice: 0, text: pick(random, things) } as const] : []),
    ...words.map((text): NeutralEvent => ({ type: 'text-delta', choice: 0, text: `${text} ` })),
    { type: 'finish', choice: 0, reason: 'stop', stopSequence: null },
    { type: 'end' },
  ];
}

test(`0 wrong of ${cases}: partial or refused answers`, () => {
  const random = seededRandom(8);
  const finish = (reason: string) => (events: NeutralEvent[]) =>
    events.map((event) => (event.type === 'finish' ? ({ ...event, reason } as NeutralEvent) : event));
  const spoilt: readonly ((events: NeutralEvent[]) => NeutralEvent[])[] = [
    (events) => events.slice(0, 1 + Math.floor(random.next() * (events.length - 1))),
    finish('length'),
    finish('content-filter'),
    finish('tool-calls'),
    (events) => events.toSpliced(1, 0, { type: 'refusal-delta', choice: 0, text: 'no' }),
    (events) => events.filter(({ type }) => type !== 'finish'),
    (events) => events.toSpliced(2, 0, { type: 'text-delta', choice: 1, text: 'never finished' }),
    (events) => events.toSpliced(-1, 1, { type: 'failed', fault: { kind: 'malformed', message: 'cut' } as never }),
  ];
  let wrong = 0;
  for (let n = 0; n < cases; n += 1) {
    const whole = generatedAnswer(random);
    assert.notEqual(keptOf(whole, false, false), null, 'a whole one is kept');
    const events = spoilt[n % spoilt.length]?.(whole) ?? [];
    if (keptOf(events, false, false) !== null || keptOf(whole, false, true) !== null) wrong += 1;
  }
  assert.equal(wrong, 0);
});

test(`0 wrong of ${cases}: streams kept as one object`, () => {
  const random = seededRandom(9);
  const key = { scope: 'key a', digest: 'd' };
  for (let n = 0; n < cases; n += 1) {
    const events = generatedAnswer(random);
    const kept = keptOf(events, false, false);
    assert.ok(kept !== null);
    const unpacked = unpackEntry(packEntry(kept, key), key);
    const [start, ...others] = (unpacked === null ? null : cachedEvents(unpacked.answer)) ?? [];
    assert.deepEqual(others, events.slice(1), 'each piece of the stream is one');
    assert.deepEqual(start, { type: 'start', id: null, model: 'm', createdS: null });
  }
});

test(`0 wrong of ${cases}: a hit that is billed as a call`, (t) => billedHits(t, cases));
