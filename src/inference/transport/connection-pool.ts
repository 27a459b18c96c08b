import type { Connect } from './connect.ts';
import { Connection, type ConnectionHome } from './connection.ts';

/** Idle sockets kept per origin; above it a socket is closed when its exchange ends. */
const idleMax = 1_024;
/**
 * A connection carries nothing for so long after an answer: an upstream that answers twice does it at once, and its
 * second answer must not be read as that of the next request, which may be another tenant's.
 */
export const restAfterAnswerMs = 10;
/** No connection to an upstream that sent what nobody asked for is used twice for so long. */
const distrustMs = 600_000;
/** How exact the timeouts of connections are: they stand behind an attempt's own. */
const sweepIntervalMs = 1_000;

/** The connections to one origin, as many as there are exchanges at once: how many that may be is admission's matter. */
export class ConnectionPool implements ConnectionHome {
  /** When it was last asked for a connection, by the transport's count of requests. */
  lastUsed = 0;
  /** Host and port, as a Host header has them. */
  readonly host: string;
  readonly monotonicMs: () => number;
  private readonly connect: Connect;
  /** The latest released is taken first: the least likely to be closed by the peer, and the others may run dry. */
  private readonly idle: Connection[] = [];
  /** Since their answers, in the order of those. */
  private readonly resting: Connection[] = [];
  private readonly all = new Set<Connection>();
  private toWrite: Connection[] = [];
  private sweeper: NodeJS.Timeout | null = null;
  private readonly restMs: number;
  private distrustedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(host: string, connect: Connect, { monotonicMs, restMs }: { monotonicMs: () => number; restMs: number }) {
    this.host = host;
    this.connect = connect;
    this.monotonicMs = monotonicMs;
    this.restMs = restMs;
  }

  /** `connectTimeoutMs` counts if a socket must be opened. */
  take(connectTimeoutMs: number): Connection {
    const nowMs = this.monotonicMs();
    this.wakeRested(nowMs);
    for (let kept = this.idle.pop(); kept !== undefined; kept = this.idle.pop()) {
      if (kept.isKept(nowMs)) return kept;
      // Between two sweeps, or after a pause of the whole process, one may be older than its upstream keeps it.
      kept.destroy();
    }
    return this.open(connectTimeoutMs);
  }

  open(connectTimeoutMs: number): Connection {
    const connection = new Connection(this, this.connect, connectTimeoutMs);
    this.all.add(connection);
    if (this.sweeper === null) {
      this.sweeper = setInterval(() => this.sweep(), sweepIntervalMs);
      this.sweeper.unref();
    }
    return connection;
  }

  writeSoon(connection: Connection): void {
    this.toWrite.push(connection);
    if (this.toWrite.length === 1) setImmediate(() => this.writeAll());
  }

  keep(connection: Connection): void {
    const keeps = this.idle.length + this.resting.length < idleMax && this.monotonicMs() >= this.distrustedUntilMs;
    if (keeps) this.resting.push(connection);
    else connection.destroy();
  }

  distrust(): void {
    this.distrustedUntilMs = this.monotonicMs() + distrustMs;
    for (const connection of [...this.idle, ...this.resting]) connection.destroy();
  }

  forget(connection: Connection): void {
    this.all.delete(connection);
    for (const list of [this.idle, this.resting]) {
      const at = list.indexOf(connection);
      if (at !== -1) list.splice(at, 1);
    }
    if (this.all.size > 0 || this.sweeper === null) return;
    clearInterval(this.sweeper);
    this.sweeper = null;
  }

  get size(): number {
    return this.all.size;
  }

  /** No exchange runs here. */
  isIdle(): boolean {
    return this.idle.length + this.resting.length === this.all.size;
  }

  destroy(): void {
    for (const connection of [...this.all]) connection.destroy();
  }

  private wakeRested(nowMs: number): void {
    const { resting, restMs } = this;
    let rested = 0;
    while (rested < resting.length && resting[rested]!.idleMs(nowMs) >= restMs) rested += 1;
    if (rested > 0) this.idle.push(...resting.splice(0, rested));
  }

  private writeAll(): void {
    const connections = this.toWrite;
    this.toWrite = [];
    for (const connection of connections) connection.write();
  }

  private sweep(): void {
    const nowMs = this.monotonicMs();
    for (const connection of [...this.all]) connection.sweep(nowMs);
  }
}
