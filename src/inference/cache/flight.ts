import { BriefMap } from '../../kernel/brief.ts';
import type { Client, Failed, Sink } from '../spine/sink.ts';
import { LeadingSink } from './leading-sink.ts';
import { LiveAnswer } from './live-answer.ts';
import type { CachedAnswer } from './packed-entry.ts';

/** An answer that others took from the one that was asked, or from the store. */
export interface Landed {
  entry: CachedAnswer;
  /** Wall-clock ms at which it was complete. */
  atMs: number;
  /** Similarity of the question that it answered to the one that gets it; absent: they are equal. */
  similarity?: number;
}

/** One request that is asked for all equal ones. It goes on as long as one waits, also if the first caller left. */
export class Flight {
  readonly #landed = Promise.withResolvers<Landed | 'refused' | null>();
  /** Resolves once the answer comes as a stream that others may join. */
  readonly #begun = Promise.withResolvers<LiveAnswer>();
  /** Requests that wait for it. */
  waiting = 0;
  /** Called with each that comes; null: nobody listens. */
  onCame: (() => void) | null = null;
  #client: SharedClient | null = null;

  /** Resolves once: the answer, or null, and each asks alone. `refused`: a limit let this one not ask; another may. */
  get landed(): Promise<Landed | 'refused' | null> {
    return this.#landed.promise;
  }

  /** Only the first call counts. */
  land(landed: Landed | 'refused' | null): void {
    this.#landed.resolve(landed);
  }

  /** Its answer has begun. Only the first call counts. */
  begin(live: LiveAnswer): void {
    this.#begun.resolve(live);
  }

  /** The client of the request that is asked. */
  clientOf(client: Client): Client {
    this.#client = new SharedClient(client, () => this.waiting > 0);
    return this.#client;
  }

  /** The sink of the request that is asked, behind `clientOf`. `ended` gets how its answer ends. */
  sinkOf(sink: Sink, ended: (failed: Failed | null) => void): Sink {
    const leading = new LeadingSink(sink, () => this.waiting > 0, ended);
    this.#client?.reads(leading);
    return leading;
  }

  /**
   * The answer, or `refused` as above; null: each asks alone, or this one waited too long or has left. `join` gives a
   * stream that has begun to its caller; null: it takes whole answers alone.
   */
  async wait(
    client: Client,
    ms: number,
    join: ((live: LiveAnswer) => Promise<void>) | null,
  ): Promise<Landed | LiveAnswer | 'refused' | null> {
    if (client.disconnected) return null;
    this.waiting += 1;
    this.#client?.otherCame();
    this.onCame?.();
    let timer: NodeJS.Timeout | undefined;
    try {
      const left = new Promise<null>((resolve) => {
        timer = setTimeout(() => resolve(null), ms);
        client.onDisconnect(() => resolve(null));
      });
      const begun = this.#begun.promise.then<Landed | LiveAnswer | 'refused' | null>((live) =>
        live.takesMore ? live : this.landed,
      );
      const first = await Promise.race([this.landed, left, ...(join === null ? [] : [begun])]);
      clearTimeout(timer);
      if (first instanceof LiveAnswer) await join?.(first);
      return first;
    } finally {
      clearTimeout(timer);
      this.waiting -= 1;
      if (this.waiting === 0) this.#client?.nobodyWaits();
    }
  }
}

/** A client that has left once its caller has, and nobody else waits for its answer. */
class SharedClient implements Client {
  readonly #caller: Client;
  readonly #othersWait: () => boolean;
  #disconnectListener: (() => void) | null = null;
  #onDrain: (() => void) | null = null;
  #sink: LeadingSink | null = null;

  constructor(caller: Client, othersWait: () => boolean) {
    this.#caller = caller;
    this.#othersWait = othersWait;
    caller.onDisconnect(() => this.#callerLeft());
    caller.onDrain(() => {
      if (this.#sink?.drained() !== false) this.#onDrain?.();
    });
  }

  get disconnected(): boolean {
    return this.#caller.disconnected && !this.#othersWait();
  }

  get cutFor(): Client['cutFor'] {
    return this.#caller.cutFor;
  }

  get committed(): boolean {
    return this.#caller.committed;
  }

  onDisconnect(listener: () => void): void {
    this.#disconnectListener = listener;
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener;
  }

  /** Its caller's answer goes through this sink. */
  reads(sink: LeadingSink): void {
    this.#sink = sink;
  }

  /** Resumes an answer that stopped because the caller's reader is behind. */
  otherCame(): void {
    if (this.#sink !== null) this.#onDrain?.();
  }

  nobodyWaits(): void {
    if (this.#caller.disconnected) this.#disconnectListener?.();
  }

  #callerLeft(): void {
    this.#sink?.drop();
    // A reader that was behind takes no more: what comes for the others must not wait for it.
    if (this.#othersWait()) this.#onDrain?.();
    else this.#disconnectListener?.();
  }
}

/** Requests under way, by scope and digest. */
export class Flights {
  readonly #flights = new BriefMap<Flight>();

  /** The flight for `at` that is under way, or a new one of the caller's, which removes it; null: it shares none. */
  join(at: string | null): { under: Flight | undefined; flight: Flight | null; remove(): void } {
    const under = at === null ? undefined : this.#flights.get(at);
    if (at === null || under !== undefined) return { under, flight: null, remove() {} };
    const flight = new Flight();
    this.#flights.set(at, flight);
    const remove = () => {
      if (this.#flights.get(at) === flight) this.#flights.take(at);
    };
    return { under, flight, remove };
  }

  /** Requests that wait for an equal one. */
  waiting(): number {
    return [...this.#flights.values()].reduce((sum, flight) => sum + flight.waiting, 0);
  }
}
