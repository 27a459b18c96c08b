// node bench/run.mjs replicas [row…] [--quick]: replicas over one PostgreSQL and one Redis: exact limits in a burst, stores
// that are gone and back, and a rolling upgrade from the release before.
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { setTimeout as after } from 'node:timers/promises';
import { balanced } from '../../test/faults/books-balance.ts';
import { burst, burstAtOnce, burstPlans } from '../../test/faults/burst.ts';
import { historyMissing, releaseBefore } from '../../test/faults/release-before.ts';
import { startReplicas } from '../../test/faults/replicas.ts';
import { storeOutage } from '../../test/faults/store-outage.ts';
import { upgradeBehindNginx } from '../../test/faults/upgrade-behind-nginx.ts';
import { nginxMissing } from '../../test/start-nginx.ts';
import { postgresMissing, startPostgres } from '../../test/start-postgres.ts';
import type { Lifetime } from '../../test/start-process.ts';
import { redisMissing, startRedis } from '../../test/start-redis.ts';
import { percentile } from '../percentile.ts';
import { finish } from '../results.ts';
import { judged, print, type Row, told } from '../rows.ts';

const quick = process.argv.includes('--quick');
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const loadBefore = (loadavg()[0] ?? 0).toFixed(1);
const none = { atMost: 0, unit: '', digits: 0 };
const bursts = quick ? 1 : 5;
const outagesMs = quick ? [300, 3_000] : [300, 3_000, 12_000];
const upgradeRequests = quick ? 4_000 : 100_000;

const measurements: Record<string, (t: Lifetime) => Promise<Row[]>> = { bursts: measureBursts, stores, upgrade };
const wanted = named.length > 0 ? named : Object.keys(measurements);
const unknown = wanted.filter((name) => !(name in measurements));
const missing = postgresMissing || redisMissing || nginxMissing || historyMissing;
if (unknown.length > 0 || missing) {
  const rows = Object.keys(measurements).join(', ');
  console.error(unknown.length > 0 ? `No such row: ${unknown.join(', ')}. Rows: ${rows}.` : missing);
  process.exit(2);
}

const rows: Row[] = [];
for (const name of wanted) rows.push(...print(await alone(measurements[name] as (t: Lifetime) => Promise<Row[]>)));
finish(
  {
    subject: 'replicas',
    command: 'node bench/run.mjs replicas',
    how: `Gateways, PostgreSQL (which syncs nothing), Redis, nginx, upstream and callers share all cores. The machine's load was
${loadBefore} before. A store ends by SIGKILL while one caller asks every 50 ms.`,
    rows,
  },
  named.length === 0 && !quick,
);

/** Ends everything that it started, the last first. */
async function alone(measure: (t: Lifetime) => Promise<Row[]>): Promise<Row[]> {
  const ends: (() => unknown)[] = [];
  try {
    return await measure({ after: (end) => void ends.unshift(end) });
  } finally {
    for (const end of ends) await end();
  }
}

async function measureBursts(t: Lifetime): Promise<Row[]> {
  const postgres = await startPostgres(t);
  const rows: Row[] = [];
  for (const [what, plan] of Object.entries(burstPlans)) {
    const seen: Record<string, number>[] = [];
    for (let round = 0; round < bursts; round += 1)
      await alone(async (inside) => {
        seen.push((await burstAtOnce(inside, postgres, plan)).counts);
        return [];
      });
    const off = seen.map((counts) => Math.abs((counts[200] ?? 0) - burst.allowed));
    const late = seen.map((counts) => burst.callers - (counts[200] ?? 0) - (counts[429] ?? 0));
    rows.push(
      judged(
        `${burst.callers} callers at once, ${burst.replicas} replicas, ${burst.allowed} ${what}: more or fewer than ${burst.allowed} answered, worst of ${bursts}`,
        [Math.max(...off)],
        none,
      ),
      judged('… answered otherwise than by 200 and 429', [Math.max(...late)], none),
    );
  }
  return rows;
}

async function stores(t: Lifetime): Promise<Row[]> {
  const [postgres, redis] = [await startPostgres(t), await startRedis(t)];
  const { urls } = await startReplicas(t, 1, { postgres, redis });
  const ends = { PostgreSQL: () => postgres.stop('SIGKILL'), Redis: () => redis.kill() };
  const restarts = { PostgreSQL: () => postgres.restart(), Redis: () => redis.restart() };
  const rows: Row[] = [];
  for (const name of ['PostgreSQL', 'Redis'] as const) {
    const refusedMs: number[] = [];
    const backMs: number[] = [];
    let others = 0;
    for (const outageMs of outagesMs) {
      const seen = await storeOutage(String(urls[0]), { stop: ends[name], restart: restarts[name] }, outageMs);
      refusedMs.push(...seen.refused.map(({ ms }) => ms));
      backMs.push(seen.backMs);
      others += [...seen.refused, ...seen.late].filter(({ status }) => status !== 503).length;
      await after(2_000);
    }
    refusedMs.sort((a, b) => a - b);
    const gone = outagesMs.map((ms) => ms / 1_000).join(', ');
    rows.push(
      judged(`${name} is gone: 503 after, p99`, [percentile(refusedMs, 0.99)], { atMost: 300, unit: ' ms', digits: 0 }),
      told(
        '… p50; answers; answered otherwise',
        `${percentile(refusedMs, 0.5).toFixed(0)} ms; ${refusedMs.length}; ${others}`,
      ),
      judged(`… for ${gone} s and back: the first request is answered after, worst`, [Math.max(...backMs)], {
        ...{ atMost: 2_000, unit: ' ms', digits: 0 },
      }),
    );
  }
  return rows;
}

async function upgrade(t: Lifetime): Promise<Row[]> {
  const before = releaseBefore(t);
  let stage = 0;
  const { answered, lost, url, log } = await upgradeBehindNginx(t, before.bin, async (count) => {
    stage += 1;
    while (count() < (upgradeRequests * stage) / 4) await after(100);
  });
  if (lost.length > 0) console.error(lost.slice(0, 20).join('; '), readFileSync(log, 'utf8').slice(-5_000));
  const { events } = await balanced(url);
  const charged = new Set(events.map(({ id }) => id));
  const what = `three replicas of ${before.commit} replaced in turn behind nginx, 40 callers, half of them stream: lost of ${answered.length + lost.length}`;
  return [
    judged(what, [lost.length], none),
    judged(
      '… answered and not charged, or charged and not answered',
      [answered.filter((id) => !charged.has(id)).length + (charged.size - answered.length)],
      none,
    ),
  ];
}
