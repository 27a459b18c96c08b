import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type GatewayProcess, startGatewayProcess } from '../faults/gateway-process.ts';
import { storageOver } from '../faults/replicas.ts';
import { adminKey, overUpstreams, testKey } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { type Lifetime, temporaryFolder } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { until } from '../until.ts';

const storesMissing = postgresMissing || redisMissing;
const postgres = storesMissing === false ? await startPostgres(null) : null;
const redis = storesMissing === false ? await startRedis(null) : null;

/** The storages of a server of several processes: each suite runs over both. */
export interface Over {
  name: 'embedded' | 'shared';
  /** Why its tests cannot run here. */
  skip: string | false;
  /** A storage of its own. */
  storage(t: Lifetime): Record<string, unknown> & { data_dir: string };
}

export const embedded: Over = {
  name: 'embedded',
  skip: false,
  storage: (t) => ({ data_dir: join(temporaryFolder(t), 'data') }),
};

export const shared: Over = {
  name: 'shared',
  skip: storesMissing,
  storage: (t) => ({ ...storageOver(postgres!.newDatabase(), redis!), data_dir: join(temporaryFolder(t), 'data') }),
};

/** A test over either storage. */
export function overBoth(name: string, run: (t: TestContext, over: Over) => Promise<void>): void {
  for (const over of [embedded, shared]) test(`${over.name}: ${name}`, { skip: over.skip }, (t) => run(t, over));
}

export interface StartedProcesses extends GatewayProcess {
  /** Process ids of the workers that live. */
  workers(): number[];
  log(): string;
}

/** `culvert start` with two processes, all ready, in front of `upstreamUrl`. */
export async function startProcesses(
  t: Lifetime,
  over: Over,
  upstreamUrl: string,
  config: Record<string, unknown> = {},
): Promise<StartedProcesses> {
  const log = join(temporaryFolder(t), 'log');
  const started = await startGatewayProcess(
    t,
    {
      ...overUpstreams(upstreamUrl),
      ...config,
      server: { processes: 2, ...(config.server as object) },
      storage: { ...over.storage(t), ...(config.storage as object) },
    },
    { log },
  );
  await until('all workers are ready', async () => (await fetch(`${started.url}/readyz`)).status === 200);
  return {
    ...started,
    workers: () => childrenOf(started.process.pid!).filter(hasPlace),
    log: () => readFileSync(log, 'utf8'),
  };
}

/**
 * What the other worker does while `stopped` stands still: that one accepts nothing. Throws after 20 s, when the primary
 * ends it.
 */
export async function inOnly<T>(stopped: number, work: () => Promise<T>): Promise<T> {
  process.kill(stopped, 'SIGSTOP');
  try {
    return await work();
  } finally {
    assert(existsSync(`/proc/${stopped}`), 'the stopped worker was ended, because the work took so long');
    process.kill(stopped, 'SIGCONT');
  }
}

/** Until another process has the place of the dead one, and serves. */
export async function replaced(gateway: StartedProcesses, times: number): Promise<void> {
  const line = /a worker serves in place of the dead one/g;
  await until('the worker is replaced', () => (gateway.log().match(line) ?? []).length >= times);
}

/** Asks over a new connection each time: workers get these in turn. */
export const apart = new Agent({ keepAlive: false });

export function ask(
  url: string,
  path: string,
  body?: object,
  key = testKey,
  more: Record<string, string> = {},
  agent = apart,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more };
    const call = request(`${url}${path}`, { method: body === undefined ? 'GET' : 'POST', headers, agent });
    call.on('error', reject);
    call.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      response.on('error', reject);
    });
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

export const chat = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };

/** The text of `/metrics`. */
export async function scrape(url: string): Promise<string> {
  return (await ask(url, '/metrics', undefined, adminKey)).text;
}

/** The spare, and what loads its code, has none. */
function hasPlace(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('culvert worker');
}

/** Process ids. */
export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}
