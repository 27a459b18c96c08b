import { Agent, type buildConnector, setGlobalDispatcher } from 'undici';
import { type Connect, createConnect } from './connect.ts';
import { createLookup } from './lookup.ts';
import type { ProxyOf } from './proxy.ts';

const connectTimeoutMs = 5_000;

/** Connections for `fetch`, which asks proxies for tunnels alone: `connectTo` opens them to an origin. */
export function fetchAgent(connectTo: (origin: URL) => Connect, options: Agent.Options = {}): Agent {
  return new Agent({
    connect({ protocol, host }: buildConnector.Options, connected: buildConnector.Callback) {
      connectTo(new URL(`${protocol}//${host}`))(connectTimeoutMs, (error, socket) => {
        if (socket === null) connected(error!, null);
        else connected(null, socket);
      });
    },
    allowH2: false,
    ...options,
  });
}

/** Leads every plain `fetch` of this process through the proxies: those to login servers, and to services that know keys. */
export function leadFetches(proxyOf: ProxyOf): void {
  const lookup = createLookup();
  setGlobalDispatcher(
    fetchAgent((origin) => createConnect(origin, { lookup, proxy: proxyOf(origin), tunnel: 'always' })),
  );
}
