import type { Worker } from 'node:cluster';
import { randomUUID } from 'node:crypto';
import { Duplex } from 'node:stream';
import { setTimeout as rest } from 'node:timers/promises';
import type { Config } from '../config/schema.ts';
import { createShortTexts } from '../kernel/sharing/short-texts.ts';
import type { Link } from '../kernel/threads/link.ts';
import type { Log } from '../observe/log.ts';
import type { BooksOffers, BooksStanding } from './books-offers.ts';
import { bootOf } from './boot-names.ts';
import { HeldByWorkers } from './held-by-workers.ts';
import { HintRelay } from './hint-relay.ts';
import { createKnownDeaths } from './known-deaths.ts';
import { StartRefused } from './lifetime.ts';
import { Pulse } from './pulse.ts';
import { type NotedReload, withTakenAtStart } from './reloads.ts';
import { Spares } from './spares.ts';
import { answersOf, askAll, cancelAt, Hearing, isLook } from './wait-for-reports.ts';
import { WorkerFigures } from './worker-figures.ts';
import {
  type Given,
  heldPort,
  type PrimaryOffers,
  type Standing,
  sentConfig,
  vectorsStream,
  type WorkerOffers,
} from './worker-seat.ts';

export interface WorkersParts {
  count: number;
  /** The file that a worker runs. */
  program: string;
  /** The present ones: a worker that replaces another begins with them. */
  given(): Pick<Given, 'config' | 'file' | 'locals'>;
  reload: PrimaryOffers['reload'];
  items: Pick<PrimaryOffers, 'keepItems' | 'findItems'>;
  /** The books of the embedded storage; null: each worker opens PostgreSQL and Redis. */
  books: BooksOfWorkers | null;
  /** Serves the embedded vectors to one worker; null: each worker opens a Qdrant. */
  vectors: { serve(stream: Duplex): void } | null;
  form: Given['form'];
  log: Log;
  /** No worker is left, and none is started any more. */
  onAllEnded(): void;
}

export interface BooksOfWorkers {
  /** Requests that one worker may make. `delivered` resolves when the books have what all workers said before. */
  desk(delivered: () => Promise<void>): BooksOffers & { lost(): Promise<number> };
  standing(): BooksStanding;
}

/** So many deaths of one worker within `deathsWithinMs` are a loop, and it is not started again. */
const deathsMax = 5;
const deathsWithinMs = 60_000;
/** A change by an operator waits for the other workers for so long. Those that are late look within a second. */
const lookMaxMs = 1_000;
/** How long a reload waits for each worker. */
const configureMaxMs = 5_000;
/** How long workers may take to end beyond their times: they settle, flush and close. */
const closingMaxMs = 10_000;

/** The place of a worker, which another one takes when it has died. */
interface Place {
  number: number;
  deathsMs: number[];
  /** Workers that it has had, the present one included. */
  generation: number;
  state:
    | { at: 'starting' | 'serving'; worker: Worker; link: Link<WorkerOffers> }
    | { at: 'given up' }
    | { at: 'ended' };
}

/** Workers of one server, which share its port. */
export class Workers {
  readonly #parts: WorkersParts;
  readonly #startedWith: Config;
  readonly #places: readonly Place[];
  /** Promises that wait for a worker of the start, by number. */
  readonly #starts = new Map<number, () => void>();
  /** Names this server in the boots of its workers. */
  readonly #boot = randomUUID();
  readonly #pulse = new Pulse();
  readonly #hints = new HintRelay();
  /** The least level of log messages of MCP by tenant. */
  readonly #logLevels = createShortTexts();
  readonly #hearing = new Hearing(() => this.#servingLinks());
  readonly #held = new HeldByWorkers(() => this.#servingLinks());
  /** Others take over what the dead had leased: also those that serve later, when several have died in one place. */
  readonly #deaths = createKnownDeaths();
  readonly #figures = new WorkerFigures();
  readonly #spares: Spares;
  readonly #failedStart = Promise.withResolvers<never>();
  #phase: 'starting' | 'serving' | 'stopping' = 'starting';
  #address = '';

