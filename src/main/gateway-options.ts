import type { AdminParts } from '../admin/parts.ts';
import type { CacheStore } from '../books/metering/cache-store.ts';
import type { Config } from '../config/schema.ts';
import type { LocalServer } from '../formats/providers/probe-local.ts';
import type { SnapshotParts } from '../inference/models/keep-snapshot.ts';
import type { ResolveAddresses } from '../net/fetch-guard.ts';
import type { Log } from '../observe/log.ts';
import type { Seat } from '../processes/worker-seat.ts';

export interface GatewayOptions extends Pick<SnapshotParts, 'steps'> {
  config: Config;
  env: Readonly<Record<string, string | undefined>>;
  log: Log;
  version: string;
  /** Servers on this machine that the operator has confirmed. */
  locals: readonly LocalServer[];
  /** Name for messages; null when there is none. */
  configFile: string | null;
  configText: AdminParts['configText'];
  checkConfig: AdminParts['checkConfig'];
  reload: AdminParts['reload'];
  /** `when-asked`: its port stays closed until `Gateway.listen`. Default: it listens at once. */
  listens?: 'when-asked';
  /** `issueFirstKey` will be called: /readyz says no until its key is there. Default: it will not. */
  greets?: boolean;
  /** The way to the primary, where this process is one of several workers. */
  seat?: Seat;
  /** Folder of the dashboard's built pages; default: that of this installation. */
  pagesFolder?: string;
  /** Where answers to equal requests are kept. Default: as `storage` says. */
  cache?: CacheStore;
  /** Resolver of names in callers' URLs. Default: the system's name servers. */
  resolve?: ResolveAddresses;
}
