import { connect } from 'node:net';

/** Bytes that came back over one TCP connection, unchanged. */
export interface RawAnswer {
  /** Everything before the first body byte; '' when the connection broke earlier. */
  head: string;
  status: number;
  /** The bytes of the wire, chunk framing removed. */
  body: Buffer;
  /** How it stopped: the HTTP message was complete, TCP reset, TCP close in the middle, or silence until `patienceMs`. */
  ended: 'complete' | 'reset' | 'fin' | 'silence';
}

export interface RawRequest {
  url: string;
  path: string;
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: unknown;
  /** How long silence must last to be called so, once the answer's head and `bodyBytesMin` are there. */
  patienceMs?: number;
  /** Bytes of the body that are sure to come; 0 if absent. */
  bodyBytesMin?: number;
  /** How long silence must last before those; 10 s if absent, since a busy machine takes its time. */
  firstBytesMs?: number;
  /** All after the request's first line waits for it. */
  restAfter?: Promise<void>;
}

/** One request over a socket of its own, for tests of what HTTP clients hide: resets, closes, silences, framing. */
export function rawExchange(request: RawRequest): Promise<RawAnswer> {
  const { hostname, port, host } = new URL(request.url);
  const payload = request.body === undefined ? '' : JSON.stringify(request.body);
  const headers = { host, 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(payload)) };
  const lines = Object.entries({ ...headers, ...request.headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let received: Buffer = Buffer.alloc(0);
    let timer: NodeJS.Timeout | undefined;
    const done = (ended: RawAnswer['ended']): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ ...parts(received), ended });
    };
    const wait = (): void => {
      clearTimeout(timer);
      const { status, body } = parts(received);
      const isThere = status !== 0 && body.length >= (request.bodyBytesMin ?? 0);
      timer = setTimeout(done, isThere ? (request.patienceMs ?? 1_000) : (request.firstBytesMs ?? 10_000), 'silence');
    };
    socket.on('connect', async () => {
      const line = `${request.method ?? 'POST'} ${request.path} HTTP/1.1\r\n`;
      const rest = `${lines.join('')}\r\n${payload}`;
      if (request.restAfter === undefined) socket.write(line + rest);
      else {
        socket.write(line);
        await request.restAfter;
        socket.write(rest);
      }
      wait();
    });
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
      if (parts(received).complete) done('complete');
      else wait();
    });
    socket.on('end', () => done('fin'));
    socket.on('error', () => done('reset'));
  });
}

function parts(received: Buffer): Omit<RawAnswer, 'ended'> & { complete: boolean } {
  let at = 0;
  for (;;) {
    const split = received.indexOf('\r\n\r\n', at);
    if (split < 0) return { head: '', status: 0, body: Buffer.alloc(0), complete: false };
    const head = received.toString('latin1', at, split);
    const status = Number(head.slice(9, 12));
    at = split + 4;
    // 103 and its like come before the answer.
    if (status < 200) continue;
    const rest = received.subarray(at);
    const length = /\r\ncontent-length: (\d+)/i.exec(head);
    if (length !== null)
      return {
        head: received.toString('latin1', 0, split),
        status,
        body: rest,
        complete: rest.length >= Number(length[1]),
      };
    return { head: received.toString('latin1', 0, split), status, ...dechunked(rest) };
  }
}

function dechunked(bytes: Buffer): { body: Buffer; complete: boolean } {
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at);
    if (line < 0) return { body: Buffer.concat(pieces), complete: false };
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16);
    if (size === 0) return { body: Buffer.concat(pieces), complete: true };
    pieces.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
    if (at > bytes.length) return { body: Buffer.concat(pieces), complete: false };
  }
}
