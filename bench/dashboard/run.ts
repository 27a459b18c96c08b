// node bench/run.mjs dashboard [sqlite|postgres|pages…] [--events=10000000] [--keep]
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { bucketsOf } from '../../src/books/metering/counter-scope.ts';
import { crashedEvent } from '../../src/books/metering/settlement.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { connect } from '../../src/stores/postgres/database.ts';
import { openPostgresLedger } from '../../src/stores/postgres/ledger.ts';
import { openSqliteLedger } from '../../src/stores/sqlite/ledger.ts';
import { findChromium } from '../../src/tools/render/find-chromium.ts';
import { chromiumMissing } from '../../test/chromium.ts';
import { postgresMissing, startPostgres } from '../../test/start-postgres.ts';
import { percentile } from '../percentile.ts';
import { finish } from '../results.ts';
import { judged, print, type Row, told } from '../rows.ts';
import { accounts } from './events.ts';
import { fillPostgres, fillSqlite } from './fill.ts';
import { chatUpstream, measureChats, measurePages } from './pages.ts';
import { adminKey, startServer } from './server.ts';

const given = process.argv.slice(2);
const flags = given.filter((argument) => argument.startsWith('--'));
const named = given.filter((argument) => !argument.startsWith('--'));
const events = Number(flags.find((flag) => flag.startsWith('--events='))?.slice(9) ?? 10_000_000);
const known = ['sqlite', 'postgres', 'pages'] as const;
/** Data behind the measured pages. */
const eventsOfPages = 100_000;
const wanted = named.length > 0 ? known.filter((name) => named.includes(name)) : known;
const rounds = 5;

const groups = ['day', 'model', 'account', 'endpoint', 'provider', 'key', 'user', 'tag'];
const usage = [
  ...groups.flatMap((group) => ['7d', '30d', '90d'].map((from) => `/usage?group_by=${group}&from=${from}`)),
  '/usage?group_by=day&split_by=model&from=90d',
  '/usage?group_by=day&split_by=account&from=30d',
  '/usage?group_by=hour&from=7d',
  '/usage?group_by=day&account=team-0&from=90d',
  '/usage?group_by=model&split_by=user&account=team-3&from=30d',
  '/usage?group_by=day&tag=nightly&model=smart&from=90d',
];
/** Charts of the same page, whose days are those of the operator's clock: one not far from UTC, and one that is. */
const zones = ['UTC', 'Europe/Berlin', 'America/Los_Angeles'];
const splits = ['model', 'account', 'key', 'tag', 'user'];
const zoned = zones.flatMap((zone) =>
  ['', ...splits.map((by) => `&split_by=${by}&parts=5`)].flatMap((split) =>
    ['30d', '90d'].map((from) => `/usage?group_by=day${split}&time_zone=${zone}&from=${from}`),
  ),
);
const hourly = splits.map((by) => `/usage?group_by=hour&split_by=${by}&parts=5&from=2d`);
/** Every part of every day, as an export asks. */
const whole = zones.flatMap((zone) =>
  ['account', 'user'].map((by) => `/usage.csv?group_by=day&split_by=${by}&time_zone=${zone}&from=90d`),
);
const overview = ['1h', '6h', '24h', '7d', '30d', '90d'].flatMap((range) => [
  `/overview?range=${range}`,
  `/overview?range=${range}&account=team-1`,
]);
const attempts = ['1h', '24h', '7d', '30d', '90d'].flatMap((from) => [
  `/attempts?group_by=provider&points=true&from=${from}`,
  `/attempts?group_by=target&points=true&model=smart&from=${from}`,
  `/attempts?group_by=class&provider=openai&from=${from}`,
]);
const requests = [
  '/requests?limit=50',
  '/requests?limit=50&account=team-49',
  '/requests?limit=50&class=any&account=team-49',
  '/requests?limit=50&key=key40x1',
  '/requests?limit=50&model=rerank&provider=local',
  '/requests?limit=50&status=5xx',
  '/requests?limit=50&class=failed&account=team-2',
  '/requests?limit=50&cost_min=0.019',
  '/requests?limit=50&tag=eval&until=30d',
];

/** The last whole month, of which all requests are there. */
const month = new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() - 1)).toISOString().slice(0, 7);
const statements = [`/statements?month=${month}`, `/statements.csv?month=${month}`, `/statements.html?month=${month}`];

const rows: Row[] = [];
for (const name of wanted) {
  if (name === 'pages' && chromiumMissing !== false) {
    console.error(chromiumMissing);
    continue;
  }
  if (name === 'postgres' && postgresMissing) {
    console.error(postgresMissing);
    continue;
  }
  rows.push(...print(await measure(name)));
}
finish(
  {
    subject: 'dashboard',
    command: ['node bench/run.mjs dashboard', ...flags].join(' '),
    how: `${events.toLocaleString('en')} requests of 90 days, 1,000 accounts of which 50 ask most, 1,100 keys, 8 models, 400 users, with the sums that
settlements make of them, days added up. Each question ${rounds} times over HTTP, one after the other. Pages in Chromium on
the same machine, over ${eventsOfPages.toLocaleString('en')} requests; chats beside what ten open pages ask, in turns.`,
    rows,
  },
  named.length === 0,
);

