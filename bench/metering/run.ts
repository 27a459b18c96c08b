// node bench/run.mjs metering [row…] [--quick]
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { postgresMissing, type StartedPostgres, startPostgres } from '../../test/start-postgres.ts';
import { redisMissing, type StartedRedis, startRedis } from '../../test/start-redis.ts';
import { raceRounds } from '../../test/stores/redis-race.ts';
import { median } from '../percentile.ts';
import { finish } from '../results.ts';
import { judged, print, type Row, told } from '../rows.ts';
import type { Driver, Figures, Load, Metered } from './one-driver.ts';

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const quick = flags.includes('--quick');

const missing = postgresMissing || redisMissing;
if (missing) {
  console.error(missing);
  process.exit(1);
}
const postgres: StartedPostgres = await startPostgres(null);
const redis: StartedRedis = await startRedis(null);

const drivers: Record<string, { name: string; driver: () => Driver; requests: number }> = {
  sqlite: {
    name: 'memory over SQLite',
    driver: () => ({ database: 'sqlite', state: 'memory' }),
    requests: 20_000,
  },
  postgres: {
    name: 'memory over PostgreSQL',
    driver: () => ({ database: postgres.newDatabase(), state: 'memory' }),
    requests: 8_000,
  },
  redis: {
    name: 'Redis over PostgreSQL',
    driver: () => ({ database: postgres.newDatabase(), state: redis.url }),
    requests: 8_000,
  },
};
const known = [...Object.keys(drivers), 'race'];
const wanted = named.length > 0 ? named : known;
const unknown = wanted.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`No such row: ${unknown.join(', ')}. Rows: ${known.join(', ')}.`);
  process.exit(2);
}

/** µs of a request: the ledger of PostgreSQL takes 20 of ours, and counters in Redis 25 of ours and 40 of Redis. */
const goals: Record<string, { limited?: number; free?: number; redis?: number }> = {
  sqlite: {},
  postgres: { free: 20 },
  redis: { limited: 45, redis: 40 },
};

const rows: Row[] = [];
for (const name of wanted) {
  rows.push(...print(name === 'race' ? await measureRace() : await measureDriver(name)));
}
finish(
  {
    subject: 'metering',
    command: ['node bench/run.mjs metering', ...flags].join(' '),
    how: `What a request pays to be admitted, reserved and settled: CPU of Culvert's process over that of the same callers
without any of it, the three loads in turns, medians. Every limit: 15 of them, and one of concurrent requests. The wait
is that until the reservation stands in the books. PostgreSQL without fsync and Redis beside it on the same machine. The
process sets V8's flags as \`culvert\` does, which costs 5 µs at c=10 and saves memory.`,
    rows,
  },
  named.length === 0,
);

/** One process: the callers alone, then without a limit, then with all, and again. */
async function measureDriver(key: string): Promise<Row[]> {
  const { name, driver, requests } = drivers[key]!;
  const child = fork(new URL('./one-driver.ts', import.meta.url), [JSON.stringify(driver())]);
  child.once('exit', (code) => {
    if (code !== 0) process.exit(1);
  });
  await once(child, 'message');
  const measured: Row[] = [];
  const share = quick ? 4 : 1;
  for (const metered of ['nothing', 'no limits', 'every limit'] as const)
    await loaded(child, { metered, concurrency: 64, requests: Math.round(requests / 2) });
  for (const concurrency of [10, 64]) {
    const figures: Record<Metered, Figures[]> = { nothing: [], 'no limits': [], 'every limit': [] };
    const redisUs: number[] = [];
    for (let round = 0; round < (quick ? 2 : 5); round += 1) {
      for (const metered of ['nothing', 'no limits', 'every limit'] as const) {
        const before = key === 'redis' ? redisCpuUs() : 0;
        const load = { metered, concurrency, requests: Math.round(requests / share) };
        figures[metered].push(await loaded(child, load));
        if (key === 'redis' && metered === 'every limit') redisUs.push((redisCpuUs() - before) / load.requests);
      }
    }
    const over = (metered: Metered) =>
      figures[metered].map((one, i) => one.usPerRequest - figures.nothing[i]!.usPerRequest);
    const of = (metered: Metered, figure: keyof Figures) => median(figures[metered].map((one) => one[figure]));
    const goal = (atMost: number | undefined) => ({ ...(atMost !== undefined && { atMost }), unit: ' µs', digits: 1 });
    measured.push(
      judged(`${name}, c=${concurrency}: CPU with every limit`, over('every limit'), goal(goals[key]?.limited)),
      judged(`… with none`, over('no limits'), goal(goals[key]?.free)),
      told(
        '… wait p50 / p99, every limit; none',
        `${wait(of('every limit', 'waitP50Ms'), of('every limit', 'waitP99Ms'))}; ${wait(of('no limits', 'waitP50Ms'), of('no limits', 'waitP99Ms'))} ms`,
      ),
    );
    const refused = [...figures['every limit'], ...figures['no limits']].reduce((sum, one) => sum + one.refused, 0);
    if (refused > 0) measured.push(told('… refused as unavailable: counters or books over 250 ms', String(refused)));
    if (key === 'redis') measured.push(judged("… Redis' own CPU, every limit", redisUs, goal(goals[key]?.redis)));
  }
  child.send('end');
  await once(child, 'exit');
  return measured;
}

function wait(p50Ms: number, p99Ms: number): string {
  return `${p50Ms.toFixed(2)} / ${p99Ms.toFixed(2)}`;
}

async function loaded(child: ChildProcess, load: Load): Promise<Figures> {
  const answered = once(child, 'message');
  child.send(load);
  const [figures] = await answered;
  return figures as Figures;
}

/** CPU of the server so far. */
function redisCpuUs(): number {
  const seconds = (field: string) => Number(new RegExp(`${field}:([\\d.]+)`).exec(redis.cli('info', 'cpu'))?.[1]);
  return (seconds('used_cpu_sys') + seconds('used_cpu_user')) * 1e6;
}

async function measureRace(): Promise<Row[]> {
  const rounds = quick ? 20 : 200;
  const startMs = performance.now();
  const race = await raceRounds({ url: redis.url, rounds, seed: Date.now() % 1_000_000 });
  const perRoundMs = (performance.now() - startMs) / (race.held.length + race.tooSlow);
  const exact = race.held.filter((held) => held === race.left).length;
  return [
    judged(`rounds of ${rounds} in which exactly ${race.left} pass: 8 replicas × 200 callers over Redis`, [exact], {
      atLeast: rounds,
      unit: '',
      digits: 0,
    }),
    told(
      '… a round; rounds run again since one of 1,600 waited over 250 ms',
      `${perRoundMs.toFixed(0)} ms; ${race.tooSlow}`,
    ),
  ];
}
