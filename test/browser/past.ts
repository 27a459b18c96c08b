import { join } from 'node:path';
import { declaredKeyId } from '../../src/books/auth/key-directory.ts';
import { blankEvent } from '../../src/books/ledger/columns.ts';
import { bucketsOf } from '../../src/books/metering/counter-scope.ts';
import type { UsageAttempt, UsageEvent } from '../../src/books/metering/ledger.ts';
import { crashedEvent } from '../../src/books/metering/settlement.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { newRequestId } from '../../src/kernel/ids.ts';
import { openSqliteLedger } from '../../src/stores/sqlite/ledger.ts';

/** Shares of all requests, and their callers. */
const callers = [
  {
    account: 'atlas',
    key: 'production',
    share: 0.44,
    models: ['smart', 'smart', 'cheap', 'embed'],
    tags: ['checkout', 'search', 'support'],
  },
  { account: 'atlas', key: 'staging', share: 0.07, models: ['smart', 'cheap'], tags: ['checkout'] },
  { account: 'northwind', key: 'crm', share: 0.2, models: ['cheap', 'cheap', 'smart'], tags: ['letters', null] },
  { account: 'lumen', key: 'reader', share: 0.17, models: ['embed', 'cheap'], tags: ['index'] },
  { account: 'maria.jensen', key: 'laptop', share: 0.12, models: ['smart'], tags: [null] },
] as const;

const targets = {
  smart: [
    { target: 'claude/claude-sonnet-4-5', input: 3, output: 15, firstMs: 620 },
    { target: 'openai/gpt-5', input: 1.25, output: 10, firstMs: 840 },
  ],
  cheap: [
    { target: 'openai/gpt-5-mini', input: 0.25, output: 2, firstMs: 380 },
    { target: 'groq/llama-3.3-70b', input: 0.59, output: 0.79, firstMs: 130 },
  ],
  embed: [{ target: 'openai/text-embedding-3-small', input: 0.02, output: 0, firstMs: 90 }],
} as const;

const dayMs = 86_400_000;

