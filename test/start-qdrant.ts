import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closedPort, type Lifetime } from './start-process.ts';
import { until } from './until.ts';

const bin = process.env.QDRANT_BIN ?? '';

/** Why tests over a real Qdrant cannot run here: a test's `skip`. No package registry has its program. */
export const qdrantMissing: string | false = bin === '' ? 'QDRANT_BIN names no Qdrant program (docs/qdrant.md)' : false;

export interface StartedQdrant {
  url: string;
  pid: number;
  /** SIGKILL, and its end. */
  kill(): Promise<void>;
  /** On the same ports, with what it has on disk; resolves when it is ready. */
  restart(): Promise<void>;
}

interface Place {
  http: number;
  grpc: number;
  p2p: number;
  folder: string;
}

/** One node, gone after the test, or (null) with this process. */
export async function startQdrant(t: Lifetime | null): Promise<StartedQdrant> {
  return startNode(t, await newPlace(t), [], {});
}

/** Nodes that know each other. */
export async function startQdrantCluster(t: Lifetime, count: number): Promise<StartedQdrant[]> {
  const nodes: StartedQdrant[] = [];
  let first: Place | null = null;
  for (let i = 0; i < count; i += 1) {
    const place = await newPlace(t);
    const joins = first === null ? [] : ['--bootstrap', peerUrl(first)];
    first ??= place;
    nodes.push(
      await startNode(t, place, ['--uri', peerUrl(place), ...joins], {
        QDRANT__CLUSTER__ENABLED: 'true',
        QDRANT__CLUSTER__P2P__PORT: String(place.p2p),
      }),
    );
  }
  await until('every node knows every other', async () => {
    const peers = await Promise.all(nodes.map(({ url }) => peersOf(url)));
    return peers.every((known) => known === count);
  });
  return nodes;
}

async function startNode(
  t: Lifetime | null,
  place: Place,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<StartedQdrant> {
  const url = `http://127.0.0.1:${place.http}`;
  let log = '';
  const launch = async () => {
    const child = spawn(bin, args, {
      cwd: place.folder,
      env: {
        ...process.env,
        QDRANT__SERVICE__HOST: '127.0.0.1',
        QDRANT__SERVICE__HTTP_PORT: String(place.http),
        QDRANT__SERVICE__GRPC_PORT: String(place.grpc),
        QDRANT__STORAGE__STORAGE_PATH: join(place.folder, 'storage'),
        QDRANT__STORAGE__SNAPSHOTS_PATH: join(place.folder, 'snapshots'),
        QDRANT__TELEMETRY_DISABLED: 'true',
        QDRANT__LOG_LEVEL: 'WARN',
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    child.once('exit', () => running.delete(child));
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        log = (log + text).slice(-8_192);
      });
      // Shared by a test file, whose process must not wait for it.
      if (t === null) (stream as Socket).unref();
    }
    if (t === null) child.unref();
    await until(
      'Qdrant is ready',
      async () => {
        if (child.exitCode !== null) throw new Error(`qdrant ended with ${child.exitCode}:\n${log}`);
        return (await fetch(`${url}/readyz`).catch(() => null))?.status === 200;
      },
      60_000,
    );
    return child;
  };
  let server = await launch();
  const kill = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill('SIGKILL');
    await exited;
  };
  t?.after(kill);
  return {
    url,
    get pid() {
      return server.pid!;
    },
    kill,
    async restart() {
      server = await launch();
    },
  };
}

async function newPlace(t: Lifetime | null): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-qdrant-'));
  folders.add(folder);
  t?.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  return { http: await closedPort(), grpc: await closedPort(), p2p: await closedPort(), folder };
}

function peerUrl({ p2p }: Place): string {
  return `http://127.0.0.1:${p2p}`;
}

async function peersOf(url: string): Promise<number> {
  const { result } = (await (await fetch(`${url}/cluster`)).json()) as { result: { peers?: object } };
  return Object.keys(result.peers ?? {}).length;
}

/** Whatever a test left behind goes with its process. */
const running = new Set<ChildProcess>();
const folders = new Set<string>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
});
