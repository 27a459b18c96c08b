import { percentile } from '../percentile.ts';
import { judged, type Row, told } from '../rows.ts';
import { closedLoop, openLoop } from './load.ts';
import { type Bench, wholeRequest } from './measure-requests.ts';
import { rest, streamRequest } from './measure-streams.ts';
import { residentMb, startCulvert } from './processes.ts';
import { abortStreams, openStreams } from './streams.ts';

/** In a process of its own: what other rows left behind is not theirs. */
export async function measureMemory(bench: Bench): Promise<Row[]> {
  const culvert = await startCulvert({ upstreamPort: bench.upstream.port });
  try {
    const rows: Row[] = [];
    const requestsMax = bench.mode === 'quick' ? 90_000 : 250_000;
    const samples: Sample[] = [];
    const after50k: number[] = [];
    const after250k: number[] = [];
    await closedLoop({
      port: culvert.port,
      request: wholeRequest(culvert),
      connections: 64,
      seconds: 600,
      requestsMax,
      onCount: {
        every: 1_000,
        tell(count) {
          samples.push({ count, mb: residentMb(culvert.pid) });
          if (count === 50_000) after50k.push(residentMb(culvert.pid));
          if (count === 250_000) after250k.push(residentMb(culvert.pid));
        },
      },
    });
    rows.push(judged('memory after 50,000 requests', after50k, { atMost: 220, unit: ' MB', digits: 0 }));
    if (after250k.length > 0) rows.push(judged('… after 250,000', after250k, { atMost: 160, unit: ' MB', digits: 0 }));
    rows.push(slopeRow('requests', samples, warmUp.requests));

    const held = await openStreams(culvert.port, streamRequest(culvert, 'slow'), 2_000);
    await rest(1_000);
    rows.push(judged('… with 2,000 held streams', [residentMb(culvert.pid)], { atMost: 300, unit: ' MB', digits: 0 }));
    for (const reader of held) reader.close();
    await rest(1_000);

    const count = warmUp.aborts + (bench.mode === 'quick' ? 20_000 : 100_000);
    const aborted: Sample[] = [];
    await abortStreams({
      port: culvert.port,
      request: streamRequest(culvert, 'paced'),
      count,
      atOnce: 16,
      onCount: { every: 500, tell: (done) => aborted.push({ count: done, mb: residentMb(culvert.pid) }) },
    });
    rows.push(slopeRow('aborted streams', aborted, warmUp.aborts));
    return rows;
  } finally {
    await culvert.stop();
  }
}

interface Sample {
  count: number;
  mb: number;
}

/** Until then the heap grows to its working size: the question is whether it goes on. */
const warmUp = { requests: 50_000, aborts: 15_000 };

/** Least squares over the samples after the warm-up. */
function slopeRow(of: string, samples: readonly Sample[], after: number): Row {
  const late = samples.filter((sample) => sample.count > after);
  const what = `memory slope over ${((late.at(-1)?.count ?? 0) - after).toLocaleString('en')} ${of}`;
  const mean = (of: (sample: Sample) => number) => late.reduce((sum, sample) => sum + of(sample), 0) / late.length;
  const [meanCount, meanMb] = [mean((s) => s.count), mean((s) => s.mb)];
  const covariance = late.reduce((sum, s) => sum + (s.count - meanCount) * (s.mb - meanMb), 0);
  const variance = late.reduce((sum, s) => sum + (s.count - meanCount) ** 2, 0);
  return judged(`${what}, per 10,000`, [(covariance / variance) * 10_000], { atMost: 0.5, unit: ' MB', digits: 2 });
}

/** By hand (`--idle`): needs 10,000 file descriptors in the gateway and as many here and upstream. */
export async function measureIdle(bench: Bench): Promise<Row[]> {
  const culvert = await startCulvert({ upstreamPort: bench.upstream.port });
  try {
    const request = wholeRequest(culvert);
    const load = () => openLoop({ port: culvert.port, request, perSecond: 200, seconds: 20 });
    await closedLoop({ port: culvert.port, request, connections: 16, seconds: 3 });
    const alone = percentile((await load()).latenciesMs, 0.99);
    const readers = await openStreams(culvert.port, streamRequest(culvert, 'slow'), 5_000);
    const beside = percentile((await load()).latenciesMs, 0.99);
    const mb = residentMb(culvert.pid);
    const cut = readers.filter((reader) => reader.closed).length;
    for (const reader of readers) reader.close();
    return [
      judged('memory with 5,000 idle streams and 200 req/s', [mb], { atMost: 400, unit: ' MB', digits: 0 }),
      judged('… p99 ÷ p99 without them', [beside / alone], { atMost: 2, unit: '', digits: 2 }),
      told('… p99, p99 without them; streams cut', `${beside.toFixed(2)}, ${alone.toFixed(2)} ms; ${cut}`),
    ];
  } finally {
    await culvert.stop();
  }
}
