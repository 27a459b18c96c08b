import { once } from 'node:events';
import { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { startGateway } from '../start-gateway.ts';
import type { Order } from './client-and-upstream.ts';

/** How often the gateway's thread did what costs. */
export interface Work {
  parses: number;
  stringifies: number;
  /** Writes of sockets, to callers and upstreams. */
  writes: number;
  /** Buffers that were put together or copied. */
  copies: number;
  /** A look that is repeated counts once: how often it comes is a matter of time. */
  timers: number;
}

const none: Work = { parses: 0, stringifies: 0, writes: 0, copies: 0, timers: 0 };
const work = { ...none };
/** Functions that timers of this round call; null: nobody counts, and nothing may be held. */
let timed: Set<unknown> | null = new Set();
/** Bodies and answers: smaller ones are hardly work. */
const copiedBytesMin = 64;
/** Settlement has been written by then. */
const settledMs = 60;
const rounds = 5;
/** On a busy machine each round holds the process's looks of a second. Half of those that are briefer than this do not. */
const briefMs = 500;
const roundsMost = 40;
const promotedChats = 40;

countCalls(JSON, 'parse', 'parses');
countCalls(JSON, 'stringify', 'stringifies');
countCalls(Socket.prototype, '_writeGeneric' as never, 'writes');
countCalls(globalThis, 'setTimeout', 'timers');
countCalls(globalThis, 'setInterval', 'timers');
countCalls(Buffer, 'concat', 'copies');
const { copy } = Buffer.prototype;
Buffer.prototype.copy = function (this: Buffer, ...args: Parameters<typeof copy>) {
  if (this.length >= copiedBytesMin) work.copies += 1;
  return copy.apply(this, args);
};

const other = new Worker(new URL('./client-and-upstream.ts', import.meta.url));
const [upstreamUrl] = (await once(other, 'message')) as [string];
const ends: (() => unknown)[] = [];
const gateway = await startGateway({ after: (end: () => unknown) => void ends.push(end) } as never, {
  providers: {
    same: { type: 'openai', base_url: `${upstreamUrl}/v1`, api_key: 'k' },
    other: { type: 'anthropic', base_url: `${upstreamUrl}/v1`, api_key: 'k' },
  },
  models: Object.fromEntries(
    (['same', 'other'] as const).flatMap((provider) => [
      [provider, { targets: [{ provider, model: 'mock/ok' }] }],
      ...[40, 120].map((chunks) => [
        `${provider}-${chunks}`,
        { targets: [{ provider, model: `mock/chunks=${chunks};interval=1ms` }] },
      ]),
    ]),
  ),
});

const counted: Record<string, Work> = {};
for (const [name, model, stream] of [
  ['whole, passed through', 'same', false],
  ['whole, converted', 'other', false],
  ['40 events, passed through', 'same-40', true],
  ['120 events, passed through', 'same-120', true],
  ['40 events, converted', 'other-40', true],
  ['120 events, converted', 'other-120', true],
] as const) {
  await chat(model, stream);
  const seen: Work[] = [];
  for (let brief = 0, round = 0; brief < rounds && round < roundsMost; round += 1) {
    const startMs = performance.now();
    await pause(settledMs);
    Object.assign(work, none);
    timed?.clear();
    await chat(model, stream);
    await pause(settledMs);
    seen.push({ ...work });
    if (performance.now() - startMs < briefMs) brief += 1;
  }
  // Other work of the process, such as its looks of each second, falls into some rounds and not into others.
  const least = { ...none };
  for (const key of Object.keys(none) as (keyof Work)[]) least[key] = Math.min(...seen.map((one) => one[key]));
  counted[name] = least;
}
timed = null;
const promoted = {
  'whole, passed through': await promotedBytes('same'),
  'whole, converted': await promotedBytes('other'),
};
process.send!([counted, promoted]);
for (const end of ends) await end();
await other.terminate();
process.exit(0);

/** Bytes that a chat leaves in the old generation, which only a full collection frees. */
async function promotedBytes(model: string): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (how: { type: 'minor' }) => void;
  const oldBytes = () => getHeapSpaceStatistics().find((space) => space.space_name === 'old_space')!.space_used_size;
  const seen: number[] = [];
  // What only the first ones leave is of the code, and a full collection may fall into one round.
  for (let round = 0; round <= rounds; round += 1) {
    const before = oldBytes();
    for (let sent = 1; sent <= promotedChats; sent += 1) {
      await chat(model, false);
      if (sent % 5 === 0) collect({ type: 'minor' });
    }
    seen.push((oldBytes() - before) / promotedChats);
  }
  return seen.slice(1).toSorted((a, b) => a - b)[Math.floor(rounds / 2)]!;
}

async function chat(model: string, stream: boolean): Promise<void> {
  const body = { model, stream, messages: [{ role: 'user', content: 'Hello' }] };
  other.postMessage({ url: `${gateway.url}/v1/chat/completions`, body } satisfies Order);
  const [end] = (await once(other, 'message')) as [string];
  if (end !== 'answered') throw new Error(end);
}

function countCalls<T extends object>(owner: T, name: keyof T, what: keyof Work): void {
  const own = owner[name] as (...args: unknown[]) => unknown;
  (owner as Record<keyof T, unknown>)[name] = function (this: unknown, ...args: unknown[]) {
    const isRepeated = what === 'timers' && timed?.has(args[0]);
    if (!isRepeated) work[what] += 1;
    if (what === 'timers') timed?.add(args[0]);
    return own.apply(this, args);
  };
}
