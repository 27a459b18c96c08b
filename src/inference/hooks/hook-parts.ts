import type { UsageEvent } from '../../books/metering/ledger.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../observe/log.ts';
import type { Transport } from '../../upstream/transport/upstream-call.ts';

export interface HookParts {
  transport: Transport;
  clock: Clock;
  log: Pick<Log, 'info' | 'warn' | 'error'>;
  env: Readonly<Record<string, string | undefined>>;
  /** The plan that an account has now. */
  planOf(account: string): string;
  /** Folder from which modules are found: that of the configuration. */
  folder: string;
}

/** Listeners to settled requests; null: nobody. */
export interface SettledListener {
  settled: ((event: UsageEvent) => void) | null;
}
