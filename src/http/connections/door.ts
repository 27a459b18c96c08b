import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as rest } from 'node:timers/promises';
import { BriefSet, type Placed } from '../../kernel/brief.ts';
import type { Reception } from '../receive-request.ts';
import { cutReadMs, type DrainTimes } from './drain.ts';

/** The way in for requests that another server received, and for connections inside this process. */
export interface Door {
  /** Answers a request of the application's own server, whose body nobody has read. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Takes a request for a WebSocket; false: there is none at its path, and the socket is as it was. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  /** Serves HTTP/1.1 on a connection that no port accepted. */
  connect(connection: Duplex): void;
}

/** How long requests that were cut may take to settle. */
const settleMaxMs = 1_000;
const lookMs = 25;

/** A door that knows what has come through it, so that it can be closed. */
export class OpenDoor implements Door {
  readonly #server: Server;
  readonly #reception: Reception;
  /** Responses that are not out, and connections. */
  readonly #open = new BriefSet<Placed & { one: ServerResponse | Duplex }>();

  constructor(server: Server, reception: Reception) {
    this.#server = server;
    this.#reception = reception;
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    this.#track(response);
    this.#reception.onRequest(request, response);
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    return this.#reception.onUpgrade(request, socket, head);
  }

  connect(connection: Duplex): void {
    this.#track(connection);
    this.#server.emit('connection', connection);
  }

  /** Resolves when all answers are out, or after `graceMs` with the rest cut. New requests are refused from then on. */
  async drain({ delayMs, graceMs }: DrainTimes): Promise<void> {
    const reception = this.#reception;
    if (reception.state === 'open') reception.state = 'unready';
    if (delayMs > 0) await rest(delayMs);
    if (reception.state === 'unready') reception.state = 'draining';
    reception.ending.drain();
    await this.#quiet(graceMs);
    reception.state = 'closed';
    reception.cutRequests();
    await this.#quiet(cutReadMs);
    for (const { one } of this.#open.values()) one.destroy();
    reception.cutSessions();
    await this.#quiet(settleMaxMs);
  }

  /**
   * Ends its connections when all answers are out, behind a port that drains: the port alone decides when requests are
   * refused and cut. Callers keep their connections until it is closed.
   */
  async drainBehindPort({ delayMs, graceMs }: DrainTimes): Promise<void> {
    const endMs = performance.now() + delayMs + graceMs + cutReadMs;
    while (this.#reception.state !== 'closed' && performance.now() < endMs) await rest(lookMs);
    await this.#quiet(endMs - performance.now());
    for (const { one } of this.#open.values()) one.destroy();
  }

  #track(one: ServerResponse | Duplex): void {
    const tracked = { one, place: -1 };
    this.#open.add(tracked);
    one.once('close', () => this.#open.delete(tracked));
  }

  async #quiet(maxMs: number): Promise<void> {
    for (let waited = 0; this.#open.size + this.#reception.running > 0 && waited < maxMs; waited += lookMs)
      await rest(lookMs);
  }
}
