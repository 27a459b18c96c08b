import net, { type LookupFunction, type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { Lookup } from './lookup.ts';
import type { ForwardProxy } from './proxy.ts';
import { ConnectFailure, codeOf } from './transport-error.ts';
import { askForTunnel } from './tunnel.ts';

export interface ConnectOptions {
  lookup: LookupFunction & Partial<Pick<Lookup, 'failedAt' | 'late'>>;
  /** Certificates to trust in addition to the system's, PEM; undefined: only the system's. */
  ca?: string | Buffer | undefined;
  /** Client certificate for an origin that asks for one, PEM. */
  cert?: string | undefined;
  key?: string | undefined;
  /** Null: straight. */
  proxy: ForwardProxy | null;
  /** Whether an https:// origin is offered HTTP/2 as well. */
  http2?: boolean;
  /** `always`: a proxy makes a tunnel to an http:// origin too, for what is no plain request. Default: to https:// only. */
  tunnel?: 'always';
}

/** A socket that is being opened. */
export interface Opening {
  /** Gives up, at any moment; nothing is reported any more. */
  destroy(): void;
}

/** Called exactly once, unless the opening was given up. */
export type Connected = (error: ConnectFailure | null, socket: Socket | null) => void;

/** Opens one socket to the origin it was made for. `timeoutMs` covers name, proxy, TCP and TLS together. */
export type Connect = (timeoutMs: number, connected: Connected) => Opening;

/** Node gives an address up when it tries the next; its 250 ms are too short for a far continent. */
const nextAddressAfterMs = 1_000;
const tcpKeepAliveAfterMs = 60_000;

/** TLS sessions of the origin are resumed. Behind a proxy an http:// origin's socket is one to the proxy. */
export function createConnect(origin: URL, options: ConnectOptions): Connect {
  const { proxy, lookup, ca, tunnel } = options;
  if (proxy === null) return straight(origin, options);
  const toProxy = straight(proxy.origin, { lookup, ca });
  return origin.protocol === 'http:' && tunnel !== 'always' ? toProxy : tunnelled(origin, proxy, toProxy, options);
}

type Certificates = Pick<ConnectOptions, 'ca' | 'cert' | 'key' | 'http2'>;

function straight(origin: URL, options: Certificates & Pick<ConnectOptions, 'lookup'>): Connect {
  const target = {
    host: hostOf(origin),
    port: portOf(origin),
    lookup: options.lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: nextAddressAfterMs,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: tcpKeepAliveAfterMs,
  };
  const secure = origin.protocol === 'https:' ? createSecure(origin, options) : null;

  const open = (timeoutMs: number, connected: TriedAt): Socket => {
    const socket = secure === null ? net.connect(target) : secure(target);
    let tcpStands = false;
    const stop = after(timeoutMs, () => socket.destroy(new ConnectFailure('connect-timeout', 'ETIMEDOUT')));
    const onError = (error: Error): void => connected(failureOf(error, tcpStands), null, addressesIn(error));
    socket.once('connect', () => {
      tcpStands = true;
    });
    socket.on('connectionAttemptTimeout', (address: string) => options.lookup.late?.(target.host, address));
    socket.once(secure === null ? 'connect' : 'secureConnect', () => {
      stop();
      connected(null, socket, []);
      // Not before: a socket without any listener for its errors would end the process.
      socket.off('error', onError);
    });
    socket.once('error', onError);
    socket.once('close', stop);
    return socket;
  };
  const { failedAt } = options.lookup;
  return failedAt === undefined || net.isIP(target.host) !== 0 ? open : orWhereItMoved(open, target.host, failedAt);
}

/** The same as `Connected`, with the addresses that refused. */
type TriedAt = (error: ConnectFailure | null, socket: Socket | null, refusedAt: readonly string[]) => void;

/** Where a name has moved, the address that was known refuses: the new one is tried at once. */
function orWhereItMoved(
  open: (timeoutMs: number, connected: TriedAt) => Opening,
  host: string,
  failedAt: Lookup['failedAt'],
): Connect {
  return (timeoutMs, connected) => {
    const untilMs = performance.now() + timeoutMs;
    let state: 'opening' | 'over' = 'opening';
    let current = open(timeoutMs, (error, socket, refusedAt) => {
      if (error === null || error.kind === 'dns') return connected(error, socket);
      const nextAddresses = failedAt(host, refusedAt);
      if (refusedAt.length === 0) return connected(error, null);
      void nextAddresses.then((moved) => {
        const leftMs = untilMs - performance.now();
        if (state === 'over') return;
        if (moved && leftMs > 0) current = open(leftMs, connected);
        else connected(error, null);
      });
    });
    return {
      destroy() {
        state = 'over';
        current.destroy();
      },
    };
  };
}

function tunnelled(origin: URL, proxy: ForwardProxy, toProxy: Connect, certificates: Certificates): Connect {
  const secure = origin.protocol === 'https:' ? createSecure(origin, certificates) : null;
  const place = `${origin.hostname}:${portOf(origin)}`;
  return (timeoutMs, connected) => {
    let current: Opening;
    let state: 'opening' | 'over' = 'opening';
    const end: Connected = (error, socket) => {
      if (state === 'over') return;
      state = 'over';
      stop();
      if (error !== null) current.destroy();
      connected(error, socket);
    };
    const stop = after(timeoutMs, () => end(new ConnectFailure('connect-timeout', 'ETIMEDOUT'), null));
    current = toProxy(timeoutMs, (error, socket) => {
      if (socket === null) return end(error, null);
      askForTunnel({ socket, place, authorization: proxy.authorization }, (refused) => {
        if (refused !== null) return end(refused, null);
        if (state === 'over') return;
        if (secure === null) return end(null, socket);
        const inside = secure({ socket });
        current = inside;
        const onError = (broken: Error): void => end(failureOf(broken, true), null);
        inside.once('error', onError).once('secureConnect', () => {
          end(null, inside);
          inside.off('error', onError);
        });
      });
    });
    return {
      destroy() {
        state = 'over';
        stop();
        current.destroy();
      },
    };
  };
}

/**
 * Calls `giveUp` after `ms`, unless the returned function is called before. After a long turn of the loop it first lets
 * an established connection report: no upstream is to blame for such a turn.
 */
function after(ms: number, giveUp: () => void): () => void {
  let last: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    last = setImmediate(giveUp);
  }, ms);
  return () => {
    clearTimeout(timer);
    clearImmediate(last);
  };
}

