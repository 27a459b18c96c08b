import type { Socket } from 'node:net';
import { every } from '../../kernel/every.ts';

/** A caller that has no place has so long to say what it wants, and to read its refusal. */
export const lingerMs = 1_000;
/** Longer paths are of no health check. */
const lineBytesMax = 1_024;

export interface LastPlaceParts {
  /** Whether such a request is served however many connections there are. */
  isAlwaysServed(method: string, path: string): boolean;
  /** Serves what comes on a connection. */
  serve(socket: Socket): void;
  /** Answers a connection that has no place, and ends it. */
  refuse(socket: Socket, why: string): void;
  /** No request runs on it. */
  isFree(socket: Socket): boolean;
}

/**
 * A connection beyond the limit: health checks and operators are served, and their connection closes after the answer.
 * Others are refused in words once they have sent something, or when they have sent nothing for a second.
 */
export function lastPlace(socket: Socket, why: string, parts: LastPlaceParts): void {
  const timer = setTimeout(refuse, lingerMs).unref();
  socket.once('close', () => clearTimeout(timer));
  // It may be reset before anything listens to it.
  socket.on('error', () => undefined);
  socket.once('data', (first: Buffer) => {
    clearTimeout(timer);
    const [, method = '', path = ''] = requestLine.exec(first.toString('latin1', 0, lineBytesMax)) ?? [];
    if (!parts.isAlwaysServed(method, path)) return refuse();
    socket.pause();
    socket.unshift(first);
    parts.serve(socket);
    socket.resume();
    const stopLooking = every(lingerMs, () => {
      if (parts.isFree(socket)) socket.destroy();
    });
    socket.once('close', stopLooking);
  });

  function refuse(): void {
    socket.removeAllListeners('data');
    refuseAndClose(socket, why, parts);
  }
}

/** Refuses a connection, and closes it when its caller has had time to read that. */
export function refuseAndClose(socket: Socket, why: string, { refuse }: Pick<LastPlaceParts, 'refuse'>): void {
  refuse(socket, why);
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

const requestLine = /^([A-Z]+) (\/[^ ?]*)/;
