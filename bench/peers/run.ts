// node bench/run.mjs peers [--quick]
// Other gateways beside this one, those of them that are installed: it prints how to install the others.
import { median, openLoop, percentile } from '../gateway/load.ts';
import { throughput, wholeRequest } from '../gateway/measure-requests.ts';
import { pacedRound, streamRequest } from '../gateway/measure-streams.ts';
import { loadCore, pin, residentMb, type Subject, startUpstream, type Upstream } from '../gateway/processes.ts';
import { StreamReader } from '../gateway/streams.ts';
import { finish } from '../results.ts';
import { print, type Row, told } from '../rows.ts';
import { culvert, type Peer, peers } from './peers.ts';

const quick = process.argv.includes('--quick');
const rounds = quick ? 2 : 5;
const seconds = quick ? 2 : 4;
const warmSeconds = 8;
const connections = 10;
/** How much each of them can answer on one core. */
const perSecond = 50;
const streams = 10;
const firstTokens = quick ? 20 : 60;

/** Rounds of one gateway; times in ms, memory in MB, CPU in µs. */
interface Figures {
  startMs: number;
  memoryMb: [number, number];
  cpuUs: number[];
  perSecond: number[];
  p50Ms: number[];
  p99Ms: number[];
  firstMs: number[];
  chunkUs: number[];
  pace: number[];
}

for (const { name, version, install } of peers) if (version === null) console.log(`${name} is left out: ${install}`);
pin(process.pid, loadCore);
const upstream = await startUpstream();
const measured = [culvert, ...peers.filter(({ version }) => version !== null)];
const started: { subject: Subject; figures: Figures }[] = [];
for (const peer of measured) started.push(await firstAnswer(peer, upstream));
const direct: Pick<Figures, 'p50Ms' | 'p99Ms' | 'firstMs'> = { p50Ms: [], p99Ms: [], firstMs: [] };
for (const { subject } of started) await throughput({ upstream }, subject, connections, warmSeconds);
// In turns: what the machine does beside falls on all alike.
for (let round = 0; round < rounds; round += 1) {
  await latency({ port: upstream.port, headers: {} }, direct);
  for (const { subject, figures } of started) {
    const whole = await throughput({ upstream }, subject, connections, seconds);
    figures.cpuUs.push(1e6 / whole.perCpuSecond);
    figures.perSecond.push(whole.perSecond);
    await latency(subject, figures);
    const paced = await pacedRound(subject, 'same', seconds, streams);
    figures.chunkUs.push(1e6 / paced.chunksPerCpuSecond);
    figures.pace.push(paced.pace);
  }
}
for (const { subject, figures } of started) figures.memoryMb[1] = residentMb(subject.pid);
await Promise.all(started.map(({ subject }) => subject.stop()));
upstream.stop();

const names = started.map(({ subject }) => subject.name).join(', ');
const row = (what: string, of: (figures: Figures) => string, unit: string): Row =>
  told(what, `${started.map(({ figures }) => of(figures)).join(', ')} ${unit}`.trimEnd());
const added = (which: 'p50Ms' | 'p99Ms' | 'firstMs') => (figures: Figures) =>
  (median(figures[which]) - median(direct[which])).toFixed(2);
const rows = [
  row('CPU for a request of 2 KB', ({ cpuUs }) => median(cpuUs).toFixed(0), 'µs'),
  row(`requests a second on one core, ${connections} connections`, (of) => median(of.perSecond).toFixed(0), ''),
  row(`added p50 at ${perSecond} requests a second`, added('p50Ms'), 'ms'),
  row(`added p99 at ${perSecond} requests a second`, added('p99Ms'), 'ms'),
  row('added time to the first token, p50', added('firstMs'), 'ms'),
  row(`CPU for a chunk of ${streams} streams`, ({ chunkUs }) => median(chunkUs).toFixed(0), 'µs'),
  row('… share of the pace kept', ({ pace }) => median(pace).toFixed(2), ''),
  row('memory after the first answer', ({ memoryMb }) => memoryMb[0].toFixed(0), 'MB'),
  row('memory after everything', ({ memoryMb }) => memoryMb[1].toFixed(0), 'MB'),
  row('from the start to the first answer', ({ startMs }) => (startMs / 1_000).toFixed(2), 's'),
];
console.log(names);
print(rows);
const versions = peers.filter(({ version }) => version !== null).map(({ name, version }) => `${name} ${version}`);
finish({
  subject: 'peers',
  command: ['node bench/run.mjs peers', ...(quick ? ['--quick'] : [])].join(' '),
  how: `In this order: ${names} (${versions.join(', ')}). Gateway on core 0 with
one worker, load and upstream on core 1; medians of ${rounds} rounds in turns. Culvert has everything on: key, every kind of limit, ledger in SQLite, metrics, a log line a
request. LiteLLM has a key, no database and no log; Portkey has neither keys nor a ledger.`,
  rows,
});

async function firstAnswer(peer: Peer, to: Upstream): Promise<(typeof started)[number]> {
  const startMs = performance.now();
  const subject = await peer.start(to.port);
  const { latenciesMs, errors } = await openLoop({ ...asks(subject), perSecond: 1, seconds: 1 });
  if (errors > 0 || latenciesMs.length === 0) throw new Error(`${peer.name} does not answer`);
  const tookMs = performance.now() - startMs;
  return {
    subject,
    figures: {
      startMs: tookMs,
      memoryMb: [residentMb(subject.pid), 0],
      cpuUs: [],
      perSecond: [],
      p50Ms: [],
      p99Ms: [],
      firstMs: [],
      chunkUs: [],
      pace: [],
    },
  };
}

async function latency(subject: Pick<Subject, 'port' | 'headers'>, into: typeof direct): Promise<void> {
  const { latenciesMs, errors } = await openLoop({ ...asks(subject), perSecond, seconds });
  if (errors > 0) throw new Error(`${errors} requests failed`);
  into.p50Ms.push(percentile(latenciesMs, 0.5));
  into.p99Ms.push(percentile(latenciesMs, 0.99));
  for (let at = 0; at < firstTokens; at += 1) {
    const reader = new StreamReader(subject.port, streamRequest(subject, 'short'));
    into.firstMs.push((await reader.first()) / 1_000);
    reader.close();
  }
}

function asks(subject: Pick<Subject, 'port' | 'headers'>) {
  return { port: subject.port, request: wholeRequest(subject) };
}
