import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import type { CacheStore } from '../src/books/metering/cache-store.ts';
import { checkConfigText } from '../src/config/check.ts';
import { formatProblem } from '../src/config/problem.ts';
import type { ScopedStep } from '../src/inference/models/steps.ts';
import { type Gateway, openGateway } from '../src/main/gateway.ts';
import type { ResolveAddresses } from '../src/net/fetch-guard.ts';
import { createLog, type Log } from '../src/observe/log.ts';
import { layFreshStorage } from './fresh-storage.ts';

export const testKey = 'sk-cv-test-key-0001';
export const otherKey = 'sk-cv-test-key-0002';
export const adminKey = 'sk-cv-admin-test-key-0001';

/** Most tests are about something else than limits; the others give plans of their own, `{}` for the built-in. */
export const noLimits = { default: { windows: 'off', rpm: 'off' } };

/**
 * Processes of each gateway over the embedded storage that names no other number: suites also run over several
 * (CULVERT_TEST_PROCESSES=2, `npm run test:processes`).
 */
export const testProcesses = Number(process.env.CULVERT_TEST_PROCESSES ?? 1);

/**
 * Waits until other workers of the gateway know what is stored and which targets cool down, where tests run over several.
 * What is stored is gathered for 20 ms; usage is there sooner.
 */
export async function workersKnow(withinMs = 500): Promise<void> {
  if (testProcesses > 1) await pause(withinMs);
}

/** How long the row of an answer may take on a quiet machine. */
const keptWithinMs = 100;

/**
 * Waits until other workers of the gateway find the answer to what was asked at `sinceMs`, where tests run over several:
 * its row is in the file. One that is not kept is waited for as long as a row may take.
 */
export async function answerKept({ dataDir }: Pick<TestGateway, 'dataDir'>, sinceMs: number): Promise<void> {
  if (testProcesses === 1) return;
  const file = join(dataDir, 'cache.db');
  const untilMs = performance.now() + keptWithinMs * Math.max(1, loadavg()[0]! / availableParallelism());
  while (performance.now() < untilMs) {
    if (existsSync(file) && newestAnswerMs(file) >= sinceMs) return;
    await pause(5);
  }
}

/** 0: it has none, or a test has damaged it. */
function newestAnswerMs(file: string): number {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return Number(database.prepare('SELECT max(at_ms) AS ms FROM entry').get()?.ms ?? 0);
  } catch {
    return 0;
  } finally {
    database.close();
  }
}

export interface TestGateway extends Gateway {
  key: string;
  dataDir: string;
  /** A request with the test key; `path` from the root. */
  fetch(path: string, init?: RequestInit & { json?: unknown }): Promise<Response>;
  /** Reads the file as given and loads it, as a reload does. */
  reload(config: Record<string, unknown>): Promise<void>;
}

/**
 * A real gateway on a free port with a data folder of its own, closed after the test. `config` is what a culvert.yaml
 * would hold; keys, admin key, port and data folder are filled in. `t` is a test, or `{ after }` of node:test for one
 * gateway that all tests of a file use.
 */
export async function startGateway(
  t: Pick<TestContext, 'after'>,
  config: Record<string, unknown> = {},
  parts: {
    log?: Log;
    env?: Readonly<Record<string, string | undefined>>;
    resolve?: ResolveAddresses;
    pagesFolder?: string;
    steps?: readonly ScopedStep[];
    cache?: CacheStore;
  } = {},
): Promise<TestGateway> {
  if (testProcesses > 1 && Object.keys(parts).length === 0 && mayHaveProcesses(config)) {
    const { startGatewayOfProcesses } = await import('./start-gateway-of-processes.ts');
    return startGatewayOfProcesses(t, config);
  }
  const dataDir = mkdtempSync(join(tmpdir(), 'culvert-test-'));
  let text = '';
  const parse = (from: Record<string, unknown>) => {
    text = stringify({
      ...from,
      server: { port: 0, shutdown_grace: '1s', ...(from.server as object) },
      admin: from.admin ?? { key: adminKey },
      storage: { data_dir: dataDir, ...(from.storage as object) },
      autodetect: 'off',
      telemetry: { log: { level: 'silent' }, ...(from.telemetry as object) },
      plans: from.plans ?? noLimits,
      keys: from.keys ?? [
        { key: testKey, account: 'dev', name: 'test' },
        { key: otherKey, account: 'other', name: 'test' },
      ],
    });
    const checked = checkConfigText(text, 'culvert.yaml', {});
    if (!checked.ok) throw new Error(checked.errors.map(formatProblem).join('\n'));
    return checked.config;
  };
  const parsed = parse(config);
  if (parsed.storage.database === 'sqlite' && existsSync(parsed.storage.data_dir))
    layFreshStorage(parsed.storage.data_dir);
  const log = parts.log ?? (await createLog({ level: 'silent', form: 'json' })).log;
  const gateway = await openGateway({
    config: parsed,
    env: parts.env ?? {},
    log,
    version: '0.0.0-test',
    locals: [],
    configFile: null,
    configText: () => text,
    checkConfig: (text) => checkConfigText(text, 'culvert.yaml', {}),
    reload: async () => ({ ok: true, config: parse(config) }),
    ...(parts.resolve !== undefined && { resolve: parts.resolve }),
    ...(parts.steps !== undefined && { steps: parts.steps }),
    ...(parts.cache !== undefined && { cache: parts.cache }),
    ...(parts.pagesFolder !== undefined && { pagesFolder: parts.pagesFolder }),
  });
  let closed = false;
  const close = async (graceMs: number, delayMs = 0) => {
    if (closed) return;
    closed = true;
    await gateway.close(graceMs, delayMs);
    rmSync(dataDir, { recursive: true, force: true });
  };
  t.after(() => close(0));
  return {
    ...gateway,
    close,
    key: testKey,
    dataDir,
    reload: (next) => gateway.reconfigure(parse(next)),
    fetch: fetchAt(gateway.url),
  };
}

/** Whether the storage is embedded, and the number of processes is not the test's own. */
function mayHaveProcesses({ storage, server }: Record<string, unknown>): boolean {
  return !Object.hasOwn(storage ?? {}, 'database') && !Object.hasOwn(server ?? {}, 'processes');
}

/** A request to a gateway, with the test key unless it names another. */
export function fetchAt(url: string): TestGateway['fetch'] {
  return (path, { json, ...init } = {}) => {
    const body = json === undefined ? {} : { method: 'POST', body: JSON.stringify(json) };
    const headers = new Headers(init.headers);
    if (!headers.has('authorization')) headers.set('authorization', `Bearer ${testKey}`);
    if (json !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/json');
    return fetch(url + path, { ...body, ...init, headers });
  };
}

/** `providers` and `models` over test upstreams: alias `chat` with one target each, in order of priority. */
export function overUpstreams(...urls: readonly string[]): Record<string, unknown> {
  return {
    providers: Object.fromEntries(
      urls.map((url, i) => [
        `up${i + 1}`,
        { type: 'openai', base_url: `${url}/v1`, api_key: `upstream-secret-${i + 1}` },
      ]),
    ),
    models: { chat: { targets: urls.map((_, i) => ({ provider: `up${i + 1}`, model: 'mock/ok', priority: i + 1 })) } },
  };
}
