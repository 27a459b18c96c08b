import type { TransportError } from './upstream-call.ts';

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

/** Sorts what undici and the system throw. Their messages hold addresses, so ours are our own. */
export function transportErrorOf(error: unknown): TransportError {
  const code = codeOf(error);
  if (error instanceof ConnectFailure) return { kind: error.kind, message: `${connectWords[error.kind]} (${code})` };
  switch (code) {
    case 'UND_ERR_HEADERS_TIMEOUT':
      return { kind: 'headers-timeout', message: 'no answer came in time' };
    case 'UND_ERR_BODY_TIMEOUT':
      return { kind: 'body-timeout', message: 'the answer stopped in the middle' };
    case 'UND_ERR_DESTROYED':
    case 'UND_ERR_CLOSED':
      return { kind: 'reset', message: 'the gateway closed its connections' };
    // Fewer bytes than Content-Length: mostly a connection closed too soon.
    case 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH':
      return { kind: 'reset', message: 'the connection was closed in the middle of the answer' };
    default:
      if (cutInChunks(error))
        return { kind: 'reset', message: 'the connection was closed in the middle of the answer' };
      if (lostConnection(error)) return { kind: 'reset', message: `the connection was closed (${code})` };
      return { kind: 'protocol', message: `the exchange broke the rules of HTTP (${code})` };
  }
}

/** undici means to give the parser's word as a code, but only its message holds it. */
function cutInChunks(error: unknown): boolean {
  return error instanceof Error && error.name === 'HTTPParserError' && error.message.includes('Invalid EOF state');
}

/** The peer, or the way to it, ended the connection, and said nothing wrong before. */
export function lostConnection(error: unknown): boolean {
  switch (codeOf(error)) {
    case 'ECONNRESET':
    case 'EPIPE':
    case 'ECONNABORTED':
    case 'ETIMEDOUT':
    case 'ENETDOWN':
    case 'ENETUNREACH':
    case 'EHOSTUNREACH':
      return true;
    case 'UND_ERR_SOCKET':
      // undici has the same code for an answer that nobody asked for, which is a fault of the peer's and no accident.
      return error instanceof Error && !error.message.startsWith('bad ');
    default:
      return false;
  }
}

export function codeOf(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string') {
    return error.code;
  }
  return 'unknown';
}
