import net, { type LookupFunction, type Socket } from 'node:net';
import { ConnectFailure, codeOf } from './transport-error.ts';

export interface ConnectOptions {
  lookup: LookupFunction;
  /** Certificates to trust beside the system's; undefined: those only. */
  ca?: string | Buffer;
}

/** Told exactly once, unless the socket is destroyed without an error. */
export type Connected = (error: ConnectFailure | null, socket: Socket | null) => void;

/** Opens one socket to the origin it was made for; destroying what it returns gives up at any moment. */
export type Connect = (timeoutMs: number, connected: Connected) => Socket;

/** Node gives an address up when it tries the next; its 250 ms are too short for a far continent. */
const nextAddressAfterMs = 1_000;
const tcpKeepAliveAfterMs = 60_000;

/** `timeoutMs` covers name, TCP and TLS together. TLS sessions of the origin are resumed. */
export function createConnect(origin: URL, options: ConnectOptions): Connect {
  const secure = origin.protocol === 'https:';
  const host = origin.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = origin.port === '' ? (secure ? 443 : 80) : Number(origin.port);
  const target = {
    host,
    port,
    lookup: options.lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: nextAddressAfterMs,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: tcpKeepAliveAfterMs,
  };
  let session: Buffer | undefined;

  function open(): Socket {
    if (!secure) return net.connect(target);
    // Not imported: with all its exports, the root certificates as texts among them, it costs every start 10 ms.
    const tls = process.getBuiltinModule('node:tls');
    const socket = tls.connect({
      ...target,
      ...(options.ca === undefined ? {} : { ca: [...tls.getCACertificates(), options.ca.toString()] }),
      ...(session === undefined ? {} : { session }),
      // An address has no server name (RFC 6066 §3).
      servername: net.isIP(host) === 0 ? host : '',
      ALPNProtocols: ['http/1.1'],
    });
    socket.on('session', (latest) => {
      session = latest;
    });
    return socket;
  }

  return (timeoutMs, connected) => {
    const socket = open();
    let tcpStands = false;
    const timer = setTimeout(() => socket.destroy(new ConnectFailure('connect-timeout', 'ETIMEDOUT')), timeoutMs);
    const onError = (error: Error): void => connected(failureOf(error, tcpStands), null);
    socket.once('connect', () => {
      tcpStands = true;
    });
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      connected(null, socket);
      // Not before: a socket without any listener for its errors would end the process.
      socket.off('error', onError);
    });
    socket.once('error', onError);
    socket.once('close', () => clearTimeout(timer));
    return socket;
  };
}

function failureOf(error: Error, tcpStands: boolean): ConnectFailure {
  if (error instanceof ConnectFailure) return error;
  const code = codeOf(error);
  if (tcpStands) return new ConnectFailure('tls', code);
  return new ConnectFailure(code === 'ETIMEDOUT' ? 'connect-timeout' : 'connect', code);
}
