// node bench/run.mjs sizing [--quick]: what a request costs the gateway, Redis and PostgreSQL on this machine, and what
// machines of other sizes should carry then (model.ts). The latter is a calculation.
import { execFileSync } from 'node:child_process';
import { loadavg } from 'node:os';
import { closedLoop } from '../gateway/load.ts';
import { wholeRequest } from '../gateway/measure-requests.ts';
import { loadCore, pin, type Subject, startCulvert, startUpstream } from '../gateway/processes.ts';
import { type Stores, startStores } from '../gateway/stores.ts';
import { treeCpuUs } from '../gateway/tree.ts';
import { median } from '../percentile.ts';
import { finish } from '../results.ts';
import { print, type Row, told } from '../rows.ts';
import { type Costs, coresFor, expected, growth } from './model.ts';

const quick = process.argv.includes('--quick');
const rounds = quick ? 2 : 5;
const seconds = quick ? 2 : 4;
const warmSeconds = quick ? 3 : 8;
const connections = 64;
const accounts = 500;
/** Of a plan without limits. */
const freeKey = 'sk-cv-bench-free-0001';
const loadBefore = loadavg()[0] ?? 0;
/** Far above what one machine does: where the stores must be several. */
const farPerSecond = 1_000_000;
const farKeys = 10_000_000;
const postgresCores = 8;

pin(process.pid, loadCore);
const upstream = await startUpstream();
const stores = await startStores(loadCore);
const order = { upstreamPort: upstream.port };
const alone = await startCulvert(order);
const shared = await startCulvert({
  ...order,
  storage: stores.storage,
  plans: { free: { windows: 'off', rpm: 'off' } },
  keys: [...keysOf(accounts), { key: freeKey, account: 'free', name: 'bench', plan: 'free' }],
});
const subjects = { alone, shared, free: { ...shared, headers: { authorization: `Bearer ${freeKey}` } } };
type Name = keyof typeof subjects;

/** Of one round: µs a request, and requests a second. */
interface Round {
  ownUs: number;
  redisUs: number;
  postgresUs: number;
  perSecond: number;
}

try {
  const figures: Record<Name, Round[]> = { alone: [], shared: [], free: [] };
  for (const name of names()) await round(subjects[name], warmSeconds);
  const before = room(stores);
  let requests = 0;
  for (let at = 0; at < rounds; at += 1)
    for (const name of names()) {
      const one = await round(subjects[name], seconds);
      figures[name].push(one);
      if (name !== 'alone') requests += one.perSecond * seconds;
    }
  // What is summed up and written behind the answers.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const after = room(stores);
  const redisBefore = redisBytes(stores);
  await eachAccount(shared);
  const accountBytes = (redisBytes(stores) - redisBefore) / accounts;

  const of = (name: Name, figure: keyof Round) => median(figures[name].map((one) => one[figure]));
  const costsOf = (name: 'shared' | 'free'): Costs => ({
    aloneUs: of('alone', 'ownUs'),
    sharedUs: of(name, 'ownUs'),
    redisUs: of(name, 'redisUs'),
    postgresUs: of(name, 'postgresUs'),
  });
  const costs = { limited: costsOf('shared'), free: costsOf('free') };
  const bytes = (which: 'rows' | 'log') => (after[which] - before[which]) / requests;
  const rows = [
    told('measured: CPU of one process over SQLite, every limit', us(costs.limited.aloneUs)),
    told('… answers a second on its core', count(of('alone', 'perSecond'))),
    told('measured: CPU of one process over PostgreSQL and Redis: every limit; none', both(costs, 'sharedUs')),
    told('… answers a second', `${count(of('shared', 'perSecond'))}; ${count(of('free', 'perSecond'))}`),
    told('… CPU of Redis', both(costs, 'redisUs')),
    told('… CPU of PostgreSQL', both(costs, 'postgresUs')),
    told('… tables of PostgreSQL; its log', `${count(bytes('rows'))}; ${count(bytes('log'))} bytes a request`),
    told('measured: Redis for an account with every limit', `${count(accountBytes)} bytes`),
    ...calculated(costs, { rowBytes: bytes('rows'), accountBytes }),
  ];
  print(rows);
  await stop();
  finish(
    {
      subject: 'sizing',
      command: ['node bench/run.mjs sizing', ...(quick ? ['--quick'] : [])].join(' '),
      how: `Gateway on core 0, load, upstream and stores on core 1; medians of ${rounds} rounds of ${seconds} s in turns, ${connections} connections,
answers of 2 KB, every kind of limit. The machine's load was ${loadBefore.toFixed(1)} before. PostgreSQL syncs nothing. Calculated rows: no core is
busy for more than 80 %, a further worker of a machine adds ${growth}, two cores of a machine answer nothing, and PostgreSQL has
${postgresCores} cores.`,
      rows,
    },
    !quick,
  );
} finally {
  await stop();
}

