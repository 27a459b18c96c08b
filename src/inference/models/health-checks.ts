import { type Discovery, discoverModels } from '../../formats/providers/discover.ts';
import { encodeGet } from '../../formats/providers/encode.ts';
import type { Clock } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import { knownEntry } from '../../kernel/known-entry.ts';
import type { Health, RestLook } from '../../routing/health.ts';
import { getJson } from '../../upstream/transport/get-json.ts';
import type { Transport } from '../../upstream/transport/upstream-call.ts';
import { askForModels } from './ask-for-models.ts';
import type { ConfiguredProvider } from './connections.ts';
import type { Snapshot, Snapshots } from './snapshot.ts';

const checkTimeoutMaxMs = 5_000;

export interface HealthCheckParts {
  clock: Clock;
  transport: Transport;
  health: Health;
}

/**
 * Active health checks: a GET below the base URL of each provider with `health: { path, interval }`. One that fails
 * takes the provider's targets out until the next passes; meant for servers of one's own, which cost nothing to ask.
 */
export function createHealthChecks(parts: HealthCheckParts) {
  let stops: (() => void)[] = [];

  function stop(): void {
    for (const stopOne of stops) stopOne();
    stops = [];
  }

  async function check(snapshot: Snapshot, name: string, path: string, intervalMs: number): Promise<void> {
    const { connection } = knownEntry(snapshot.providers, name);
    const passed = await getJson(
      parts.transport,
      encodeGet(connection, connection.basePath + path),
      Math.min(intervalMs, checkTimeoutMaxMs),
    ).then(
      ({ status }) => status >= 200 && status < 300,
      () => false,
    );
    const nowMs = parts.clock.monotonicMs();
    for (const target of snapshot.models.targets()) {
      // Twice the interval, so that the next failing check takes over before a request may try.
      if (target.provider === name) parts.health.checked(target, passed ? 'passed' : 'failed', intervalMs * 2, nowMs);
    }
  }

  return {
    /** Checks what this snapshot's providers ask for, instead of the last one's. */
    follow(snapshot: Snapshot): void {
      stop();
      for (const [name, { config }] of snapshot.providers) {
        if (config.health === undefined) continue;
        const { path, interval } = config.health;
        const run = () => void check(snapshot, name, path, interval);
        run();
        stops.push(every(interval, run));
      }
    },
    stop,
  };
}

const lookEveryMs = 500;
const lookTimeoutMs = 10_000;

/**
 * Models that rest with a credential (refused, out of quota, gone) are looked at again by a cheap call once their time
 * has come: the provider's list of models, asked with that credential. Returns what stops it.
 */
export function startRestLooks(parts: HealthCheckParts & { readonly snapshots: Snapshots }): () => void {
  return every(lookEveryMs, () => {
    for (const look of parts.health.dueLooks(parts.clock.monotonicMs())) void lookAgain(parts, look);
  });
}

async function lookAgain(
  { clock, transport, snapshots }: Parameters<typeof startRestLooks>[0],
  look: RestLook,
): Promise<void> {
  const { provider: name } = snapshots.current.models.targets().find(({ id }) => id === look.targetId) ?? {};
  const provider = name === undefined ? undefined : snapshots.current.providers.get(name);
  const found = provider === undefined ? null : await listWith(transport, provider, look.credentialId);
  look.ended(found === null ? 'unknown' : judged(found, look), clock.monotonicMs());
}

/** Null: this credential cannot be asked. Never rejects. */
async function listWith(
  transport: Transport,
  { connection }: ConfiguredProvider,
  credentialId: string,
): Promise<Discovery | null> {
  const credential = connection.credentials.get(credentialId);
  if (credential === undefined) return null;
  return discoverModels(connection, (_, path) => askForModels(transport, connection, path, lookTimeoutMs, credential));
}

/** A list says whether the credential is taken and the model is there; of quota and regions it knows nothing. */
function judged(found: Discovery, { why, targetId }: RestLook): 'over' | 'goes on' | 'unknown' {
  if (!found.ok) return found.reason === 'bad_credential' ? 'goes on' : 'unknown';
  if (why === 'bad credential') return 'over';
  if (why !== 'model unavailable') return 'unknown';
  return found.models.some(({ id }) => targetId.endsWith(`/${id}`)) ? 'over' : 'goes on';
}