function createSecure(origin: URL, { ca, cert, key, http2 }: Certificates): (to: object) => Socket {
  const host = hostOf(origin);
  let session: Buffer | undefined;
  /** Made once: the system's certificates are many to read. */
  let context: SecureContext | undefined;
  return (to) => {
    // Not imported: with all its exports, the root certificates as texts among them, it costs every start 10 ms.
    const tls = process.getBuiltinModule('node:tls');
    if (ca !== undefined || cert !== undefined) {
      const trusted = ca === undefined ? undefined : [...tls.getCACertificates(), ca.toString()];
      context ??= tls.createSecureContext({ ca: trusted, cert, key });
    }
    const socket = tls.connect({
      ...to,
      ...(context === undefined ? {} : { secureContext: context }),
      ...(session === undefined ? {} : { session }),
      // An address has no server name (RFC 6066 §3), but its certificate is checked for it.
      servername: net.isIP(host) === 0 ? host : '',
      ...(net.isIP(host) === 0 ? {} : { host }),
      ALPNProtocols: http2 ? ['h2', 'http/1.1'] : ['http/1.1'],
    });
    socket.on('session', (latest) => {
      session = latest;
    });
    return socket;
  };
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

/** Where the connection was refused; none where nobody says. */
function addressesIn(error: Error): string[] {
  const errors: unknown[] = error instanceof AggregateError ? error.errors : [error];
  return errors.flatMap((one) =>
    one instanceof Error && 'address' in one && typeof one.address === 'string' ? [one.address] : [],
  );
}

function failureOf(error: Error, tcpStands: boolean): ConnectFailure {
  if (error instanceof ConnectFailure) return error;
  const code = codeOf(error);
  if (tcpStands) return new ConnectFailure('tls', code);
  return new ConnectFailure(code === 'ETIMEDOUT' ? 'connect-timeout' : 'connect', code);
}
