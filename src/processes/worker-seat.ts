import { setTimeout as pause } from 'node:timers/promises';
import type { BodiesByRequest, Reloaded, ReloadMode } from '../admin/parts.ts';
import type { UsageEvent } from '../books/metering/ledger.ts';
import type { Refusals } from '../books/metering/refusals.ts';
import type { ProcessFacts, SeenProcess } from '../books/metering/replicas.ts';
import type { StorageElsewhere } from '../books/metering/storage/storage-book.ts';
import type { StoredChange } from '../books/metering/storage/storage-counts.ts';
import { withBuiltInPlan, writtenPlans } from '../config/schema/schema-plans.ts';
import type { Config } from '../config/schema.ts';
import type { ItemReference } from '../formats/dialects/dialect.ts';
import type { LocalServer } from '../formats/providers/probe-local.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { JobWorker } from '../kernel/leased-jobs.ts';
import { createElsewhere, type Elsewhere } from '../kernel/sharing/elsewhere.ts';
import type { ShareCalls } from '../kernel/sharing/running-calls.ts';
import type { NamedRuns, ShareRuns } from '../kernel/sharing/shared-runs.ts';
import type { ShortTexts } from '../kernel/sharing/short-texts.ts';
import { createLink, type Link } from '../kernel/threads/link.ts';
import { type Remote, remoteOf } from '../kernel/threads/remote.ts';
import type { SeriesValues } from '../observe/metrics.ts';
import type { HealthHint } from '../routing/health-hints.ts';
import type { BooksOffers, BooksStanding } from './books-offers.ts';
import { isBootOver, serverOf } from './boot-names.ts';
import { createKnownDeaths } from './known-deaths.ts';
import type { NotedReload } from './reloads.ts';

/** Setup that a worker starts with. */
export interface Given {
  /** The configuration in force, which the primary has checked. */
  config: Config;
  /** Its file; null: there is none. */
  file: string | null;
  /** Model servers of this machine that the operator has confirmed. */
  locals: readonly LocalServer[];
  /** 1 for the first. */
  number: number;
  /** Names it in what it keeps: see `boots`. */
  boot: string;
  standing: Standing;
  /** Descriptor of the port that the primary holds; null: the worker opens it. */
  boundPort: number | null;
  /** Name of its folder for uploads, which a worker that replaces it empties. */
  spool: string;
  /** Whether this worker makes the keys of a first start and prints the start table. */
  greets: boolean;
  /** Form of the log: standard output of a worker leads to the primary. */
  form: 'pretty' | 'json';
}

/** State of all workers. */
export interface Standing {
  /** Whether all have served once: then `/readyz` may say yes. */
  ready: boolean;
  /** Why some are not started any more, or answer no more, in words; null: all is well. */
  trouble: string | null;
  /** By place, the last generation of its workers that is over. */
  ended: readonly number[];
  /** Null: each worker opens PostgreSQL and Redis. */
  books: BooksStanding | null;
}

/** Offers of the primary to its workers. Those of the books are there with the embedded storage alone. */
export interface PrimaryOffers extends BooksOffers {
  /** Answered when it has a place. */
  begin(): Promise<Given>;
  /** The worker listens at `url`. */
  serving(url: string): void;
  /** The operator can correct why it cannot start. */
  refused(message: string): void;
  /** Reads the configuration again, for all workers. */
  reload(mode: ReloadMode): Promise<Reloaded>;
  /** Figures of every worker that answers in time. */
  measured(): Promise<SeriesValues[]>;
  /** Sends what this worker has learnt of upstreams, for the others. */
  hint(hints: readonly HealthHint[]): void;
  /** Accounts, keys or what is set up at run time have changed: answered when all other workers know, or are late. */
  changed(): Promise<void>;
  /** This worker holds so much more of what all callers share. */
  holds(name: string, by: number): void;
  /** This worker has stored these. */
  stored(changes: readonly StoredChange[]): void;
  /** Cancels the call of this name, if exactly one runs in all workers. */
  cancelCall(name: string): void;
  /** The least level of log messages of MCP that a tenant gets. */
  keepLogLevel(tenant: string, level: string): void;
  findLogLevel(tenant: string): string | null;
  /** All workers, and those that ended a while ago. */
  processes(): readonly SeenProcess[];
  /** Bodies that other workers keep of these requests. */
  bodies(requestIds: readonly string[]): Promise<BodiesByRequest>;
  /** Answered when other workers have written the bodies that they keep for operators, or are late. */
  bodiesWritten(): Promise<void>;
  /** A refused request that another worker remembers. */
  findRefused(...of: Parameters<Refusals['find']>): Promise<UsageEvent | null>;
  /** Frames of a response that runs in another worker. */
  framesOfRun: NamedRuns['framesOfRun'];
  cancelRun: NamedRuns['cancelRun'];
  keepItems(tenant: string, items: readonly JsonObject[]): void;
  findItems(tenant: string, references: readonly ItemReference[]): Readonly<Record<string, JsonObject>>;
}

