import { median, percentile } from '../percentile.ts';
import { judged, type Row, told } from '../rows.ts';
import { closedLoop, openLoop } from './load.ts';
import { cpuSeconds, type Subject, type Upstream } from './processes.ts';
import { chatRequest } from './wire.ts';

export interface Bench {
  upstream: Upstream;
  nginx: Subject;
  culvert: Subject;
  /** Forwards requests, and does nothing else. */
  bare: Subject;
  mode: 'full' | 'quick';
}

export function wholeRequest(proxy: Pick<Subject, 'headers'>): Buffer {
  return chatRequest({ headers: proxy.headers, model: 'same', stream: null });
}

/** The compiler is busy until then: 105 µs a request then read 60. */
const warmSeconds = 8;

export interface Throughput {
  perCpuSecond: number;
  perSecond: number;
  /** Of one core, by load and upstream together: near 1, they limit the proxy. */
  loadBusy: number;
}

/** Throws when a request fails. */
export async function throughput(
  bench: Pick<Bench, 'upstream'>,
  proxy: Subject,
  connections: number,
  seconds: number,
): Promise<Throughput> {
  const before = cpuSeconds(proxy.pid);
  const loadBefore = cpuSeconds(process.pid) + cpuSeconds(bench.upstream.pid);
  const result = await closedLoop({ port: proxy.port, request: wholeRequest(proxy), connections, seconds });
  if (result.errors > 0) throw new Error(`${proxy.name}: ${result.errors} of ${result.requests} requests failed`);
  const load = cpuSeconds(process.pid) + cpuSeconds(bench.upstream.pid) - loadBefore;
  return {
    perCpuSecond: result.requests / (cpuSeconds(proxy.pid) - before),
    perSecond: result.requests / result.seconds,
    loadBusy: load / result.seconds,
  };
}

/** Rounds of A, B, C, A, B, C: what the machine does besides falls on all alike, and ratios are taken round by round. */
export async function measureRequests(bench: Bench): Promise<Row[]> {
  const rounds = bench.mode === 'quick' ? 3 : 7;
  const seconds = bench.mode === 'quick' ? 1.5 : 3;
  const rows: Row[] = [];
  await throughput(bench, bench.culvert, 64, warmSeconds);
  await throughput(bench, bench.bare, 64, warmSeconds);
  for (const { connections, atLeast } of [
    { connections: 64, atLeast: 0.27 },
    { connections: 10, atLeast: 0.25 },
  ]) {
    const ours: Throughput[] = [];
    const limit: Throughput[] = [];
    const bare: Throughput[] = [];
    for (let round = 0; round < rounds; round += 1) {
      limit.push(await throughput(bench, bench.nginx, connections, seconds));
      ours.push(await throughput(bench, bench.culvert, connections, seconds));
      bare.push(await throughput(bench, bench.bare, connections, seconds));
    }
    const ratio = (others: readonly Throughput[]) => ours.map((o, i) => o.perCpuSecond / others[i]!.perCpuSecond);
    rows.push(
      judged(`requests per CPU-second ÷ nginx, 2 KB, c=${connections}`, ratio(limit), { atLeast, unit: '', digits: 3 }),
    );
    rows.push(
      judged(
        `CPU per request, c=${connections}`,
        ours.map((o) => 1e6 / o.perCpuSecond),
        { ...(connections === 64 ? { atMost: 50 } : {}), unit: ' µs', digits: 1 },
      ),
      judged(
        `CPU per request of a bare proxy over undici, c=${connections}`,
        bare.map((o) => 1e6 / o.perCpuSecond),
        { unit: ' µs', digits: 1 },
      ),
      judged(
        `CPU per request ÷ that of the bare proxy, c=${connections}`,
        ratio(bare).map((perCpu) => 1 / perCpu),
        { atMost: 2, unit: '', digits: 2 },
      ),
      told(
        `nginx's CPU per request, c=${connections}`,
        `${(1e6 / median(limit.map((l) => l.perCpuSecond))).toFixed(1)} µs`,
      ),
      told(
        `requests per second, c=${connections}: Culvert, nginx (core of load and upstream busy)`,
        [ours, limit]
          .map(
            (of) =>
              `${Math.round(median(of.map((o) => o.perSecond)))} (${median(of.map((o) => o.loadBusy)).toFixed(2)})`,
          )
          .join(', '),
      ),
    );
  }
  rows.push(await crowdRow(bench, rounds, seconds));
  return rows;
}

/** With many requests at once more of them outlive a collection, which copies them. */
async function crowdRow(bench: Bench, rounds: number, seconds: number): Promise<Row> {
  const perCpuSecond = async (connections: number) =>
    (await throughput(bench, bench.culvert, connections, seconds)).perCpuSecond;
  await throughput(bench, bench.culvert, 512, warmSeconds);
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round += 1) ratios.push((await perCpuSecond(64)) / (await perCpuSecond(512)));
  return judged('CPU per request, c=512 ÷ c=64', ratios, { atMost: 1.3, unit: '', digits: 2 });
}

export async function measureLatency(bench: Bench): Promise<Row[]> {
  const rounds = bench.mode === 'quick' ? 3 : 5;
  const seconds = bench.mode === 'quick' ? 2 : 5;
  const direct = { port: bench.upstream.port, headers: {} };
  const through: Record<'direct' | 'nginx' | 'culvert', { p50: number[]; p99: number[] }> = {
    direct: { p50: [], p99: [] },
    nginx: { p50: [], p99: [] },
    culvert: { p50: [], p99: [] },
  };
  // Warm: a gateway that begins at this rate still compiles after 20 s.
  const perSecond = 500;
  await closedLoop({ port: bench.culvert.port, request: wholeRequest(bench.culvert), connections: 16, seconds: 8 });
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, proxy] of [
      ['direct', direct],
      ['nginx', bench.nginx],
      ['culvert', bench.culvert],
    ] as const) {
      const { latenciesMs, errors } = await openLoop({
        port: proxy.port,
        request: wholeRequest(proxy),
        perSecond,
        seconds,
      });
      if (errors > 0) throw new Error(`${name}: ${errors} requests failed`);
      through[name].p50.push(percentile(latenciesMs, 0.5));
      through[name].p99.push(percentile(latenciesMs, 0.99));
    }
  }
  const over = (base: 'direct' | 'nginx', which: 'p50' | 'p99') =>
    through.culvert[which].map((value, i) => value - through[base][which][i]!);
  return [
    judged('added p50 at 500 req/s over the direct path', over('direct', 'p50'), {
      atMost: 0.25,
      unit: ' ms',
      digits: 2,
    }),
    judged('added p50 at 500 req/s over nginx’s', over('nginx', 'p50'), { unit: ' ms', digits: 2 }),
    judged('added p99 at 500 req/s over nginx’s', over('nginx', 'p99'), { atMost: 0.5, unit: ' ms', digits: 2 }),
  ];
}
