// node bench/run.mjs processes [--quick]: what several processes of `server.processes` answer and cost against one, over the
// embedded storage and over PostgreSQL and Redis; and how soon a dead worker has a successor.
import { readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { postgresMissing } from '../../test/start-postgres.ts';
import { redisMissing } from '../../test/start-redis.ts';
import { closedLoop } from '../gateway/load.ts';
import { wholeRequest } from '../gateway/measure-requests.ts';
import { cpuSeconds, pin, type Subject, scratchFolder, startCulvert, startUpstream } from '../gateway/processes.ts';
import { startStores } from '../gateway/stores.ts';
import { childrenOf } from '../gateway/tree.ts';
import { median } from '../percentile.ts';
import { finish } from '../results.ts';
import { judged, print, type Row, told } from '../rows.ts';

const quick = process.argv.includes('--quick');
const [rounds, seconds, warmSeconds] = quick ? [2, 2, 3] : [5, 4, 8];
const connections = 64;
/** Fewer than the deaths after which a worker is given up. */
const kills = 4;
const successorMaxMs = 30_000;
const cores = availableParallelism();
const loadBefore = (loadavg()[0] ?? 0).toFixed(1);
/** With four cores and more, load and upstream have one each. */
const isRoomy = cores >= 4;
const gatewayCores = isRoomy ? `0-${cores - 3}` : `0-${cores - 1}`;
const loadCore = String(cores - 1);
const upstreamCore = isRoomy ? String(cores - 2) : loadCore;
/** The primary needs a core for the books. */
const most = isRoomy ? Math.max(2, cores - 3) : 2;
const counts = [1, 2, 4, 8, 16].filter((count) => count <= most);

pin(process.pid, loadCore);
const upstream = await startUpstream(upstreamCore);
const stores = postgresMissing || redisMissing ? null : await startStores(isRoomy ? upstreamCore : gatewayCores);
const rows: Row[] = [];
try {
  rows.push(...print(await measureStorage('embedded storage', {})));
  if (stores !== null) rows.push(...print(await measureStorage('PostgreSQL and Redis', stores.storage)));
  rows.push(...print(await measureDeaths()));
} finally {
  upstream.stop();
  await stores?.stop();
}
finish(
  {
    subject: 'processes',
    command: 'node bench/run.mjs processes',
    how: `Answers of 2 KB, ${connections} connections, every kind of limit; medians of ${rounds} rounds of ${seconds} s in turns. The machine's load was
${loadBefore} before. ${isRoomy ? 'Load and upstream have a core each.' : `Gateways, load and upstream share ${cores} cores, so only CPU says how throughput grows.`} A primary has the books of the embedded storage.`,
    rows,
  },
  !quick,
);

/** Of one round: µs a request of one worker (or the only process) and of the primary, and answers a second. */
interface Round {
  workerUs: number;
  primaryUs: number;
  perSecond: number;
}

async function measureStorage(over: string, storage: Readonly<Record<string, unknown>>): Promise<Row[]> {
  const gateways: { count: number; subject: Subject; figures: Round[] }[] = [];
  try {
    for (const count of counts) gateways.push({ count, subject: await started(count, storage), figures: [] });
    for (const { count, subject } of gateways) await round(subject, count, warmSeconds);
    for (let at = 0; at < rounds; at += 1)
      for (const { count, subject, figures } of gateways) figures.push(await round(subject, count, seconds));
  } finally {
    for (const { subject } of gateways) await subject.stop();
  }
  const [alone, ...several] = gateways.map(({ count, figures }) => ({ count, figures }));
  if (alone === undefined) return [];
  return [
    told(`${over}, 1 process: answers a second; CPU a request`, shown(alone.figures)),
    ...several.flatMap(({ count, figures }) => growthOf(count, figures, alone.figures)),
  ];
}

function growthOf(count: number, figures: readonly Round[], alone: readonly Round[]): Row[] {
  const byCpu = figures.map((one, at) => (alone[at]?.workerUs ?? Number.NaN) / one.workerUs);
  const byClock = figures.map((one, at) => one.perSecond / (alone[at]?.perSecond ?? Number.NaN) / count);
  const books = median(figures.map(({ primaryUs }) => primaryUs));
  return [
    told(`… ${count} processes: answers a second; CPU a request`, shown(figures)),
    judged(`… a worker answers, of what one process does with the same CPU`, byCpu, {
      ...{ atLeast: 0.85, unit: '', digits: 2 },
    }),
    ...(isRoomy ? [judged('… growth for each worker', byClock, { atLeast: 0.85, unit: '', digits: 2 })] : []),
    ...(books > 5
      ? [told('… the books would use a whole core at (calculated)', `${rounded(1e6 / books)} answers a second`)]
      : []),
  ];
}

function shown(figures: readonly Round[]): string {
  const of = (name: keyof Round) => median(figures.map((one) => one[name]));
  const primary = of('primaryUs');
  return `${rounded(of('perSecond'))}; ${of('workerUs').toFixed(0)} µs${primary > 0 ? ` and ${primary.toFixed(0)} µs of the primary` : ''}`;
}

function rounded(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en');
}

async function started(count: number, storage: Readonly<Record<string, unknown>>, folder?: string): Promise<Subject> {
  const subject = await startCulvert({
    upstreamPort: upstream.port,
    cores: gatewayCores,
    server: { processes: count },
    storage,
    ...(folder !== undefined && { folder }),
  });
  const isReady = async () =>
    (await fetch(`http://127.0.0.1:${subject.port}/readyz`).catch(() => null))?.status === 200;
  for (let tries = 0; !(await isReady()); tries += 1) {
    if (tries > 600) throw new Error(`${count} processes do not get ready`);
    await after(50);
  }
  return subject;
}

async function round(subject: Subject, count: number, forSeconds: number): Promise<Round> {
  const workers = count === 1 ? [subject.pid] : workersOf(subject);
  const read = () => [workers.reduce((sum, pid) => sum + cpuSeconds(pid), 0), cpuSeconds(subject.pid)] as const;
  const before = read();
  const load = { port: subject.port, request: wholeRequest(subject), connections, seconds: forSeconds };
  const { requests, errors, seconds: took } = await closedLoop(load);
  if (errors > requests / 100) throw new Error(`${errors} of ${requests} failed`);
  const now = read();
  return {
    workerUs: ((now[0] - before[0]) / requests) * 1e6,
    primaryUs: count === 1 ? 0 : ((now[1] - before[1]) / requests) * 1e6,
    perSecond: requests / took,
  };
}

/** The spare is none. */
function workersOf({ pid }: Subject): number[] {
  return childrenOf(pid).filter((child) => readFileSync(`/proc/${child}/cmdline`, 'utf8').startsWith('culvert worker'));
}

/** Under load, one after the other. */
async function measureDeaths(): Promise<Row[]> {
  const folder = scratchFolder();
  const subject = await started(2, {}, folder);
  const replaced = () => readFileSync(join(folder, 'culvert.log'), 'utf8').split('in place of the dead one').length - 1;
  try {
    // A spare has loaded its code by then.
    await after(8_000);
    const tookMs: number[] = [];
    const lost: number[] = [];
    for (let death = 1; death <= kills; death += 1) {
      const load = closedLoop({ port: subject.port, request: wholeRequest(subject), connections: 16, seconds: 6 });
      await after(1_000);
      const [victim] = workersOf(subject);
      if (victim === undefined) throw new Error('no worker is left');
      const diedMs = performance.now();
      process.kill(victim, 'SIGKILL');
      while (replaced() < death) {
        if (performance.now() - diedMs > successorMaxMs) throw new Error('no worker took the place of a dead one');
        await after(5);
      }
      tookMs.push(performance.now() - diedMs);
      lost.push((await load).errors);
    }
    return [
      judged('kill -9 of one of two workers under load: until another one serves in its place', tookMs, {
        ...{ atMost: 1_000, unit: ' ms', digits: 0 },
      }),
      told('… requests that were cut, of 16 callers', lost.join(', ')),
    ];
  } finally {
    await subject.stop();
  }
}
