import { readdirSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { every } from '../../kernel/every.ts';
import { clientNetwork, createNetworkSet, plainAddress } from '../../kernel/network.ts';
import type { Elsewhere } from '../../kernel/sharing/elsewhere.ts';

/**
 * Number of connections beyond the cap that are accepted for health checks and operators, and to refuse others in words.
 * Further ones are closed unread.
 */
const refusedAtOnce = 32;
/** Descriptors for databases that open later, logs, threads, and looks at providers; of few an eighth. */
const spareDescriptors = 64;
/** At the cap, a connection on which nothing came for so long makes room for a new one. */
const idleMs = 2_000;
/** Connections that are looked at for that, the oldest first; further ones have their turn with the next caller. */
const looksMax = 64;
/** A connection is kept for so long after an answer. What answers say of it is not promised too much. */
export const keepAliveMs = 75_000;
/** Connections are looked at so often: one closes 75 to 85 s after its last answer. */
const sweepMs = 5_000;
/** Connections of one address, or one network of IPv6, when nothing is configured. */
const perAddressDefault = 2_000;
const loopback = createNetworkSet(['127.0.0.0/8', '::1/128']);

export interface CapParts extends Omit<LastPlaceParts, 'serve'> {
  /** The present configuration; undefined: 2,000, and loopback is free. */
  perAddress(): number | undefined;
  elsewhere: Elsewhere | null;
  isTrusted(address: string | null): boolean;
  /** A connection was accepted. */
  onTaken(): void;
  /** Connections were closed unread, as many since the last time. */
  onDropped(count: number): void;
}

/** Bytes that had been read of each connection when it was last looked at, and since when no more came. */
type Opened = Map<Socket, { bytesRead: number; sinceMs: number }>;

export interface ConnectionCaps {
  /** Connections that callers may have, or null where the system tells no limit. */
  readonly max: number | null;
  /** All connections that are open. */
  open(): Iterable<Socket>;
}

/**
 * Takes as many connections as leave each of them a descriptor for its upstream: 400 streams on 256 descriptors had 214
 * that no provider could be asked for. Of one address, or one network of IPv6, no more than its share, unless it is a
 * trusted proxy. To be called when the server listens, its own files being open.
 */
export function capConnections(server: Server, parts: CapParts): ConnectionCaps {
  const max = connectionsMax();
  const byNetwork = new Map<string, number>();
  const open: Opened = new Map();
  let dropped = 0;
  const [attach] = server.listeners('connection') as [(socket: Socket) => void];

  function take(socket: Socket): void {
    const address = plainAddress(socket.remoteAddress ?? '') ?? '';
    const network = clientNetwork(address);
    const held = byNetwork.get(network) ?? 0;
    const fullWhy = full();
    const why = fullWhy ?? shareTaken(address, held + (parts.elsewhere?.held(nameOf(network)) ?? 0));
    open.set(socket, { bytesRead: 0, sinceMs: performance.now() });
    parts.onTaken();
    byNetwork.set(network, held + 1);
    if (parts.elsewhere !== null) report(parts.elsewhere, network);
    socket.once('close', () => {
      open.delete(socket);
      const left = byNetwork.get(network)! - 1;
      if (left === 0) byNetwork.delete(network);
      else byNetwork.set(network, left);
      if (parts.elsewhere !== null) report(parts.elsewhere, network);
    });
    if (why === null) attach.call(server, socket);
    else if (fullWhy === null) refuseAndClose(socket, why, parts);
    else lastPlace(socket, why, { ...parts, serve: (one) => attach.call(server, one) });
  }

  function report(elsewhere: Elsewhere, network: string): void {
    elsewhere.report(nameOf(network), byNetwork.get(network) ?? 0, parts.perAddress() ?? perAddressDefault);
  }

  function full(): string | null {
    if (max === null || open.size < max || closeIdle(open, parts)) return null;
    return `This server has ${max} connections, as many as its limit of open files allows (ulimit -n). Retry shortly.`;
  }

  function shareTaken(address: string, held: number): string | null {
    const configured = parts.perAddress();
    if (held < (configured ?? perAddressDefault) || parts.isTrusted(address)) return null;
    if (configured === undefined && loopback.has(address)) return null;
    return `Your address has ${held} connections to this server, as many as one address may have (server.connections_per_address). Use fewer at once.`;
  }

  server.removeListener('connection', attach);
  server.on('connection', take);
  if (max !== null) server.maxConnections = max + refusedAtOnce;
  server.on('drop', () => {
    if (dropped === 0) {
      setTimeout(() => {
        parts.onDropped(dropped);
        dropped = 0;
      }, lingerMs).unref();
    }
    dropped += 1;
  });
  closeUnused(server, open, parts);
  return { max, open: () => open.keys() };
}

/** Name of a network's connections, for other processes. */
function nameOf(network: string): string {
  return `connections of ${network}`;
}

/** Closes one that has been idle for long; false: there is none. */
function closeIdle(open: Opened, { isFree }: Pick<CapParts, 'isFree'>): boolean {
  const nowMs = performance.now();
  let looks = 0;
  for (const [socket, seen] of open) {
    looks += 1;
    if (looks > looksMax) return false;
    const isIdle = isFree(socket) && seen.bytesRead === socket.bytesRead;
    if (isIdle && nowMs - seen.sinceMs >= idleMs) {
      socket.destroy();
      return true;
    }
    if (!isIdle) Object.assign(seen, { bytesRead: socket.bytesRead, sinceMs: nowMs });
    open.delete(socket);
    open.set(socket, seen);
  }
  return false;
}

/**
 * Closes those that callers keep open for too long without a request. Node's `keepAliveTimeout`, which is off, would set
 * and end a timer of the connection with each answer.
 */
function closeUnused(server: Server, open: Opened, parts: Pick<CapParts, 'isFree'>): void {
  server.once(
    'close',
    every(sweepMs, () => sweep(open, parts)),
  );
}

function sweep(open: Opened, { isFree }: Pick<CapParts, 'isFree'>): void {
  const nowMs = performance.now();
  for (const [socket, seen] of open) {
    if (!isFree(socket) || seen.bytesRead !== socket.bytesRead) {
      seen.bytesRead = socket.bytesRead;
      seen.sinceMs = nowMs;
    } else if (nowMs - seen.sinceMs >= keepAliveMs + sweepMs) socket.destroy();
  }
}

/** Half of the descriptors that are left: a connection may need one for its upstream. */
function connectionsMax(): number | null {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    if (limit === undefined) return null;
    const descriptors = Number(limit);
    const open = readdirSync('/proc/self/fd').length;
    const spare = Math.min(spareDescriptors, descriptors / 8);
    return Math.max(1, Math.floor((descriptors - open - spare - refusedAtOnce) / 2));
  } catch {
    // Only Linux tells the limit. Elsewhere there is practically none, or the operator watches it.
    return null;
  }
}

/** A caller that has no place has so long to say what it wants, and to read its refusal. */
const lingerMs = 1_000;
/** Longer paths are of no health check. */
const lineBytesMax = 1_024;

interface LastPlaceParts {
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
function lastPlace(socket: Socket, why: string, parts: LastPlaceParts): void {
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
function refuseAndClose(socket: Socket, why: string, { refuse }: Pick<LastPlaceParts, 'refuse'>): void {
  refuse(socket, why);
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

const requestLine = /^([A-Z]+) (\/[^ ?]*)/;
