export interface TransportError {
  kind:
    | 'connect'
    | 'connect-timeout'
    | 'dns'
    | 'tls'
    /** This process has no descriptor left for a connection: the upstream is not to blame. */
    | 'no-descriptor'
    | 'reset'
    | 'headers-timeout'
    | 'body-timeout'
    | 'decode'
    | 'protocol'
    /** Nothing was sent: the authorizer of the request failed. */
    | 'not-authorized';
  /** For people: no URL, no address. */
  message: string;
}

/** A failure before the request could be written: there was no connection. */
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

/** Sorts what undici and the system throw. The system's messages hold addresses, so ours are our own. */
export function transportErrorOf(error: unknown): TransportError {
  const code = codeOf(error);
  if (code === 'EMFILE' || code === 'ENFILE') {
    return { kind: 'no-descriptor', message: `this server has no open files left for a connection (${code})` };
  }
  if (error instanceof ConnectFailure && code.startsWith('PROXY_')) {
    return { kind: error.kind, message: `the proxy could not reach it (${code})` };
  }
  if (error instanceof ConnectFailure) return { kind: error.kind, message: `${connectWords[error.kind]} (${code})` };
  if (wasDestroyed(error)) return transportEnded;
  if (wasCut(error)) return { kind: 'reset', message: 'the connection was closed in the middle of the answer' };
  if (wasReset(error, code)) return { kind: 'reset', message: 'the stream was reset (HTTP/2)' };
  if (lostConnection(error)) return { kind: 'reset', message: `the connection was closed (${code})` };
  return { kind: 'protocol', message: `the exchange broke the rules of HTTP (${code})` };
}

export const headersTimeout: TransportError = { kind: 'headers-timeout', message: 'no answer came in time' };
export const transportEnded: TransportError = { kind: 'reset', message: 'the gateway closed its connections' };
export const bodyTimeout: TransportError = { kind: 'body-timeout', message: 'the answer stopped in the middle' };

/** We closed it: the transport ends. */
export function wasDestroyed(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED';
}

/** Fewer bytes than the answer said, or no last chunk. */
function wasCut(error: unknown): boolean {
  if (codeOf(error) === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return true;
  // Undici means to give the parser's word as a code, but only its message holds it.
  return error instanceof Error && error.name === 'HTTPParserError' && error.message.includes('Invalid EOF state');
}

/** One stream of an HTTP/2 connection, or all of them. */
function wasReset(error: unknown, code: string): boolean {
  if (code === 'ERR_HTTP2_STREAM_ERROR' || code === 'ERR_HTTP2_SESSION_ERROR') return true;
  return error instanceof Error && error.message.startsWith('HTTP/2: ');
}

/** The peer, or the way to it, ended the connection, and said nothing wrong before. */
export function lostConnection(error: unknown): boolean {
  const code = codeOf(error);
  // Undici has the same code for an unrequested answer, which is a fault of the peer and not an accident.
  if (code === 'UND_ERR_SOCKET') return error instanceof Error && !error.message.startsWith('bad ');
  return lostCodes.has(code);
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