/** Chances from a seed: the same pictures each time. */
export function chances(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Writes `days` of the past into the books of a data folder that no server has open: more by day, less at weekends. */
export async function writePast(dataDir: string, { days, perDay }: { days: number; perDay: number }): Promise<void> {
  const ledger = await openSqliteLedger({
    file: join(dataDir, 'ledger.db'),
    bootId: 'past',
    clock: systemClock,
    chargeCrashed: crashedEvent,
    bucketsOf,
    onTrouble: () => {},
  });
  const chance = chances(7);
  const nowMs = Date.now();
  for (let dayBack = days; dayBack >= 0; dayBack -= 1) {
    // The hours and days decide which requests there are, and pages show one that two targets answered at once.
    const events: UsageEvent[] = dayBack === 1 ? [askedTwice(Math.floor(nowMs - dayMs), chance)] : [];
    for (let at = 0; at < perDay; at += 1) {
      const atMs = nowMs - dayBack * dayMs - chance() * dayMs;
      if (atMs >= nowMs - 60_000 || chance() >= busyness(atMs)) continue;
      const event = eventAt(Math.floor(atMs), chance);
      events.push(dayBack === days ? ofEarlierVersion(event) : event);
    }
    await Promise.all(events.map((event) => ledger.open({ ...event, bootId: 'past', inputTokensEstimate: 0 })));
    for (const event of events) ledger.close(event);
    await ledger.flush();
  }
  await ledger.shutdown();
}

function askedTwice(atMs: number, chance: () => number): UsageEvent {
  for (;;) {
    const event = eventAt(atMs, chance);
    if (event.route.attempts.some((one) => one.class === 'cancelled')) return event;
  }
}

/** Records without the begin of attempts. */
function ofEarlierVersion({ route, ...event }: UsageEvent): UsageEvent {
  return { ...event, route: { ...route, attempts: route.attempts.map((one) => ({ ...one, startMs: null })) } };
}

/** 0 to 1. */
function busyness(atMs: number): number {
  const at = new Date(atMs);
  const weekend = at.getUTCDay() === 0 || at.getUTCDay() === 6;
  const byHour = 0.25 + 0.75 * Math.max(0, Math.sin(((at.getUTCHours() - 5) / 16) * Math.PI));
  return byHour * (weekend ? 0.4 : 1);
}

function callerAt(place: number) {
  let end = 0;
  for (const caller of callers) {
    end += caller.share;
    if (place <= end) return caller;
  }
  return callers[0];
}

function eventAt(atMs: number, chance: () => number): UsageEvent {
  const caller = callerAt(chance());
  const pick = <T>(from: readonly T[]) => from[Math.floor(chance() * from.length)]!;
  const alias = pick<keyof typeof targets>(caller.models);
  const choices = targets[alias];
  const trouble = chance();
  const first = choices[0];
  const answers = trouble < 0.06 && choices.length > 1 ? choices[1]! : first;
  const failed = trouble > 0.985;
  const aborted = trouble > 0.97 && !failed;
  const inputTokens = Math.floor(80 + chance() ** 3 * 9_000);
  const outputTokens = answers.output === 0 || failed ? 0 : Math.floor(20 + chance() ** 2 * 1_400);
  const firstTokenMs = Math.floor(answers.firstMs * (0.6 + chance() ** 4 * 5));
  const ms = firstTokenMs + outputTokens * 9;
  const costUsd = failed ? null : (inputTokens * answers.input + outputTokens * answers.output) / 1e6;
  const attempt = (target: string, over: Partial<UsageAttempt>): UsageAttempt => ({
    target,
    provider: target.split('/')[0]!,
    model: target.split('/').slice(1).join('/'),
    credential: `${target.split('/')[0]}#0`,
    class: 'transient',
    status: 503,
    startMs: 1,
    ms: 40 + Math.floor(chance() * 400),
    firstTokenMs: null,
    bytes: 180,
    usage: null,
    usageSource: 'none',
    costUsd: null,
    message: 'The engine is currently overloaded, please try again later.',
    ...over,
  });
  const attempts: UsageAttempt[] = [];
  if (failed) attempts.push(...choices.map(({ target }) => attempt(target, {})));
  else {
    // Some were silent, and the other one was asked as well.
    const silentMs = answers !== first && trouble < 0.02 ? 1_200 : null;
    if (answers !== first && silentMs === null)
      attempts.push(
        attempt(first.target, { class: 'rate_limited', status: 429, message: 'Rate limit reached for requests.' }),
      );
    attempts.push(
      attempt(answers.target, {
        class: 'ok',
        status: 200,
        startMs: (silentMs ?? attempts[0]?.ms ?? 0) + 1,
        ms,
        firstTokenMs,
        bytes: outputTokens * 22,
        usage: { inputTokens, outputTokens },
        usageSource: 'upstream',
        costUsd,
        message: null,
      }),
    );
    if (silentMs !== null) {
      const message = 'another target answered first';
      const seen = { status: null, bytes: 0, usageSource: 'abandoned', message };
      attempts.unshift(attempt(first.target, { ...seen, class: 'cancelled', ms: silentMs + firstTokenMs }));
    }
  }
  return {
    ...blankEvent,
    requestId: newRequestId(atMs),
    atMs,
    quotaMs: atMs,
    settledMs: atMs + ms,
    account: caller.account,
    keyId: declaredKeyId({ account: caller.account, name: caller.key }),
    tenant: `${caller.account}/${caller.key}`,
    endpoint: alias === 'embed' ? 'embeddings' : 'chat',
    alias,
    target: failed ? null : answers.target,
    status: failed ? 502 : aborted ? 499 : 200,
    class: failed ? 'upstreams-failed' : aborted ? 'aborted' : 'ok',
    stream: alias !== 'embed',
    aborted,
    ms,
    firstTokenMs: failed || alias === 'embed' ? null : firstTokenMs,
    inputTokens,
    outputTokens,
    costMilli: failed ? 0 : 1_000,
    costUsd,
    usageSource: failed ? 'none' : 'upstream',
    user: chance() < 0.5 ? `user-${Math.floor(chance() * 40)}` : null,
    tag: pick<string | null>(caller.tags),
    route: {
      alias,
      verdicts: choices.map(({ target }, at) => ({
        target,
        verdict: at === 0 ? 'picked' : attempts.length > 1 ? 'picked' : 'not needed',
      })),
      attempts,
      losses: [],
      passThrough: answers.target.startsWith('openai/'),
    },
  };
}
