import type { AdminParts } from '../admin/parts.ts';
import type { Setup } from '../books/auth/setup.ts';
import type { DeliveryParts } from '../books/metering/notices/notice-delivery.ts';
import type { Notices } from '../books/metering/notices/notices.ts';
import type { RecordDelivery } from '../books/metering/record-delivery.ts';
import type { Refusals } from '../books/metering/refusals.ts';
import type { Room } from '../kernel/sharing/room.ts';
import type { Trace } from '../kernel/trace.ts';
import type { SendMail } from '../net/send-mail.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { VectorWorkers } from '../vectors/worker-pool.ts';
import type { OpenedDashboard } from './dashboard.ts';
import type { OpenedServices, ServicesParts } from './services.ts';

export interface RoutesParts
  extends OpenedServices,
    Pick<
      ServicesParts,
      | 'options'
      | 'books'
      | 'storage'
      | 'cache'
      | 'recentBodies'
      | 'callers'
      | 'resolve'
      | 'proxyOf'
      | 'listening'
      | 'onTrouble'
      | 'opened'
    > {
  sinks: Pick<RecordDelivery, 'standing'>;
  notices: Pick<Notices, 'deliver'>;
  send: DeliveryParts['send'];
  mail: SendMail;
  setup: Setup;
  /** Null: there is none. */
  dashboard: OpenedDashboard | null;
  metrics: Metrics;
  vectors: VectorWorkers;
  refusals: Pick<Refusals, 'find'>;
  bodies: Room;
  draining(): boolean;
  /** Requests whose handlers run. */
  running(): number;
  processes: AdminParts['processes'];
  /** Why requests are to go to replicas that can open what this one cannot; null: they need not. */
  unopened(): { configuration: string | null };
  onUnexpected(error: unknown, requestId: string, trace: Trace | null): void;
}
