import type { TransportError } from './upstream-call.ts';
import { WireFailure, type WireFailureCode } from './wire-failure.ts';

/** What went wrong before the request could be written: the connection never stood. */
export class ConnectFailure extends Error {
  readonly kind: 'connect' | 'connect-timeout' | 'dns' | 'tls';
  /** The system's word for it, such as ECONNREFUSED. */
  readonly code: string;

  constructor(kind: ConnectFailure['kind'], code: string) {
    super(kind);
    this.kind = kind;
    this.code = code;
  }
}

const connectWords = {
  connect: 'the connection was refused or could not be made',
  'connect-timeout': 'timed out connecting',
  dns: 'the name could not be resolved',
  tls: 'no secure connection could be made',
} as const satisfies Record<ConnectFailure['kind'], string>;

/** Sorts what connections and the system throw. The system's messages hold addresses, so ours are our own. */
export function transportErrorOf(error: unknown): TransportError {
  const code = codeOf(error);
  if (code === 'EMFILE' || code === 'ENFILE') {
    return { kind: 'no-descriptor', message: `this server has no open files left for a connection (${code})` };
  }
  if (error instanceof ConnectFailure) return { kind: error.kind, message: `${connectWords[error.kind]} (${code})` };
  if (error instanceof WireFailure) return wireError(error.code);
  if (lostConnection(error)) return { kind: 'reset', message: `the connection was closed (${code})` };
  return { kind: 'protocol', message: `the exchange broke the rules of HTTP (${code})` };
}

function wireError(code: WireFailureCode): TransportError {
  switch (code) {
    case 'headers-timeout':
      return { kind: 'headers-timeout', message: 'no answer came in time' };
    case 'body-timeout':
      return { kind: 'body-timeout', message: 'the answer stopped in the middle' };
    case 'destroyed':
      return { kind: 'reset', message: 'the gateway closed its connections' };
    case 'closed':
      return { kind: 'reset', message: 'the connection was closed before an answer came' };
    case 'cut':
      return { kind: 'reset', message: 'the connection was closed in the middle of the answer' };
    default:
      return { kind: 'protocol', message: `the exchange broke the rules of HTTP (${code})` };
  }
}

/** The peer, or the way to it, ended the connection, and said nothing wrong before. */
export function lostConnection(error: unknown): boolean {
  if (error instanceof WireFailure) return error.code === 'closed';
  return lostCodes.has(codeOf(error));
}

const lostCodes: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'ETIMEDOUT',
  'ENETDOWN',
  'ENETUNREACH',
  'EHOSTUNREACH',
]);

export function codeOf(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string') {
    return error.code;
  }
  return 'unknown';
}