interface BothCosts {
  limited: Costs;
  free: Costs;
}

/** The model's rows: machines, and then where the stores end. */
function calculated(costs: BothCosts, { rowBytes, accountBytes }: { rowBytes: number; accountBytes: number }): Row[] {
  const machines = [1, 4, 16].flatMap((cores) =>
    [1, 3, 20].map((replicas) => {
      const [limited, free] = [costs.limited, costs.free].map((one) =>
        expected(one, { cores, replicas, postgresCores }),
      );
      const what = `calculated: ${replicas} × ${cores} cores, ${limited?.workers} of them answer: every limit; none`;
      return told(what, [limited, free].map((one) => `${count(one?.answersPerSecond ?? 0)} (${one?.end})`).join('; '));
    }),
  );
  const far = (one: Costs) => [one.sharedUs, one.redisUs, one.postgresUs].map((cost) => coresFor(farPerSecond, cost));
  return [
    ...machines,
    told(
      'calculated: cores of workers, Redis and PostgreSQL for 1 M answers a second: every limit; none',
      [costs.limited, costs.free].map((one) => far(one).map(count).join(', ')).join('; '),
    ),
    told('… tables grow', `${((rowBytes * farPerSecond * 86_400) / 1e12).toFixed(0)} TB a day`),
    told(
      'calculated: 10 M accounts with every limit take of Redis',
      `${((accountBytes * farKeys) / 2 ** 30).toFixed(0)} GB`,
    ),
  ];
}

async function round(subject: Subject, forSeconds: number): Promise<Round> {
  const read = () => [subject.pid, stores.redis.pid, stores.postgres.pid].map((pid) => treeCpuUs([pid]));
  const before = read();
  const load = { port: subject.port, request: wholeRequest(subject), connections, seconds: forSeconds };
  const { requests, errors, seconds: took } = await closedLoop(load);
  // On a starved machine some wait for the stores for longer than they may.
  if (errors > requests / 100) throw new Error(`${errors} of ${requests} failed`);
  const [ownUs = 0, redisUs = 0, postgresUs = 0] = read().map((cpu, at) => (cpu - (before[at] ?? 0)) / requests);
  return { ownUs, redisUs, postgresUs, perSecond: requests / took };
}

/** One request of each account, so that Redis has the counters of all. */
async function eachAccount({ port }: Subject): Promise<void> {
  const request = keysOf(accounts).map(({ key }) => wholeRequest({ headers: { authorization: `Bearer ${key}` } }));
  await closedLoop({ port, request, connections: 4, seconds: 60, requestsMax: accounts });
}

function keysOf(wanted: number): { key: string; account: string; name: string; plan: string }[] {
  return Array.from({ length: wanted }, (_none, at) => ({
    key: `sk-cv-bench-sizing-${at}`,
    account: `account-${at}`,
    name: 'bench',
    plan: 'bench',
  }));
}

/** Bytes of PostgreSQL's tables and of its log so far. */
function room({ postgres }: Stores): { rows: number; log: number } {
  const sql = "SELECT pg_database_size(current_database()), pg_current_wal_insert_lsn() - '0/0'::pg_lsn";
  const [rows, log] = execFileSync('psql', ['-At', '-F', ' ', postgres.url, '-c', sql], { encoding: 'utf8' }).split(
    ' ',
  );
  return { rows: Number(rows), log: Number(log) };
}

function redisBytes({ redis }: Stores): number {
  return Number(/used_memory:(\d+)/.exec(redis.cli('info', 'memory'))?.[1]);
}

function names(): readonly Name[] {
  return ['alone', 'shared', 'free'];
}

function both({ limited, free }: BothCosts, which: keyof Costs): string {
  return `${limited[which].toFixed(0)}; ${us(free[which])}`;
}

function us(value: number): string {
  return `${value.toFixed(0)} µs a request`;
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en');
}

async function stop(): Promise<void> {
  await Promise.all([alone.stop(), shared.stop()]);
  await stores.stop();
  upstream.stop();
}
