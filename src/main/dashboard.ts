import { mayNotGive, notAllowed } from '../admin/roles.ts';
import { createSessions, type Sessions } from '../books/auth/sessions.ts';
import { createClientAddress } from '../http/client-address.ts';
import type { Dashboard } from '../http/dashboard/create-dashboard.ts';
import type { SessionDoor } from '../http/dashboard/session-door.ts';
import type { Route } from '../http/exchange.ts';
import { dashboardRoutes } from '../http/routes/server/dashboard.ts';
import type { Snapshot } from '../inference/models/snapshot.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Stores } from '../stores/opened-stores.ts';
import type { Secrets } from '../stores/storage-secrets.ts';
import type { Callers } from './callers.ts';

export interface OpenedDashboard {
  routes: readonly Route[];
  door: SessionDoor;
  sessions: Sessions;
  /** Path below the address of this server; null: there is no admin key, which the link needs. */
  loginLink(url: string): Promise<string | null>;
}

/** Routes and sessions of the dashboard; what serves them is loaded with the first request. */
export function openDashboard(parts: {
  callers: Pick<Callers, 'ring' | 'refresh' | 'lookForKey'>;
  stores: Pick<Stores, 'sessions' | 'accounts' | 'tally'>;
  /** Seals what a browser keeps while it logs in elsewhere. */
  secrets: Pick<Secrets, 'sealer'>;
  onTrouble(message: string): void;
  readonly snapshots: { readonly current: Pick<Snapshot, 'config'> };
  clock: Clock;
  version: string;
  pagesFolder: string | null;
}): OpenedDashboard {
  const { callers, stores, snapshots, clock } = parts;
  const { ring } = callers;
  const sessions = createSessions({
    store: stores.sessions,
    ring,
    clock,
    rules: () => snapshots.current.config.dashboard,
  });
  let loading: Promise<Dashboard> | null = null;
  const dashboard = (): Promise<Dashboard> => {
    loading ??= import('../http/dashboard/create-dashboard.ts').then(({ createDashboard }) =>
      createDashboard({
        sessions,
        ring,
        lookForKey: callers.lookForKey,
        mayNotCall: (operator) => notAllowed(operator, 'calls', 'write'),
        mayNotGive,
        clock,
        tally: stores.tally,
        version: parts.version,
        pagesFolder: parts.pagesFolder,
        addressOf: createClientAddress(() => snapshots.current.config.server.trusted_proxies),
        server: () => snapshots.current.config.server,
        logins: () => snapshots.current.config.dashboard,
        sealer: () => parts.secrets.sealer('logins'),
        store: stores.accounts,
        refresh: callers.refresh,
        onTrouble: parts.onTrouble,
      }),
    );
    return loading;
  };
  return {
    routes: dashboardRoutes(dashboard),
    door: {
      operator: async (exchange) => (await dashboard()).door.operator(exchange),
      principal: async (exchange) => (await dashboard()).door.principal(exchange),
    },
    sessions,
    async loginLink(url) {
      const credential = sessions.adminCredential();
      if (credential === null) return null;
      const { token } = await sessions.issueToken(credential);
      return `${url.replace(/\/+$/, '')}/dashboard#token=${token}`;
    },
  };
}
