import { median, percentile } from '../percentile.ts';
import { judged, type Row, told } from '../rows.ts';
import type { Bench } from './measure-requests.ts';
import { cpuSeconds, type Subject } from './processes.ts';
import { abortStreams, openStreams, StreamReader } from './streams.ts';
import { chatRequest, type StreamKind } from './wire.ts';

const streamsAtOnce = 200;

export function streamRequest(proxy: Pick<Subject, 'headers'>, kind: StreamKind, model: 'same' | 'converted' = 'same') {
  return chatRequest({ headers: proxy.headers, model, stream: kind });
}

export interface StreamRound {
  chunksPerCpuSecond: number;
  delayP50Ms: number;
  /** Against the pace: below 1 the upstream or the reader could not follow. */
  pace: number;
}

/** What streams of 50 chunks a second each cost through a proxy; `model`: which conversion. */
export function pacedRound(
  proxy: Subject,
  model: 'same' | 'converted',
  seconds: number,
  streamsAtOnce: number,
): Promise<StreamRound> {
  const request = streamRequest(proxy, 'paced', model);
  return pacedStreams({ ...proxy, request, seconds, streamsAtOnce, cpuUs: () => cpuSeconds(proxy.pid) * 1e6 });
}

/** `cpuUs`: what the proxy has used so far. */
export async function pacedStreams(order: {
  name: string;
  port: number;
  request: Buffer;
  seconds: number;
  streamsAtOnce: number;
  cpuUs(): number;
}): Promise<StreamRound> {
  const { streamsAtOnce } = order;
  const readers = await openStreams(order.port, order.request, streamsAtOnce, 'keep');
  await rest(500);
  const count = () => readers.reduce((sum, reader) => sum + reader.chunks, 0);
  for (const reader of readers) reader.delaysUs.length = 0;
  const [chunksBefore, cpuBefore, startMs] = [count(), order.cpuUs(), performance.now()];
  await rest(order.seconds * 1_000);
  const chunks = count() - chunksBefore;
  const elapsedS = (performance.now() - startMs) / 1_000;
  const cpu = (order.cpuUs() - cpuBefore) / 1e6;
  const delays = readers.flatMap((reader) => reader.delaysUs).sort((a, b) => a - b);
  const cut = readers.filter((reader) => reader.closed).length;
  for (const reader of readers) reader.close();
  await rest(200);
  if (cut > 0) throw new Error(`${order.name}: ${cut} streams were cut`);
  return {
    chunksPerCpuSecond: chunks / cpu,
    delayP50Ms: percentile(delays, 0.5) / 1_000,
    pace: chunks / (elapsedS * streamsAtOnce * 50),
  };
}

export async function measureStreams(bench: Bench): Promise<Row[]> {
  const rounds = bench.mode === 'quick' ? 2 : 5;
  const seconds = bench.mode === 'quick' ? 2 : 4;
  const limit: StreamRound[] = [];
  const same: StreamRound[] = [];
  const converted: StreamRound[] = [];
  const bare: StreamRound[] = [];
  await pacedRound(bench.culvert, 'same', 1, streamsAtOnce);
  await pacedRound(bench.culvert, 'converted', 1, streamsAtOnce);
  await pacedRound(bench.bare, 'same', 1, streamsAtOnce);
  for (let round = 0; round < rounds; round += 1) {
    limit.push(await pacedRound(bench.nginx, 'same', seconds, streamsAtOnce));
    same.push(await pacedRound(bench.culvert, 'same', seconds, streamsAtOnce));
    converted.push(await pacedRound(bench.culvert, 'converted', seconds, streamsAtOnce));
    bare.push(await pacedRound(bench.bare, 'same', seconds, streamsAtOnce));
  }
  const ratio = (ours: readonly StreamRound[], others = limit) =>
    ours.map((o, i) => o.chunksPerCpuSecond / others[i]!.chunksPerCpuSecond);
  const cost = (of: readonly StreamRound[]) => (1e6 / median(of.map((o) => o.chunksPerCpuSecond))).toFixed(1);
  return [
    judged('SSE chunks per CPU-second ÷ nginx, 200 streams, same dialect', ratio(same), {
      atLeast: 0.33,
      unit: '',
      digits: 3,
    }),
    judged('… converted from Anthropic’s', ratio(converted), { atLeast: 0.2, unit: '', digits: 3 }),
    judged('CPU per chunk, same dialect ÷ that of the bare proxy', ratio(bare, same), {
      ...{ atMost: 1.15, unit: '', digits: 3 },
    }),
    told(
      'CPU per chunk: Culvert same, converted; nginx; a bare proxy',
      `${cost(same)}, ${cost(converted)}; ${cost(limit)}; ${cost(bare)} µs`,
    ),
    told(
      'share of the pace kept: Culvert, nginx',
      [same, limit].map((of) => median(of.map((o) => o.pace)).toFixed(2)).join(', '),
    ),
  ];
}

