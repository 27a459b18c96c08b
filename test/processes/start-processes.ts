import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { type GatewayProcess, startGatewayProcess } from '../faults/gateway-process.ts';
import { storageOver } from '../faults/replicas.ts';
import { adminKey, overUpstreams, testKey } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { type Lifetime, temporaryFolder } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { until } from '../until.ts';

/** Why tests of several processes cannot run here: a test's `skip`. */
export const storesMissing = postgresMissing || redisMissing;
const postgres = storesMissing === false ? await startPostgres(null) : null;
const redis = storesMissing === false ? await startRedis(null) : null;

/** Storage of a server of several processes, in a database of its own. */
export function sharedStorage(t: Lifetime) {
  return { ...storageOver(postgres!.newDatabase(), redis!), data_dir: join(temporaryFolder(t), 'data') };
}

export interface StartedProcesses extends GatewayProcess {
  /** Process ids of the workers that live. */
  workers(): number[];
  log(): string;
}

/** `culvert start` with two processes, all ready, in front of `upstreamUrl`. */
export async function startProcesses(
  t: Lifetime,
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
      storage: { ...sharedStorage(t), ...(config.storage as object) },
    },
    { log },
  );
  await until('all workers are ready', async () => (await fetch(`${started.url}/readyz`)).status === 200);
  return {
    ...started,
    workers: () => childrenOf(started.process.pid!),
    log: () => readFileSync(log, 'utf8'),
  };
}

/** Asks over a new connection each time: workers get these in turn. */
export const apart = new Agent({ keepAlive: false });

export function ask(
  url: string,
  path: string,
  body?: object,
  key = testKey,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const call = request(`${url}${path}`, { method: body === undefined ? 'GET' : 'POST', headers, agent: apart });
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

/** Process ids. */
export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}
