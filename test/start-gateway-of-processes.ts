import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { stringify } from 'yaml';
import { closedPlace } from './faults/dead-places.ts';
import { cert, trustsLoopbackCertificate } from './loopback-certificate.ts';
import {
  adminKey,
  fetchAt,
  noLimits,
  otherKey,
  type TestGateway,
  testKey,
  testProcesses,
  workersKnow,
} from './start-gateway.ts';
import { culvertBin, type Lifetime } from './start-process.ts';

/** Parts of a gateway that only this process could reach. */
const inside = [
  'snapshot',
  'health',
  'measure',
  'facts',
  'recentBodies',
  'useLocals',
  'reconfigure',
  'issueFirstKey',
  'loginLink',
  'routes',
];

function written(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** The same gateway as `startGateway`'s, as `culvert start` with several processes. */
export async function startGatewayOfProcesses(
  t: Lifetime,
  config: Readonly<Record<string, unknown>>,
): Promise<TestGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-test-'));
  const kept = (config.storage as { data_dir?: string } | undefined)?.data_dir;
  const dataDir = kept ?? join(folder, 'data');
  const url = (config.server as { port?: number } | undefined)?.port
    ? `http://127.0.0.1:${(config.server as { port: number }).port}`
    : await closedPlace();
  const file = join(folder, 'culvert.yaml');
  const write = (from: Readonly<Record<string, unknown>>) =>
    writeFileSync(
      file,
      stringify({
        ...from,
        server: {
          shutdown_grace: '1s',
          processes: testProcesses,
          ...(from.server as object),
          port: Number(new URL(url).port),
        },
        admin: from.admin ?? { key: adminKey },
        storage: { ...(from.storage as object), data_dir: dataDir },
        autodetect: 'off',
        telemetry: { log: { level: 'warn' }, ...(from.telemetry as object) },
        plans: from.plans ?? noLimits,
        keys: from.keys ?? [
          { key: testKey, account: 'dev', name: 'test' },
          { key: otherKey, account: 'other', name: 'test' },
        ],
      }),
    );
  write(config);
  let inForce = config;
  const log = join(folder, 'log');
  const sink = openSync(log, 'w');
  // As `startGateway` gives none: programs of this machine are engines that a test does not expect.
  const env = {
    HOME: process.env.HOME,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    NODE_V8_COVERAGE: process.env.NODE_V8_COVERAGE,
    ...(trustsLoopbackCertificate() && { NODE_EXTRA_CA_CERTS: written(folder, 'loopback.pem', cert) }),
  };
  const child = spawn(process.execPath, [culvertBin, 'start', '--config', file], {
    stdio: ['ignore', sink, sink],
    cwd: folder,
    env,
  });
  closeSync(sink);
  const lives = () => child.exitCode === null && child.signalCode === null;
  const ended = async (signal: NodeJS.Signals) => {
    if (!lives()) return;
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
  };
  const close = async () => {
    await ended('SIGTERM');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  };
  t.after(close);
  // A test may have no target that answers: then `/readyz` never says yes.
  const isReady = async () => {
    const answer = await fetch(`${url}/readyz`).catch(() => null);
    const { checks } = ((await answer?.json()) ?? {}) as { checks?: { accepting: boolean; stores: boolean } };
    return checks?.accepting === true && checks.stores;
  };
  while (!(await isReady())) {
    if (!lives()) {
      const { exitCode, signalCode } = child;
      throw new Error(`the gateway ended (${exitCode ?? signalCode}):\n${readFileSync(log, 'utf8').slice(-2_000)}`);
    }
    await after(25);
  }
  const gateway = {
    url,
    key: testKey,
    dataDir,
    /** Each worker asks on its way. */
    get modelsKnown() {
      return workersKnow();
    },
    fetch: fetchAt(url),
    close,
    async reload(next: Record<string, unknown>) {
      write(next);
      const { key } = (inForce.admin ?? { key: adminKey }) as { key?: string };
      const generated = () => readFileSync(join(dataDir, 'admin.key'), 'utf8').trim();
      const headers = { authorization: `Bearer ${key ?? generated()}`, 'content-type': 'application/json' };
      const answer = await fetch(`${url}/admin/v1/config/reload`, { method: 'POST', headers, body: '{"force":true}' });
      if (answer.status !== 200) throw new Error(await answer.text());
      inForce = next;
    },
  };
  return new Proxy(gateway as unknown as TestGateway, {
    get(target, name) {
      if (inside.includes(String(name))) throw new Error(`gateway.${String(name)} is in another process`);
      return Reflect.get(target, name);
    },
  });
}