  constructor(parts: WorkersParts) {
    this.#parts = parts;
    this.#startedWith = parts.given().config;
    this.#places = Array.from({ length: parts.count }, (_, index) => ({
      number: index + 1,
      deathsMs: [],
      generation: 0,
      state: { at: 'ended' },
    }));
    this.#spares = new Spares(parts);
  }

  /**
   * Starts the first, which brings the stores up to date, then the others. Resolves with their address when all
   * serve. Rejects with `StartRefused` where one cannot start, or ends before the others have started.
   */
  async start(): Promise<string> {
    await Promise.race([this.#startAll(), this.#failedStart.promise]);
    if (this.#phase === 'starting') this.#phase = 'serving';
    this.#spares.begin();
    this.notifyStanding();
    return this.#address;
  }

  /** All of them take it into use; one that starts gets it when it serves. Rejects, once all have answered, when one cannot. */
  async configure(config: Config): Promise<void> {
    const taken = this.#serving().map(({ number, link }) => this.#configured(number, link, config));
    for (const failed of await Promise.all(taken)) if (failed !== null) throw failed;
  }

  /** The first that serves writes it into the audit log: the primary has no accounts. */
  async noteReload(reload: NotedReload): Promise<void> {
    await this.#servingLinks()[0]?.ask('noteReload', reload);
  }

  /** Ends them all in the same steps. */
  async stop({ graceMs, delayMs }: { graceMs: number; delayMs: number }): Promise<void> {
    this.#phase = 'stopping';
    this.#spares.end();
    const left = this.#running();
    const ended = left.map(({ worker }) => endOf(worker));
    for (const { at, worker, link } of left) {
      // One that starts has nothing to lose.
      if (at === 'serving') link.notify('stop', graceMs, delayMs);
      else worker.process.kill('SIGKILL');
    }
    const cut = setTimeout(
      () => {
        for (const { worker } of this.#running()) worker.process.kill('SIGKILL');
      },
      graceMs + delayMs + closingMaxMs,
    );
    await Promise.all(ended);
    this.#pulse.stop();
    clearTimeout(cut);
  }

  #running() {
    return this.#places.flatMap(({ number, state }) =>
      state.at === 'starting' || state.at === 'serving' ? [{ number, ...state }] : [],
    );
  }

  #serving() {
    return this.#running().filter(({ at }) => at === 'serving');
  }

  #servingLinks() {
    return this.#serving().map(({ link }) => link);
  }

  #others(number: number) {
    return this.#serving().flatMap((one) => (one.number === number ? [] : [one.link]));
  }

  #standing(): Standing {
    const lost = this.#places.filter(({ state }) => state.at === 'given up').map(({ number }) => number);
    const trouble =
      lost.length === 0
        ? null
        : `${lost.length === 1 ? `Worker ${lost[0]} is` : `Workers ${lost.join(', ')} are`} not started again after ${deathsMax} deaths within a minute; ${this.#serving().length} of ${this.#places.length} serve.`;
    const ended = this.#places.map(({ generation, state }) =>
      state.at === 'starting' || state.at === 'serving' ? generation - 1 : generation,
    );
    return { ready: this.#phase !== 'starting', trouble, ended, books: this.#parts.books?.standing() ?? null };
  }

  /** Sends all workers the current state, which they must know at once. */
  notifyStanding(): void {
    const standing = this.#standing();
    for (const { link } of this.#serving()) link.notify('stand', standing);
  }

  async #startAll(): Promise<void> {
    const { host, port } = this.#startedWith.server;
    await this.#spares.open(host, port);
    const [first, ...others] = this.#places;
    if (first !== undefined) await this.#started(first);
    await Promise.all(others.map((place) => this.#started(place)));
  }

  async #started(place: Place): Promise<void> {
    // A signal came meanwhile.
    if (this.#phase === 'stopping') return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#starts.set(place.number, resolve);
    this.#fork(place);
    await promise;
    this.#starts.delete(place.number);
  }

  /** Takes the spare where there is one. */
  #fork(place: Place): void {
    place.generation += 1;
    const desk = this.#parts.books?.desk(() => this.#hearing.all());
    const boot = bootOf(this.#boot, place.number, place.generation);
    const { worker, link, seated } = this.#spares.take();
    place.state = { at: 'starting', worker, link };
    const stream = worker.process.stdio[vectorsStream];
    if (stream instanceof Duplex) this.#parts.vectors?.serve(stream);
    const given = this.#givenTo(place, boot);
    const began = this.#parts.given().config;
    seated(
      this.#offersTo(place, link, desk, (url) => {
        this.#address = url;
        place.state = { at: 'serving', worker, link };
        this.#watch(place, worker, link);
        const { config } = this.#parts.given();
        if (config !== began) void this.#configured(place.number, link, config);
        link.notify('stand', this.#standing());
        const hints = this.#hints.now();
        if (hints.length > 0) link.notify('takeHints', hints);
        this.#held.begin(link);
        for (const dead of this.#deaths.known) link.notify('died', dead);
        this.#spares.prepare();
        const start = this.#starts.get(place.number);
        if (start === undefined)
          this.#parts.log.info({ worker: place.number }, 'a worker serves in place of the dead one');
        else start();
      }),
      given,
    );
    worker.once('exit', (code, signal) => {
      this.#pulse.end(boot);
      link.closed(`worker ${place.number} ended`);
      this.#figures.end(link);
      this.#ended(place, signal ?? code);
      this.notifyStanding();
    });
    // All that it has said before is taken by then.
    worker.once('disconnect', () => {
      this.#held.end(link);
      void this.#mourn(place.number, boot, desk);
    });
  }

  #givenTo({ number }: Place, boot: string): Given {
    const now = this.#parts.given();
    return {
      ...now,
      config: sentConfig(withTakenAtStart(this.#startedWith, now.config)),
      number,
      boot,
      standing: this.#standing(),
      boundPort: this.#spares.holdsPort ? heldPort : null,
      spool: `spool-${number}`,
      greets: number === 1 && this.#phase === 'starting',
      form: this.#parts.form,
    };
  }

  /** One that hangs would keep the connections that it has, and serve none of them. */
  #watch({ number, generation }: Place, worker: Worker, link: Link<WorkerOffers>): void {
    this.#pulse.begin({
      id: bootOf(this.#boot, number, generation),
      link,
      onHangs: (seconds) => {
        if (this.#phase === 'stopping') return;
        this.#parts.log.error({ worker: number }, `a worker did not answer for ${seconds} s, so it is ended`);
        worker.process.kill('SIGKILL');
      },
    });
  }

  /** Charges what it left open, then lets the others have its leases. */
  async #mourn(worker: number, boot: string, desk: { lost(): Promise<number> } | undefined): Promise<void> {
    const requests = (await desk?.lost()) ?? 0;
    if (requests > 0)
      this.#parts.log.warn({ worker, requests }, 'requests of a dead worker were charged with their estimates');
    this.#deaths.note(boot);
    for (const { link } of this.#serving()) link.notify('died', boot);
  }

  #offersTo(
    { number }: Place,
    link: Link<WorkerOffers>,
    desk: BooksOffers | undefined,
    serving: PrimaryOffers['serving'],
  ): Omit<PrimaryOffers, keyof BooksOffers | 'begin'> & Partial<BooksOffers> {
    const { log, reload, items } = this.#parts;
    const elsewhere = <T>(ask: (other: Link<WorkerOffers>) => Promise<T>) => answersOf(this.#others(number), ask);
    return {
      serving,
      refused: (message) => {
        log.error({ worker: number }, message);
        if (this.#phase === 'starting') this.#failedStart.reject(new StartRefused(message));
      },
      reload,
      measured: () => this.#figures.scrape(this.#servingLinks()),
      hint: (hints) => {
        this.#hints.take(hints);
        for (const other of this.#others(number)) other.notify('takeHints', hints);
      },
      changed: () => askAll(this.#others(number), (other) => other.ask('lookAgain'), lookMaxMs),
      holds: (name, by) => this.#held.take(link, name, by),
      stored: (changes) => {
        for (const other of this.#others(number)) other.notify('storedElsewhere', changes);
      },
      cancelCall: (name) => void cancelAt(this.#servingLinks(), name),
      keepLogLevel: this.#logLevels.keep,
      findLogLevel: this.#logLevels.find,
      processes: () => this.#pulse.seen(),
      async bodies(requestIds) {
        const found = await elsewhere((other) => other.ask('bodies', requestIds));
        return new Map(found.flatMap((bodies) => [...bodies]));
      },
      findRefused: async (...of) =>
        (await elsewhere((other) => other.ask('findRefused', ...of))).find((one) => one !== null) ?? null,
      bodiesWritten: () => askAll(this.#others(number), (other) => other.ask('bodiesWritten'), lookMaxMs),
      framesOfRun: async (...run) => (await elsewhere((other) => other.ask('framesOfRun', ...run))).flat(),
      cancelRun: async (...run) => void (await elsewhere((other) => other.ask('cancelRun', ...run))),
      ...items,
      ...desk,
      ...(desk !== undefined && {
        call: (port, name, args) =>
          isLook(port, name)
            ? this.#hearing.all().then(() => desk.call(port, name, args))
            : desk.call(port, name, args),
      }),
    };
  }

  /** Why it cannot. */
  async #configured(worker: number, link: Link<WorkerOffers>, config: Config): Promise<Error | null> {
    const { log } = this.#parts;
    const late = new AbortController();
    const slow = rest(configureMaxMs, null, { signal: late.signal }).then(() =>
      log.error({ worker }, 'a worker does not answer. It takes the configuration when it goes on'),
    );
    try {
      await Promise.race([link.ask('configure', sentConfig(config)), slow]);
      return null;
    } catch (error) {
      log.error({ worker, error: String(error) }, 'a worker did not take the configuration');
      // One that has died is followed by another, which begins with what is in force then.
      return this.#serving().some((one) => one.link === link) ? (error as Error) : null;
    } finally {
      late.abort();
    }
  }

  #ended(place: Place, how: string | number): void {
    const { number } = place;
    const { log, onAllEnded } = this.#parts;
    place.state = { at: 'ended' };
    if (this.#phase === 'stopping') return;
    if (this.#phase === 'starting')
      return this.#failedStart.reject(new StartRefused(`Worker ${number} ended (${how}) during the start.`));
    const nowMs = performance.now();
    place.deathsMs = [...place.deathsMs.filter((ms) => ms > nowMs - deathsWithinMs), nowMs];
    if (place.deathsMs.length < deathsMax) {
      log.error({ worker: number }, `a worker died (${how}). Its requests were cut; another one takes its place`);
      return this.#fork(place);
    }
    place.state = { at: 'given up' };
    log.error({ worker: number }, `${this.#standing().trouble} See the log for the cause, then restart Culvert.`);
    this.notifyStanding();
    if (this.#running().length === 0) onAllEnded();
  }
}

/** Resolves when the process has ended, and all that it said is taken. */
async function endOf(worker: Worker): Promise<void> {
  const exit = new Promise((done) => worker.once('exit', done));
  const silence = worker.isConnected() ? new Promise((done) => worker.once('disconnect', done)) : null;
  await Promise.all([exit, silence]);
}
