// What plain requests enter in src/, as V8 counts it in the gateway's own thread.
import { once } from 'node:events';
import { Session } from 'node:inspector/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { startGateway } from '../start-gateway.ts';
import type { Order } from './client-and-upstream.ts';

/** Names relative to `src/`, sorted; functions as `file name`. */
export interface Entered {
  files: string[];
  functions: string[];
  /** Calls of all of them, a request. */
  calls: number;
}

const sources = new URL('../../src/', import.meta.url).href;
/** Requests before the count: imports and growing buffers, which only the first ones enter, are not of a request. */
const warmRequests = 30;
/** The looks of timers run so often: one of them falls into each of several rounds in a row by this chance at most. */
const lookEveryMs = 1_000;
const chanceMax = 0.000_5;
const roundsMax = 40;
/** Settlement is written by then. Periodic work, such as the looks of each second, is seen in fewer rounds. */
const settledMs = 120;

/** Repeated work, all of which `kernel/every` begins, pauses while a request is counted: on a busy machine each round has some. */
let isCounting = false;
const { setInterval } = globalThis;
globalThis.setInterval = ((look: () => void, ms: number) =>
  setInterval(() => {
    if (!isCounting) look();
  }, ms)) as typeof globalThis.setInterval;

const other = new Worker(new URL('./client-and-upstream.ts', import.meta.url));
const [upstreamUrl] = (await once(other, 'message')) as [string];
const ends: (() => unknown)[] = [];
const gateway = await startGateway({ after: (end: () => unknown) => void ends.push(end) } as never, {
  // Counting makes the loop late, and requests would take turns.
  server: { overload: 'off' },
  providers: {
    same: { type: 'openai', base_url: `${upstreamUrl}/v1`, api_key: 'k' },
    other: { type: 'anthropic', base_url: `${upstreamUrl}/v1`, api_key: 'k' },
  },
  models: {
    same: { targets: [{ provider: 'same', model: 'mock/ok' }] },
    other: { targets: [{ provider: 'other', model: 'mock/ok' }] },
    embedding: { type: 'embedding', dimensions: 1_024, targets: [{ provider: 'same', model: 'mock/ok' }] },
  },
});
const collection = '/v1/vectors/collections/gates';
const search = { vector: [1, 0, 0, 0], limit: 3 };
await ask('/v1/vectors/collections', { name: 'gates', vector_size: 4, distance: 'Cosine' });
await ask(`${collection}/points`, { points: [1, 2, 3, 4, 5].map((id) => ({ id, vector: [id, 1, 2, 3] })) });

const session = new Session();
session.connect();
await session.post('Profiler.enable');
// V8 inlines hot functions and counts them no more.
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
const messages = [{ role: 'user', content: 'Hello' }];
const counted: Record<string, Entered> = {
  'streamed converted chat': await entered('/v1/chat/completions', { model: 'other', stream: true, messages }),
  'same-format chat': await entered('/v1/chat/completions', { model: 'same', stream: true, messages }),
  embedding: await entered('/v1/embeddings', { model: 'embedding', input: 'Hello' }),
  'vector search': await entered(`${collection}/points/search`, search),
};
await session.post('Profiler.stopPreciseCoverage');
process.send!(counted);
for (const end of ends) await end();
await other.terminate();
process.exit(0);

/** A function of a request is entered in every round. */
async function entered(path: string, body: unknown): Promise<Entered> {
  for (let sent = 0; sent < warmRequests; sent += 1) await order(path, body);
  let always: Map<string, number> | null = null;
  let calls = 0;
  // On a busy machine most rounds are slow, and have looks of timers among them.
  for (let round = 0, chance = 1; chance > chanceMax && round < roundsMax; round += 1) {
    const startedMs = performance.now();
    const seen = await enteredOnce(path, body);
    const before: Map<string, number> = always ?? seen;
    always = new Map([...before.keys()].flatMap((name) => (seen.has(name) ? [[name, seen.get(name) ?? 0]] : [])));
    chance = always.size < before.size ? 1 : (chance * (performance.now() - startedMs)) / lookEveryMs;
    calls = [...always.values()].reduce((sum, count) => sum + count, 0);
  }
  const functions = [...(always ?? [])].map(([name]) => name).sort();
  return { files: [...new Set(functions.map((name) => name.split(' ')[0]!))], functions, calls };
}

/** Functions that one request entered, with how often; without those that share a name in their file. */
async function enteredOnce(path: string, body: unknown): Promise<Map<string, number>> {
  await pause(settledMs);
  isCounting = true;
  await session.post('Profiler.takePreciseCoverage');
  await order(path, body);
  await pause(settledMs);
  const { result } = await session.post('Profiler.takePreciseCoverage');
  isCounting = false;
  const seen = new Map<string, number>();
  const shared = new Set<string>();
  for (const { url, functions } of result) {
    if (!url.startsWith(sources)) continue;
    for (const { functionName, ranges } of functions) {
      const [whole] = ranges;
      if (whole === undefined || whole.count === 0) continue;
      const name = `${url.slice(sources.length)} ${functionName || `(at ${whole.startOffset})`}`;
      if (seen.has(name)) shared.add(name);
      seen.set(name, whole.count);
    }
  }
  for (const name of shared) seen.delete(name);
  return seen;
}

async function order(path: string, body: unknown): Promise<void> {
  other.postMessage({ url: `${gateway.url}${path}`, body } satisfies Order);
  const [end] = (await once(other, 'message')) as [string];
  if (end !== 'answered') throw new Error(end);
}

async function ask(path: string, json: unknown): Promise<void> {
  const response = await gateway.fetch(path, { method: 'POST', json });
  if (!response.ok) throw new Error(await response.text());
}