async function measure(name: (typeof known)[number]): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-bench-dashboard-'));
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir, { recursive: true });
  const postgres = name === 'postgres' ? await startPostgres(null) : null;
  try {
    const nowMs = Date.now();
    const fillMs = await timed(() =>
      postgres === null
        ? fillSqlite(join(dataDir, 'ledger.db'), name === 'pages' ? eventsOfPages : events, nowMs)
        : fillPostgres(postgres.url, events, nowMs),
    );
    const sumMs = await timed(() => addUpDays(dataDir, postgres?.url ?? null));
    const config = join(folder, 'culvert.yaml');
    const upstream = await chatUpstream();
    const storage = { data_dir: dataDir, ...(postgres !== null && { database: postgres.url }) };
    writeFileSync(
      config,
      stringify({
        admin: { key: adminKey },
        storage,
        accounts: Object.fromEntries(accounts.map((id) => [id, {}])),
        ...upstream.config,
      }),
    );
    const server = await startServer(config);
    try {
      if (name === 'pages')
        return [...(await measurePages(server, findChromium(undefined)!)), ...(await measureChats(server))];
      const ask = async (paths: readonly string[]) => {
        const all: number[] = [];
        for (const path of paths) {
          const each: number[] = [];
          for (let round = 0; round < rounds; round += 1) each.push(await timed(() => server.get(path)));
          all.push(...each);
          console.log(`  ${percentile(each, 0.5).toFixed(0).padStart(6)} ms ${path}`);
        }
        return all;
      };
      const figures = {
        usage: await ask(usage),
        zoned: await ask(zoned),
        hourly: await ask(hourly),
        whole: await ask(whole),
        overview: await ask(overview),
        attempts: await ask(attempts),
        requests: await ask(requests),
        statements: await ask(statements),
      };
      const p95 = (values: readonly number[]) => percentile(values, 0.95);
      const p50 = (values: readonly number[]) => `${percentile(values, 0.5).toFixed(0)} ms`;
      return [
        judged(`${name}: usage p95`, [p95(figures.usage)], { atMost: 300, unit: ' ms', digits: 0 }),
        told('… p50', p50(figures.usage)),
        judged(`${name}: charts by day in UTC, Berlin and Los Angeles, p95`, [p95(figures.zoned)], {
          ...{ atMost: 300, unit: ' ms', digits: 0 },
        }),
        told('… p50', p50(figures.zoned)),
        judged(`${name}: charts by hour of two days, p95`, [p95(figures.hourly)], {
          ...{ atMost: 300, unit: ' ms', digits: 0 },
        }),
        told('… p50', p50(figures.hourly)),
        told(`${name}: exports of every account or user of 90 days, p50`, p50(figures.whole)),
        judged(`${name}: attempts p95`, [p95(figures.attempts)], { atMost: 300, unit: ' ms', digits: 0 }),
        told('… p50', p50(figures.attempts)),
        judged(`${name}: overview p95`, [p95(figures.overview)], { atMost: 300, unit: ' ms', digits: 0 }),
        told('… p50', p50(figures.overview)),
        judged(`${name}: a page of requests, filtered: p95`, [p95(figures.requests)], {
          ...{ atMost: 300, unit: ' ms', digits: 0 },
        }),
        told('… p50', p50(figures.requests)),
        judged(`${name}: the statement of 1,000 accounts, p95`, [p95(figures.statements) / 1_000], {
          ...{ atMost: 10, unit: ' s', digits: 2 },
        }),
        told('… filled in; days added up in', `${(fillMs / 1_000).toFixed(0)} s; ${(sumMs / 1_000).toFixed(0)} s`),
      ];
    } finally {
      await server.stop();
      upstream.stop();
    }
  } finally {
    await postgres?.stop('SIGINT');
    if (!flags.includes('--keep')) rmSync(folder, { recursive: true, force: true });
  }
}

/** As a server does once an hour. */
async function addUpDays(dataDir: string, url: string | null): Promise<void> {
  const options = {
    bootId: 'bench',
    clock: systemClock,
    chargeCrashed: crashedEvent,
    bucketsOf,
    onTrouble: console.error,
  };
  const database = url === null ? null : await connect(url);
  const ledger =
    database === null
      ? openSqliteLedger({ ...options, file: join(dataDir, 'ledger.db') })
      : await openPostgresLedger({ ...options, database, use: 'look' });
  await ledger.prune(0);
  await ledger.shutdown();
  await database?.close();
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}
