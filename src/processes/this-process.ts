import { hostname } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ProcessFacts, Replicas, SeenProcess } from '../books/metering/replicas.ts';
import type { Config } from '../config/schema.ts';
import type { Signer } from '../kernel/sign.ts';
import { serverOf } from './boot-names.ts';
import type { Given } from './worker-seat.ts';

/** Settings that differ between replicas, although both do the same. */
const perReplica = ['server.host', 'server.port', 'server.processes', 'storage.data_dir', 'storage.secret'];

/** Characters of a fingerprint: enough to tell configurations apart, too few to be taken for a secret. */
const fingerprintChars = 12;

interface ProcessFactsParts {
  /** Absent: it is the only one of its server. */
  options: { version: string; seat?: { given: Pick<Given, 'boot' | 'number'> } };
  books: {
    /** A fingerprint gives nothing of the configuration away, and tells other secrets. */
    secrets: { signer(purpose: string): Pick<Signer, 'sign'> };
    stores: { bootId: string; replicas: Pick<Replicas, 'seen'> | null };
  };
  services: { readonly snapshots: { readonly current: { config: Config } } };
  setup: { report(): { unopened: number } };
}

/** This process as it tells others of itself. */
export type ThisProcess = ReturnType<typeof createThisProcess>;

/** Nobody waits for it on the way of a request. `load` is asked each time. */
export function createThisProcess(
  { options: { version, seat }, books: { secrets, stores }, services: { snapshots }, setup }: ProcessFactsParts,
  load: () => { draining: boolean; running: number },
) {
  const same = {
    replica: serverOf(seat?.given.boot ?? stores.bootId),
    worker: seat?.given.number ?? null,
    host: hostname(),
    pid: process.pid,
    version,
    startedMs: Math.round(Date.now() - process.uptime() * 1_000),
  };
  const fingerprint = createFingerprint(secrets.signer('configuration'));
  let before = performance.eventLoopUtilization();

  async function facts(): Promise<ProcessFacts> {
    const startedMs = performance.now();
    await nextTurn();
    const loopDelayMs = rounded(performance.now() - startedMs, 10);
    const now = performance.eventLoopUtilization();
    const busy = rounded(performance.eventLoopUtilization(now, before).utilization, 100);
    before = now;
    const { draining, running: requests } = load();
    const state = draining ? 'draining' : 'serving';
    const configuration = fingerprint(snapshots.current.config);
    const { rss: memoryBytes } = process.memoryUsage();
    const { unopened } = setup.report();
    return { ...same, configuration, state, unopened, requests, busy, loopDelayMs, memoryBytes };
  }

  return {
    facts,
    /** With all processes over the same stores. */
    async withOthers(): Promise<readonly SeenProcess[]> {
      const self = { id: stores.bootId, facts: await facts(), seenMs: Date.now(), over: false };
      const seen = (await stores.replicas?.seen()) ?? [];
      return [self, ...seen.filter(({ id }) => id !== self.id)];
    },
  };
}

function rounded(value: number, parts: number): number {
  return Math.round(value * parts) / parts;
}

/** Made once for each configuration in force. */
function createFingerprint(signer: Pick<Signer, 'sign'>): (config: Config) => string {
  let made: { of: Config; fingerprint: string } | null = null;
  return (config) => {
    if (made?.of !== config) made = { of: config, fingerprint: signer.sign(textOf(config)).slice(0, fingerprintChars) };
    return made.fingerprint;
  };
}

/** Equal for equal configurations, whatever the order of their members. */
function textOf(config: Config): string {
  const inOrder = (value: unknown, path: string): unknown => {
    if (Array.isArray(value)) return value.map((item) => inOrder(item, path));
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value).filter(([name]) => !perReplica.includes(path + name));
    return Object.fromEntries(
      members.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, member]) => [name, inOrder(member, `${path}${name}.`)]),
    );
  };
  return JSON.stringify(inOrder(config, ''));
}
