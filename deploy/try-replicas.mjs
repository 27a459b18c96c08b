// Two replicas over one PostgreSQL and one Redis, behind nginx, on this machine: callers use up one plan while one
// replica is killed (kill -9) and started again and again. Shows that the limit is exact, that no answered request is
// missing in the ledger, and that nobody is refused while there is something left. Spends nothing: the upstream is
// `culvert mock`. Needs the Debian packages postgresql, redis-server and nginx; takes about two minutes.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const culvert = join(here, '..', 'bin', 'culvert.mjs');
const callers = 50;
const killEveryMs = 2_500;
const downMs = 500;
/** A dead replica is taken for dead after 30 s of silence; then its open requests are charged. */
const recoveryMaxMs = 90_000;
const windowUnits = 20_000;

const folder = mkdtempSync(join(tmpdir(), 'culvert-replicas-'));
const adminKey = `sk-cv-admin-${randomBytes(32).toString('hex')}`;
const secret = randomBytes(32).toString('hex');
/** What runs, and the signal that ends it. @type {Map<import('node:child_process').ChildProcess, NodeJS.Signals>} */
const children = new Map();
let failed = 0;

process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));
process.on('exit', () => {
  for (const number of [1, 2]) {
    try {
      killReplica(number);
    } catch {
      // It is gone already.
    }
  }
  for (const [child, signal] of children) child.kill(signal);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

const say = (text) => console.log(text);
function check(what, holds, found) {
  if (!holds) failed += 1;
  say(`  ${holds ? 'ok  ' : 'FAIL'}  ${what}: ${found}`);
}

const [pgPort, redisPort, upstreamPort, port1, port2, nginxPort] = await freePorts(6);
const url = `http://127.0.0.1:${nginxPort}`;
const bin = {
  initdb: postgresBinary('initdb'),
  postgres: postgresBinary('postgres'),
  redis: onPath('redis-server'),
  nginx: onPath('nginx'),
};

say('Starting PostgreSQL, Redis, nginx, an upstream and two replicas …');
await startPostgres();
run(bin.redis, ['--port', String(redisPort), '--bind', '127.0.0.1', '--save', '', '--maxmemory-policy', 'noeviction'], {
  cwd: folder,
});
run(process.execPath, [culvert, 'mock', '--port', String(upstreamPort)]);
startReplica(1, port1);
startReplica(2, port2);
startNginx();
for (const port of [port1, port2, nginxPort])
  await until(() => answers(`http://127.0.0.1:${port}/healthz`), 30_000, `port ${port}`);
const trialKey = await setUp();

say(
  `${callers} callers use up ${windowUnits} units of the 5-hour window; replica 1 is killed every ${killEveryMs / 1_000} s …`,
);
const seen = { ok: [], refused: [], cut: 0, other: new Map() };
let kills = 0;
let loading = true;
const killer = killAgainAndAgain();
await Promise.all(Array.from({ length: callers }, (_, at) => callUntilRefused(at)));
loading = false;
await killer;
say(
  `  ${seen.ok.length} answered, ${seen.cut} cut by a killed replica, ${seen.refused.length} refused, ${kills} kills`,
);

say('Waiting until every request of a killed replica is settled …');
await until(
  async () => (await openReservations()) === 0 && (await heldUnits()) === (await usage()).units,
  recoveryMaxMs,
  'settlement of the open requests',
);
const before = await usage();
say('Using what was given back, one request at a time …');
let further = 0;
for (;;) {
  const answer = await call();
  if (answer.status !== 200) break;
  seen.ok.push(answer.id);
  further += 1;
}
await until(async () => (await usage()).units >= before.units + further, 5_000, 'the last settlements');
const total = await usage();
const events = await allRequests();
const byId = new Map();
for (const event of events) byId.set(event.id, (byId.get(event.id) ?? 0) + 1);

say('Result:');
check('units charged are exactly the plan', total.units === windowUnits, `${total.units} of ${windowUnits}`);
check(
  'every answered request is in the ledger once',
  seen.ok.every((id) => byId.get(id) === 1),
  `${seen.ok.length} answered, ${events.length} recorded`,
);
check('no request is recorded twice', events.length === byId.size, `${events.length} rows, ${byId.size} ids`);
check(
  'every refusal named a full window',
  seen.refused.every((body) => body.limit === '5h' && body.used === body.allowed && body.allowed === windowUnits),
  `${seen.refused.length} refusals`,
);
check(
  'what was left could be used, and no more',
  before.units + further === windowUnits,
  `${before.units} + ${further}`,
);
check('no other answers', seen.other.size === 0, JSON.stringify(Object.fromEntries(seen.other)));
say(failed === 0 ? 'The limits held.' : `${failed} of these did not hold.`);
process.exit(failed === 0 ? 0 : 1);

async function callUntilRefused() {
  for (;;) {
    const answer = await call();
    if (answer.status === 200) seen.ok.push(answer.id);
    else if (answer.status === 429) {
      seen.refused.push(answer.body.error);
      return;
    }
    // The replica died with it: nginx says 502, or nothing. What it was doing is charged by the other one.
    else if (answer.status === 0 || answer.status === 502) seen.cut += 1;
    // Replicas that start, or stores that are asked again, say so; the caller retries as an SDK does.
    else if (answer.status === 503) await pause(100);
    else seen.other.set(answer.status, (seen.other.get(answer.status) ?? 0) + 1);
  }
}

async function call() {
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${trialKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    const text = await response.text();
    const body = response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : null;
    return { status: response.status, id: response.headers.get('x-culvert-request-id'), body };
  } catch {
    return { status: 0, id: null, body: null };
  }
}

async function killAgainAndAgain() {
  while (loading) {
    await pause(killEveryMs);
    if (!loading) return;
    killReplica(1);
    kills += 1;
    await pause(downMs);
    startReplica(1, port1);
    // On a slow machine a start takes longer than the time between two kills.
    await until(() => !loading || answers(`http://127.0.0.1:${port1}/healthz`), 30_000, 'the replica that was killed');
  }
}

/** Provider, model, plan and account as an operator makes them while replicas run. Gives the account's key. */
async function setUp() {
  const upstream = `http://127.0.0.1:${upstreamPort}/v1`;
  await admin('/admin/v1/providers', 'POST', { name: 'upstream', type: 'openai', base_url: upstream, api_key: 'none' });
  await admin('/admin/v1/models', 'POST', { id: 'chat', targets: ['upstream/mock/delay=50ms'] });
  const windows = { '5h': windowUnits, week: 2 * windowUnits, month: 4 * windowUnits };
  await admin('/admin/v1/plans/trial', 'PUT', { windows, rpm: 'off' });
  await admin('/admin/v1/accounts', 'POST', { id: 'trial', plan: 'trial' });
  const { key } = await (await admin('/admin/v1/keys', 'POST', { account: 'trial', name: 'first' })).json();
  // The other replica has all of it within a second.
  const status = async () =>
    (await fetch(`${url}/v1/models/chat`, { headers: { authorization: `Bearer ${key}` } })).status;
  await until(
    async () => (await status()) === 200 && (await status()) === 200,
    5_000,
    'both replicas to know the model',
  );
  return key;
}

async function admin(path, method = 'GET', body = undefined) {
  const response = await fetch(`http://127.0.0.1:${port2}${path}`, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}

/** Running requests of the account, whichever replica has them, as the limits see them. */
async function openReservations() {
  return (await (await admin('/admin/v1/accounts/trial')).json()).open_requests;
}

/** As the shared counters have it: what is charged, and what is held for requests that are open. */
async function heldUnits() {
  const response = await fetch(`${url}/v1/usage`, { headers: { authorization: `Bearer ${trialKey}` } });
  return (await response.json()).windows?.['5h'].used;
}

async function usage() {
  const { data } = await (await admin('/admin/v1/usage?group_by=account')).json();
  return data.find((row) => row.group === 'trial') ?? { units: 0 };
}

async function allRequests() {
  const rows = [];
  let cursor = '';
  do {
    const page = await (
      await admin(`/admin/v1/requests?account=trial&limit=1000${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
    ).json();
    rows.push(...page.data);
    cursor = page.next_cursor ?? '';
  } while (cursor !== '');
  return rows;
}

/** The process that serves stands in the lock of its data folder: on an older Node it is a child of what was started. */
function killReplica(number) {
  const lock = join(folder, `replica-${number}`, 'lock');
  if (existsSync(lock)) process.kill(JSON.parse(readFileSync(lock, 'utf8')).pid, 'SIGKILL');
}

function startReplica(number, port) {
  const dataDir = join(folder, `replica-${number}`);
  return run(process.execPath, [culvert, 'start', '--config', join(here, 'culvert.yaml'), '--port', String(port)], {
    env: {
      ...process.env,
      CULVERT_DATA_DIR: dataDir,
      DATABASE_URL: `postgres://postgres@127.0.0.1:${pgPort}/postgres`,
      REDIS_URL: `redis://127.0.0.1:${redisPort}`,
      CULVERT_ADMIN_KEY: adminKey,
      CULVERT_SECRET_KEY: secret,
      LOG_LEVEL: 'warn',
    },
  });
}

async function startPostgres() {
  const data = join(folder, 'postgres');
  mkdirSync(data, { mode: 0o700 });
  // PostgreSQL refuses to run as root.
  const asUser =
    process.getuid?.() === 0 ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', '--'] : [];
  if (asUser.length > 0) {
    const id = (flag) => Number(execFileSync('id', [flag, 'postgres']).toString());
    chownSync(data, id('-u'), id('-g'));
    execFileSync('chmod', ['711', folder]);
  }
  const [first, ...rest] = [
    ...asUser,
    bin.initdb,
    '-D',
    data,
    '-U',
    'postgres',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--no-sync',
  ];
  execFileSync(first, rest, { stdio: 'ignore' });
  const [command, ...args] = [...asUser, bin.postgres, '-D', data, '-p', String(pgPort), '-h', '127.0.0.1', '-k', ''];
  // Asked kindly, it would wait for its callers.
  run(command, args, {}, 'SIGKILL');
  await until(() => accepts(pgPort), 20_000, 'PostgreSQL');
}

function startNginx() {
  const file = join(folder, 'nginx.conf');
  const text = readFileSync(join(here, 'nginx', 'trial.conf'), 'utf8')
    .replaceAll('FOLDER', folder)
    .replace('REPLICA_1', String(port1))
    .replace('REPLICA_2', String(port2))
    .replace('PORT', String(nginxPort))
    .replace('LOCATION', join(here, 'nginx', 'location.conf'));
  writeFileSync(file, text);
  run(bin.nginx, ['-c', file, '-p', folder]);
}

/**
 * Its words go to this terminal when it complains, and it ends with this process: by a signal that it hears, for nginx
 * has workers, and where Node is older Culvert is a child of what is started here.
 */
function run(command, args, options = {}, signal = 'SIGTERM') {
  const child = spawn(command, args, {
    stdio: ['ignore', 'ignore', process.env.VERBOSE ? 'inherit' : 'ignore'],
    ...options,
  });
  children.set(child, signal);
  child.on('exit', () => children.delete(child));
  child.on('error', (error) => {
    console.error(`${command}: ${error.message}`);
    process.exit(1);
  });
  return child;
}

function onPath(name) {
  const places = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin'];
  const found = places.map((place) => join(place, name)).find((file) => existsSync(file));
  return found ?? missing(name);
}

function postgresBinary(name) {
  const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql').sort() : [];
  const version = versions.at(-1);
  return version === undefined ? onPath(name) : join('/usr/lib/postgresql', version, 'bin', name);
}

function missing(name) {
  console.error(`${name} is not installed. On Debian or Ubuntu: apt-get install postgresql redis-server nginx`);
  process.exit(1);
}

async function freePorts(count) {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise((resolve) => {
          const server = createServer().listen(0, '127.0.0.1', () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((server) => server.address().port);
  for (const server of servers) server.close();
  return ports;
}

function accepts(port) {
  return fetch(`http://127.0.0.1:${port}`).then(
    () => true,
    // PostgreSQL does not speak HTTP: it hangs up, which is an answer; a closed port refuses.
    (error) => error.cause?.code !== 'ECONNREFUSED',
  );
}

function answers(target) {
  return fetch(target).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function until(holds, maxMs, what) {
  const endMs = Date.now() + maxMs;
  while (!(await holds())) {
    if (Date.now() > endMs) {
      console.error(`Gave up waiting for ${what} after ${maxMs / 1_000} s.`);
      process.exit(1);
    }
    await pause(100);
  }
}
