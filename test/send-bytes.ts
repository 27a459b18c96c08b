import { connect } from 'node:net';

/** The server's answer to bytes that no HTTP client would send. */
export interface BytesAnswer {
  /** Status of the first answer; 0 when none came. */
  status: number;
  /** Status of every answer on this connection, in order. */
  statuses: number[];
  text: string;
  /** The server closed the connection; false when it was still open after `patienceMs` of silence. */
  closed: boolean;
}

/**
 * Sends these bytes on a connection of its own and collects the answer, until the server closes or has been silent for
 * `patienceMs`, counted from the first byte of an answer; `firstByteMs` is how long that may take. Strings go as
 * latin1, so that any byte can be written.
 */
export function answerTo(
  url: string,
  bytes: string | Buffer,
  { patienceMs = 150, firstByteMs = 30_000 } = {},
): Promise<BytesAnswer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let text = '';
    let timer = setTimeout(() => done(false), firstByteMs);
    const done = (closed: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
      resolve({ status: statuses[0] ?? 0, statuses, text, closed });
    };
    socket.on('connect', () => socket.write(bytes as string, 'latin1'));
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      clearTimeout(timer);
      timer = setTimeout(() => done(false), patienceMs);
    });
    socket.on('close', () => done(true));
    socket.on('error', () => undefined);
  });
}

/** The same of bytes after which the server closes. On a busy machine the close comes a while after the answer. */
export function answerUntilClosed(url: string, bytes: string | Buffer): Promise<BytesAnswer> {
  return answerTo(url, bytes, { patienceMs: 10_000 });
}
