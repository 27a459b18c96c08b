import type { Clock } from '../../kernel/clock.ts';
import { encodeGet } from '../providers/encode.ts';
import type { Health } from '../routing/health.ts';
import { getJson } from '../transport/get-json.ts';
import type { Transport } from '../transport/upstream-call.ts';
import type { Snapshot } from './snapshot.ts';

const checkTimeoutMaxMs = 5_000;

export interface HealthCheckParts {
  clock: Clock;
  transport: Transport;
  health: Health;
}

export interface HealthChecks {
  /** Checks what this snapshot's providers ask for, instead of the last one's. */
  follow(snapshot: Snapshot): void;
  stop(): void;
}

/**
 * Active health checks: a GET below the base URL of each provider with `health: { path, interval }`. One that fails
 * takes the provider's targets out until the next passes; meant for servers of one's own, which cost nothing to ask.
 */
export function createHealthChecks(parts: HealthCheckParts): HealthChecks {
  let timers: NodeJS.Timeout[] = [];

  function stop(): void {
    for (const timer of timers) clearInterval(timer);
    timers = [];
  }

  async function check(snapshot: Snapshot, name: string, path: string, intervalMs: number): Promise<void> {
    const { connection } = snapshot.providers.get(name)!;
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
    follow(snapshot) {
      stop();
      for (const [name, { config }] of snapshot.providers) {
        if (config.health === undefined) continue;
        const { path, interval } = config.health;
        const run = () => void check(snapshot, name, path, interval);
        run();
        const timer = setInterval(run, interval);
        timer.unref();
        timers.push(timer);
      }
    },
    stop,
  };
}