export interface WorkerOffers extends NamedRuns {
  /** Takes a checked configuration into use. */
  configure(config: Config): Promise<void>;
  /** Writes into the audit log that the configuration was read again, for another reason than a call of the admin API. */
  noteReload(reload: NotedReload): Promise<void>;
  measure(): Promise<SeriesValues>;
  facts(): Promise<ProcessFacts>;
  /** Bodies that it keeps of these requests. */
  bodies(requestIds: readonly string[]): Promise<BodiesByRequest>;
  /** Answers when it has written the bodies that it keeps for operators. */
  bodiesWritten(): Promise<void>;
  /** One that it remembers. */
  findRefused: Refusals['find'];
  /** Brings accounts, keys and what is set up at run time up to the store. */
  lookAgain(): Promise<void>;
  /** Hints that others have learnt of upstreams. */
  takeHints(hints: readonly HealthHint[]): void;
  stand(standing: Standing): void;
  /** Other workers hold so much more of what all callers share. */
  heldElsewhere(name: string, by: number): void;
  /** The worker of this boot is dead, and the books have all that it said. */
  died(boot: string): void;
  /** Other workers have stored these. */
  storedElsewhere(changes: readonly StoredChange[]): void;
  /** How many calls of this name run here. */
  runningCalls(name: string): number;
  endCalls(name: string): void;
  /** Answers when all that was said before is on its way. */
  delivered(): void;
  /** Ends it as `Gateway.close` does. */
  stop(graceMs: number, delayMs: number): void;
}

/** The variable by which a process knows that it is a worker. */
export const workerVariable = 'CULVERT_WORKER';
/** Descriptor of a worker's stream to the embedded vectors. */
export const vectorsStream = 4;
/** Descriptor of the port in a worker, where the primary holds it. */
export const heldPort = 5;

/** The way of a worker to its primary. */
export interface Seat {
  readonly given: Given;
  readonly standing: Standing;
  /** The way to the books of the embedded storage. */
  readonly books: Pick<Link<BooksOffers>, 'ask' | 'notify' | 'pending'>;
  /** Whether the process of this boot is over, and what it began with it. */
  isOver(boot: string): boolean;
  /** This worker in leases of durable jobs. */
  readonly jobWorker: JobWorker;
  /** From now on it does what the primary asks for. */
  serve(
    offers: Pick<
      WorkerOffers,
      'configure' | 'noteReload' | 'measure' | 'facts' | 'bodies' | 'findRefused' | 'lookAgain' | 'takeHints' | 'stop'
    >,
    url: string,
    onReady: () => void,
  ): void;
  primary: Remote<PrimaryOffers>;
  hint: PrimaryOffers['hint'];
  /** Holdings of other workers of what all callers share. */
  elsewhere: Elsewhere;
  shareStored: StorageElsewhere['shareStored'];
  shareCalls: ShareCalls;
  /** The least level of log messages of MCP by tenant. */
  logLevels: ShortTexts;
  /** Others wait for `written`; returns how this worker waits for the others'. */
  shareBodyWrites(written: WorkerOffers['bodiesWritten']): PrimaryOffers['bodiesWritten'];
  shareRuns: ShareRuns;
  /** Items of converted answers, which all workers find. */
  keepItems: PrimaryOffers['keepItems'];
  findItems(...of: Parameters<PrimaryOffers['findItems']>): Promise<ReturnType<PrimaryOffers['findItems']>>;
}

