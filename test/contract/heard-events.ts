import type { WebSocket } from 'ws';
import type { JsonObject } from '../../src/kernel/json.ts';

export type RealtimeEvent = JsonObject & { type: string };

const heardWithinMs = 30_000;

/** What a caller of `/v1/realtime` hears, the oldest first. */
export class HeardEvents {
  readonly events: RealtimeEvent[] = [];
  readonly #awaited: (() => void)[] = [];

  hear(event: RealtimeEvent): void {
    this.events.push(event);
    for (const look of this.#awaited.splice(0)) look();
  }

  /** The first event of a type, from the `from`th on (-1: the last). Rejects when none of any type comes for half a minute. */
  async heard(type: string, from = 0): Promise<RealtimeEvent> {
    const late = Promise.withResolvers<never>();
    const types = () => this.events.slice(from).map((one) => one.type);
    const timer = setTimeout(() => late.reject(new Error(`No ${type} came, but ${types().join(', ')}`)), heardWithinMs);
    try {
      for (let at = from < 0 ? Math.max(0, this.events.length + from) : from; ; ) {
        for (; at < this.events.length; at += 1) if (this.events[at]!.type === type) return this.events[at]!;
        timer.refresh();
        await Promise.race([late.promise, new Promise<void>((resolve) => this.#awaited.push(resolve))]);
      }
    } finally {
      clearTimeout(timer);
    }
  }
}

/** A caller on a WebSocket. */
export class SocketCaller extends HeardEvents {
  readonly socket: WebSocket;
  readonly closed: Promise<{ code: number; reason: string }>;

  constructor(socket: WebSocket) {
    super();
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('message', (data) => this.hear(JSON.parse(String(data)) as RealtimeEvent));
    this.closed = new Promise((resolve) =>
      socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })),
    );
  }

  send(type: string, members: JsonObject = {}): void {
    this.socket.send(JSON.stringify({ type, ...members }));
  }

  async close(): Promise<void> {
    this.socket.close();
    await this.closed;
  }
}
