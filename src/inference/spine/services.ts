import type { Admission, Settlement } from '../../books/metering/admission.ts';
import type { UsageEvent } from '../../books/metering/ledger.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Random } from '../../kernel/random.ts';
import type { Trace, Traces } from '../../kernel/trace.ts';
import type { Health } from '../../routing/health.ts';
import type { RetryBudget } from '../../routing/rolling-counts.ts';
import type { SilenceWatch } from '../../routing/silence.ts';
import type { Transport } from '../../upstream/transport/upstream-call.ts';
import type { Snapshots } from '../models/snapshot.ts';
import type { Idempotency } from './idempotency.ts';

/** Services for a request of any family; they live as long as the process. A family adds its needs. */
export interface SpineServices {
  clock: Clock;
  random: Random;
  transport: Transport;
  health: Health;
  retryBudget: RetryBudget;
  silence: SilenceWatch;
  admission: Admission;
  settlement: Settlement;
  idempotency: Idempotency;
  /** The configuration in force. A request takes it once, at its beginning, and keeps it to its end. */
  readonly snapshots: Snapshots;
  /** Gets every settled request: log, metrics. */
  finished(event: UsageEvent, trace: Trace | null): void;
  /** Null: nobody traces. */
  traces: Traces | null;
}