/** So many items are asked for at once: callers may name hundreds of thousands, and the primary serves others between. */
const turnItemsMax = 1_000;

/** Callers go on at once with an answer of another worker, whose items may still be on their way to the primary. */
const lateItemsMs = 100;

/** Asks for each item in turns, and a moment later once more for those that a request needs and that are not there. */
export function findInTurns(ask: Seat['findItems']): Seat['findItems'] {
  return async (tenant, references) => {
    const distinct = [...new Map(references.map((reference) => [reference.id, reference])).values()];
    const found: Record<string, JsonObject> = {};
    const look = async (some: readonly ItemReference[]) => {
      for (let from = 0; from < some.length; from += turnItemsMax)
        Object.assign(found, await ask(tenant, some.slice(from, from + turnItemsMax)));
    };
    await look(distinct);
    const late = distinct.filter(({ id, use }) => use === 'needed' && !Object.hasOwn(found, id));
    if (late.length > 0) await pause(lateItemsMs).then(() => look(late));
    return found;
  };
}

/** A configuration as the primary sends it, without the built-in plan, which is known by its identity. */
export function sentConfig(config: Config): Config {
  return { ...config, plans: writtenPlans(config.plans) };
}

function withBuiltIn(config: Config): Config {
  return { ...config, plans: withBuiltInPlan(config.plans) };
}

/** Asks the primary what to start with, once the code is there: a spare waits so for its place. */
export async function takeSeat(loaded: Promise<unknown>): Promise<Seat> {
  const standing: Standing = { ready: false, trouble: null, ended: [], books: null };
  const deaths = createKnownDeaths();
  let onReady = () => {};
  const offers: Partial<WorkerOffers> = {
    stand(next) {
      const isFirst = next.ready && !standing.ready;
      Object.assign(standing, next);
      if (isFirst) onReady();
    },
    delivered() {},
    died: deaths.note,
    heldElsewhere: (name, by) => elsewhere.receive(name, by),
  };
  const primary = createLink<PrimaryOffers>((message) => void process.send?.(message, () => undefined), offers);
  const all = remoteOf<PrimaryOffers>((name, args) => primary.ask(name, ...(args as never)));
  const elsewhere = createElsewhere((name, by) => primary.notify('holds', name, by));
  process.on('message', primary.take);
  // The primary alone decides when workers end: a supervisor or a terminal signals all of a group.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
  await loaded;
  const begun = await primary.ask('begin');
  const given = { ...begun, config: withBuiltIn(begun.config) };
  Object.assign(standing, given.standing);
  // A data folder has one server at a time; over PostgreSQL there are others.
  const living = given.standing.books === null ? null : `${serverOf(given.boot)}.`;
  return {
    given,
    standing,
    books: primary,
    jobWorker: { name: given.boot, living, onDeath: deaths.onDeath },
    isOver: (boot) => isBootOver(boot, given.boot, standing.ended),
    serve(more, url, ready) {
      Object.assign(offers, more, { configure: (next: Config) => more.configure(withBuiltIn(next)) });
      onReady = ready;
      primary.notify('serving', url);
    },
    primary: all,
    hint: (hints) => primary.notify('hint', hints),
    elsewhere,
    shareStored(take) {
      offers.storedElsewhere = take;
      return (changes) => primary.notify('stored', changes);
    },
    shareCalls(calls) {
      Object.assign(offers, { runningCalls: calls.count, endCalls: calls.end });
      return (name) => primary.notify('cancelCall', name);
    },
    logLevels: { keep: all.keepLogLevel, find: all.findLogLevel },
    shareBodyWrites(written) {
      offers.bodiesWritten = written;
      return all.bodiesWritten;
    },
    shareRuns(runs) {
      Object.assign(offers, runs);
      return all;
    },
    keepItems: (tenant, items) => primary.notify('keepItems', tenant, items),
    findItems: findInTurns(all.findItems),
  };
}
