// node bench/run.mjs gateway [row…] [--quick] [--idle]

import { finish } from '../results.ts';
import { print, type Row } from '../rows.ts';
import { measureIdle, measureMemory } from './measure-memory.ts';
import { type Bench, measureLatency, measureRequests } from './measure-requests.ts';
import { measureStart } from './measure-start.ts';
import { measureAbort, measureDelay, measureStall, measureStreams } from './measure-streams.ts';
import { measureWeight } from './measure-weight.ts';
import { loadCore, pin, startBareProxy, startCulvert, startNginx, startUpstream } from './processes.ts';

const measurements: Record<string, (bench: Bench) => Promise<Row[]>> = {
  requests: measureRequests,
  latency: measureLatency,
  streams: measureStreams,
  delay: measureDelay,
  weight: measureWeight,
  memory: measureMemory,
  start: measureStart,
  abort: measureAbort,
  stall: measureStall,
};
const byHand: Record<string, (bench: Bench) => Promise<Row[]>> = { idle: measureIdle };

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const wanted = [
  ...(named.length > 0 ? named : Object.keys(measurements)),
  ...(flags.includes('--idle') ? ['idle'] : []),
];
const unknown = wanted.filter((name) => !(name in measurements) && !(name in byHand));
if (unknown.length > 0) {
  console.error(`No such row: ${unknown.join(', ')}. Rows: ${[...Object.keys(measurements), 'idle'].join(', ')}.`);
  process.exit(2);
}

pin(process.pid, loadCore);
const upstream = await startUpstream();
const bench: Bench = {
  upstream,
  nginx: await startNginx(upstream.port),
  culvert: await startCulvert({ upstreamPort: upstream.port }),
  bare: await startBareProxy(upstream.port),
  mode: flags.includes('--quick') ? 'quick' : 'full',
};

const rows: Row[] = [];
try {
  for (const name of wanted) {
    rows.push(...print(await (measurements[name] ?? byHand[name]!)(bench)));
  }
} finally {
  await Promise.all([bench.nginx, bench.culvert, bench.bare].map((proxy) => proxy.stop()));
  upstream.stop();
}

finish(
  {
    subject: 'gateway',
    command: ['node bench/run.mjs gateway', ...flags].join(' '),
    how: `Proxy on core 0, load and upstream on core 1; A/B/A/B rounds, the median is judged. Everything on: key, every kind
of limit, ledger in SQLite, metrics, a log line a request.`,
    rows,
  },
  named.length === 0,
);