/** What a few streams wait for: the added delay of a gateway that is not busy. */
export async function measureDelay(bench: Bench): Promise<Row[]> {
  const direct = { port: bench.upstream.port, headers: {} };
  const rounds = bench.mode === 'quick' ? 60 : 300;
  const firsts: Record<'direct' | 'culvert', number[]> = { direct: [], culvert: [] };
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, proxy] of [
      ['direct', direct],
      ['culvert', bench.culvert],
    ] as const) {
      const reader = new StreamReader(proxy.port, streamRequest(proxy, 'short'));
      firsts[name].push((await reader.first()) / 1_000);
      reader.close();
    }
  }
  const delayOf = async (proxy: { port: number; headers: Readonly<Record<string, string>> }) => {
    const readers = await openStreams(proxy.port, streamRequest(proxy, 'paced'), 20, 'keep');
    await rest(bench.mode === 'quick' ? 1_000 : 3_000);
    const delays = readers.flatMap((reader) => reader.delaysUs);
    for (const reader of readers) reader.close();
    return median(delays) / 1_000;
  };
  const added: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const base = await delayOf(direct);
    added.push((await delayOf(bench.culvert)) - base);
  }
  return [
    judged('time to first token, added p50', [median(firsts.culvert) - median(firsts.direct)], {
      atMost: 1,
      unit: ' ms',
      digits: 2,
    }),
    judged('delay per chunk, added p50', added, { atMost: 0.4, unit: ' ms', digits: 2 }),
  ];
}

/** How soon the upstream's socket is closed after the caller's. */
export async function measureAbort(bench: Bench): Promise<Row[]> {
  const rounds = bench.mode === 'quick' ? 20 : 100;
  const closedMs: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const reader = new StreamReader(bench.culvert.port, streamRequest(bench.culvert, 'paced'));
    await reader.first();
    const { monotonicUs } = await import('./wire.ts');
    const abortedUs = monotonicUs();
    reader.close();
    let facts = await bench.upstream.facts();
    for (let look = 0; facts.lastClosedUs < abortedUs && look < 200; look += 1) {
      await rest(5);
      facts = await bench.upstream.facts();
    }
    closedMs.push((facts.lastClosedUs - abortedUs) / 1_000);
  }
  closedMs.sort((a, b) => a - b);
  return [
    judged('caller’s abort → upstream closed, p50', [percentile(closedMs, 0.5)], {
      atMost: 20,
      unit: ' ms',
      digits: 1,
    }),
    told('… p99', `${percentile(closedMs, 0.99).toFixed(1)} ms`),
  ];
}

/** Memory of the gateway for an upstream that floods, while its own reader has stopped. */
export async function measureStall(bench: Bench): Promise<Row[]> {
  const reader = new StreamReader(bench.culvert.port, streamRequest(bench.culvert, 'flood'));
  await reader.first();
  reader.socket.pause();
  await rest(2_000);
  const { floodBytes } = await bench.upstream.facts();
  reader.close();
  return [
    judged('pulled from upstream for a stalled reader in 2 s', [floodBytes / 2 ** 20], {
      atMost: 12,
      unit: ' MB',
      digits: 1,
    }),
  ];
}

export { abortStreams };

export function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
