import { closedLoop, openLoop } from '../gateway/load.ts';
import { pacedStreams } from '../gateway/measure-streams.ts';
import { cpuSeconds, type Upstream } from '../gateway/processes.ts';
import { StreamReader } from '../gateway/streams.ts';
import { treeCpuUs, treeMb } from '../gateway/tree.ts';
import { chatRequest, type StreamKind } from '../gateway/wire.ts';
import { median, percentile } from '../percentile.ts';
import type { Running } from './gateway.ts';

/** How much is measured. */
export interface Extent {
  rounds: number;
  /** Of each loop. */
  seconds: number;
  warmSeconds: number;
  /** After another one's turn. */
  againSeconds: number;
  /** Of a compiler's, with as many callers. */
  warmCallers: number;
  callers: readonly number[];
  /** Requests a second of the row of added latency. */
  rate: number;
  firstTokens: number;
  /** Nothing holds the others up for longer: at the end of a load, a slow gateway still has an answer for each caller. */
  patienceSeconds: number;
}

/** The figures of one gateway: samples of a row by its key, or why there is none. */
export class Figures {
  readonly #samples = new Map<string, number[]>();
  readonly #failed = new Map<string, string>();

  add(key: string, value: number): void {
    const samples = this.#samples.get(key);
    if (samples === undefined) this.#samples.set(key, [value]);
    else samples.push(value);
  }

  fail(key: string, why: string): void {
    this.#failed.set(key, why);
  }

  /** Text: why there is none. */
  of(key: string): readonly number[] | string {
    return this.#failed.get(key) ?? this.#samples.get(key) ?? 'not measured';
  }
}

/** Whatever asks a gateway, or the upstream itself. */
type Asked = Pick<Running, 'port' | 'headers' | 'model'>;

export function requestTo(asked: Asked, stream: StreamKind | null): Buffer {
  return chatRequest({ headers: asked.headers, model: asked.model, stream });
}

export function cpuUs({ pid, stores }: Running): number {
  return treeCpuUs([pid, ...stores]);
}

export function memoryMb({ pid, stores }: Running): number {
  return treeMb([pid, ...stores]);
}

/** Only to let compilers and pools come to rest. */
export async function warm(running: Running, seconds: number, extent: Extent): Promise<void> {
  const load = { port: running.port, request: requestTo(running, null), connections: extent.warmCallers };
  // One that cannot keep it says so in its cells.
  await patiently(extent, closedLoop({ ...load, seconds })).catch(() => undefined);
}

/** One round of one gateway; what fails is said in its cell, and the rest is measured. */
export async function measureRound(running: Running, upstream: Upstream, extent: Extent, into: Figures): Promise<void> {
  // First, because a gateway that fails below is still busy with what nobody waits for any more.
  await measureLatency(running, extent, into);
  for (const callers of extent.callers) {
    const held = await attempt(into, [`rate ${callers}`, `cpu ${callers}`, `busy ${callers}`], () =>
      whole(running, upstream, callers, extent),
    );
    // With more callers it would fail as well.
    if (held === 'failed') break;
  }
  for (const callers of extent.callers) {
    const held = await attempt(into, [`chunk ${callers}`, `pace ${callers}`], async () => {
      const request = requestTo(running, 'paced');
      const order = { ...running, request, seconds: extent.seconds, streamsAtOnce: callers };
      const round = await patiently(extent, pacedStreams({ ...order, cpuUs: () => cpuUs(running) }));
      return [1e6 / round.chunksPerCpuSecond, round.pace];
    });
    if (held === 'failed') break;
  }
}

/** Of a gateway, or of the upstream asked directly. */
export async function measureLatency(asked: Asked, extent: Extent, into: Figures): Promise<void> {
  await attempt(into, ['p50', 'p99'], async () => {
    const load = { port: asked.port, request: requestTo(asked, null), perSecond: extent.rate, seconds: extent.seconds };
    const { latenciesMs, errors } = await patiently(extent, openLoop(load));
    if (errors > 0) throw new Error(`${errors} failed`);
    return [percentile(latenciesMs, 0.5), percentile(latenciesMs, 0.99)];
  });
  await attempt(into, ['first'], async () => {
    const firstMs: number[] = [];
    for (let at = 0; at < extent.firstTokens; at += 1) {
      const reader = new StreamReader(asked.port, requestTo(asked, 'short'));
      firstMs.push((await patiently(extent, reader.first())) / 1_000);
      reader.close();
    }
    return [median(firstMs)];
  });
}

/** Answers a second, µs of CPU for each, and how busy the load was. */
async function whole(running: Running, upstream: Upstream, callers: number, extent: Extent): Promise<number[]> {
  const loadSeconds = () => cpuSeconds(process.pid) + cpuSeconds(upstream.pid);
  const [cpuBefore, loadBefore] = [cpuUs(running), loadSeconds()];
  const load = { port: running.port, request: requestTo(running, null), connections: callers };
  const result = await patiently(extent, closedLoop({ ...load, seconds: extent.seconds }));
  if (result.errors > 0) throw new Error(`${result.errors} of ${result.requests} failed`);
  return [
    result.requests / result.seconds,
    (cpuUs(running) - cpuBefore) / result.requests,
    (loadSeconds() - loadBefore) / result.seconds,
  ];
}

async function attempt(
  into: Figures,
  keys: readonly string[],
  measure: () => Promise<number[]>,
): Promise<'measured' | 'failed'> {
  try {
    const values = await measure();
    for (const [at, key] of keys.entries()) into.add(key, values[at] ?? Number.NaN);
    return 'measured';
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    for (const key of keys) into.fail(key, why);
    return 'failed';
  }
}

async function patiently<Value>({ patienceSeconds }: Extent, measured: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no end in ${patienceSeconds} s`)), patienceSeconds * 1_000);
  });
  try {
    return await Promise.race([measured, late]);
  } finally {
    clearTimeout(timer);
  }
}
