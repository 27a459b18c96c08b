import type { AdminParts } from '../admin/parts.ts';
import type { Setup } from '../books/auth/setup.ts';
import type { CacheStore } from '../books/metering/cache-store.ts';
import type { DeliveryParts } from '../books/metering/notices/notice-delivery.ts';
import type { Notices } from '../books/metering/notices/notices.ts';
import type { RecordDelivery } from '../books/metering/record-delivery.ts';
import type { Refusals } from '../books/metering/refusals.ts';
import type { Uploads } from '../inference/batches/uploads.ts';
import type { RecentBodies } from '../inference/endpoints/recent-bodies.ts';
import type { Services } from '../inference/endpoints/services.ts';
import type { OpenedVectorStores } from '../inference/vector-stores/open-vector-stores.ts';
import type { Room } from '../kernel/sharing/room.ts';
import type { Trace } from '../kernel/trace.ts';
import type { ResolveAddresses } from '../net/fetch-guard.ts';
import type { SendMail } from '../net/send-mail.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { ProxyOf } from '../upstream/transport/proxy.ts';
import type { VectorWorkers } from '../vectors/worker-pool.ts';
import type { Books } from './books.ts';
import type { Callers } from './callers.ts';
import type { OpenedDashboard } from './dashboard.ts';
import type { GatewayOptions } from './gateway-options.ts';
import type { OpenedMcp } from './mcp.ts';
import type { ServerTools } from './server-tools.ts';
import type { Storage } from './storage.ts';

export interface RoutesParts {
  options: GatewayOptions;
  services: Services;
  uploads: Uploads;
  tools: ServerTools;
  mcp: OpenedMcp;
  vectorStores: OpenedVectorStores;
  books: Books;
  storage: Storage;
  cache: CacheStore;
  sinks: Pick<RecordDelivery, 'standing'>;
  notices: Pick<Notices, 'deliver'>;
  send: DeliveryParts['send'];
  mail: SendMail;
  recentBodies: RecentBodies;
  callers: Callers;
  setup: Setup;
  /** Null: there is none. */
  dashboard: OpenedDashboard | null;
  metrics: Metrics;
  vectors: VectorWorkers;
  refusals: Pick<Refusals, 'find'>;
  bodies: Room;
  resolve: ResolveAddresses;
  /** The proxies of the environment. */
  proxyOf: ProxyOf;
  draining(): boolean;
  /** Requests whose handlers run. */
  running(): number;
  processes: AdminParts['processes'];
  /** Why requests are to go to replicas that can open what this one cannot; null: they need not. */
  unopened(): { configuration: string | null };
  /** Its address on this machine, once the server listens: what nobody waits for begins then. */
  listening: Promise<string>;
  onTrouble(message: string): void;
  onUnexpected(error: unknown, requestId: string, trace: Trace | null): void;
  /** Called at once with how each part is closed. */
  opened(close: () => Promise<void> | void): void;
}
