import { join } from 'node:path';
import type { AccountStore } from '../books/auth/account-store.ts';
import { createSetup } from '../books/auth/setup.ts';
import { createNotices } from '../books/metering/notices/notices.ts';
import { createRefusals } from '../books/metering/refusals.ts';
import type { Config } from '../config/schema.ts';
import type { LocalServer } from '../formats/providers/probe-local.ts';
import type { Door } from '../http/connections/door.ts';
import { urlOf, whyNotListening } from '../http/connections/listening.ts';
import type { Route } from '../http/exchange.ts';
import { createGatewayServer, type GatewayServer } from '../http/server.ts';
import { createRecentBodies, type RecentBodies } from '../inference/endpoints/recent-bodies.ts';
import { ProviderObjects } from '../inference/families/chat/provider-objects.ts';
import { createAliasWatch, reportFinished } from '../inference/models/ended-requests.ts';
import { createRollbacks, KnownOut } from '../inference/models/rollbacks.ts';
import type { Snapshots } from '../inference/models/snapshot.ts';
import { addTargetGauges } from '../inference/models/target-gauges.ts';
import { pruneByTime } from '../kernel/by-time.ts';
import { type Clock, systemClock } from '../kernel/clock.ts';
import { every } from '../kernel/every.ts';
import type { Trace } from '../kernel/trace.ts';
import { openSpool } from '../net/spool.ts';
import { requestLog } from '../observe/log.ts';
import { createMetrics } from '../observe/metrics.ts';
import { serverOf } from '../processes/boot-names.ts';
import { StartRefused } from '../processes/lifetime.ts';
import type { ThisProcess } from '../processes/this-process.ts';
import { watchUnopened } from '../processes/unopened-entries.ts';
import type { WorkerOffers } from '../processes/worker-seat.ts';
import type { Health } from '../routing/health.ts';
import { openCache } from '../stores/cache/open-cache.ts';
import type { Stores } from '../stores/opened-stores.ts';
import { createWebhookPost } from '../upstream/transport/post-webhook.ts';
import { environmentProxies, type ProxyOf } from '../upstream/transport/proxy.ts';
import { createSystemResolver } from '../upstream/transport/resolve-name.ts';
import { tracedPost } from '../upstream/transport/traced-post.ts';
import { type Books, openBooks } from './books.ts';
import { type Callers, openCallers } from './callers.ts';
import { openDashboard } from './dashboard.ts';
import { openFiles } from './files.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { measure, measureLoad, reportRefused } from './report-refused.ts';
import { checkMail, openSenders } from './reports.ts';
import { openRoutes } from './routes.ts';
import type { RoutesParts } from './routes-parts.ts';
import { openServices } from './services.ts';
import { openSinks, orderFor } from './sinks.ts';
import { openStorage } from './storage.ts';
import { startTelemetry } from './telemetry.ts';
import { openUpstreams } from './upstreams.ts';
import { openVectors } from './vectors.ts';

export interface Gateway
  extends Pick<Callers, 'adminKey' | 'firstKeyFile' | 'issueFirstKey'>,
    Pick<WorkerOffers, 'noteReload' | 'measure' | 'facts' | 'findRefused' | 'lookAgain' | 'takeHints'> {
  url: string;
  /** The way in for requests that no port of ours received. */
  door: Door;
  /** Opens the port, where the start did not (`GatewayOptions.listens`), and gives its URL. */
  listen(host: string, port: number): Promise<string>;
  /** Checks of each path before its handler runs. */
  routes: readonly Route[];
  /** A link that logs a browser in, once and for ten minutes; null: there is no dashboard, or no admin key. */
  loginLink(): Promise<string | null>;
  /** Whether it serves a dashboard. */
  dashboard: boolean;
  readonly snapshots: Snapshots;
  /** Takes a checked configuration into use; running requests finish on the old one. */
  reconfigure(config: Config): Promise<void>;
  /** Adds servers that were confirmed after the start. */
  useLocals(locals: readonly LocalServer[]): Promise<void>;
  /** Resolves when the first look at every provider's list of models is done. */
  modelsKnown: Promise<void>;
  /** Bodies of requests that this process keeps in memory. */
  recentBodies: RecentBodies['findAll'];
  health: Health;
  /**
   * `/readyz` says no, and all callers are served for `delayMs` (default: 0). Then the port closes, running streams get
   * `graceMs`, everything is settled, flushed and closed.
   */
  close(graceMs: number, delayMs?: number): Promise<void>;
}

/** How soon an unreachable model is reported. */
const aliasLookMs = 1_000;

/** Gets the function that closes each part, as soon as it is open. */
type Opened = (close: () => Promise<void> | void) => void;

/** Puts the rooms together and listens. Throws `StartRefused` for what the operator can correct. */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const open: (() => Promise<void> | void)[] = [];
  /** The last first: at the end, or when the start is given up. */
  const closeAll = async () => {
    for (const close of open.toReversed()) await close();
  };
  try {
    return await startGateway(options, (close) => void open.push(close), closeAll);
  } catch (error) {
    await closeAll();
    throw error;
  }
}

async function startGateway(options: GatewayOptions, opened: Opened, closeAll: () => Promise<void>): Promise<Gateway> {
  const { config, env, log, version, seat, greets = false } = options;
  checkMail(config);
  const clock = systemClock;
  const proxyOf = proxiesOf(env);
  const onTrouble = (message: string, level: 'error' | 'info' = 'error') => log[level](message);
  const recentBodies = createRecentBodies();
  const books = await openBooks({ ...options, clock, order: orderFor(config, recentBodies), onTrouble, opened });
  const { folder, stores, secrets } = books;
  const { ledger } = stores;
  const setup = createSetup({ config, env, secrets, log });
  const callers = await openCallers({ config, books, onStored: setup.take, seat, greets, clock, log });
  opened(callers.stop);
  const { plans } = callers;
  const spool = await openSpool(join(folder.path, seat?.given.spool ?? 'spool'), seat);
  const storage = openStorage({
    ...{ folder, clock, others: seat ?? null },
    measure: stores.storageSizes,
    allowed: (account) => plans().plan(callers.planOf(account)).storageBytes,
    vectors: (account) => vectors.storedBytes(account),
    uploads: spool.bytesOf,
    reserve: () => upstreams.snapshots.current.config.storage.reserve ?? null,
  });
  opened(storage.stop);
  const cache = openCache({ config, folder, stores, secrets, room: storage.room, clock, onTrouble });
  opened(cache.close);
  // As early as it may: a thread that takes up kept indexes starts in parallel to all that follows.
  const onStored = (bytes: number) => storage.room.taken(bytes);
  const vectors = await openVectors({ ...options, folder, stores, proxyOf, clock, starts: 'now', onStored, onTrouble });
  opened(vectors.close);
  const requests = await ledger.recover();
  if (requests > 0) log.warn({ requests }, 'requests of a crashed process were charged with their estimates');
  const metrics = createMetrics();
  const { traces, close: closeTelemetry } = await startTelemetry(config, options);
  const inForce = { ...options, config: setup.inForce() };
  await cache.prepare(inForce.config);
  const out = new KnownOut();
  const upstreams = await openUpstreams({ options: inForce, folder, callers, out, proxyOf, clock, metrics, opened });
  setup.begin((next, asking) => cache.prepare(next).then(() => upstreams.reconfigure(next, asking)));
  const { snapshots, transport, health } = upstreams;
  const post = tracedPost(createWebhookPost(transport), traces, clock);
  const { mail, send } = openSenders({ config: () => snapshots.current.config, post, clock });
  const notices = createNotices({ store: stores.notices, plans, clock, post, send, onTrouble });
  const resolver = createSystemResolver();
  const resolve = options.resolve ?? (async (hostname: string) => (await resolver(hostname)).addresses);
  const aliases = createAliasWatch({ models: () => snapshots.current.models, health, clock, log });
  opened(every(aliasLookMs, aliases.look));
  const objects = new ProviderObjects({ open: stores.providerObjects, clock, snapshots, onTrouble });
  opened(() => objects.close());
  opened(notices.stop);
  // No request is left. Only checks of a provider's models or health may run, and nobody waits for them.
  opened(() => transport.destroy());
  const sinks = await openSinks({ config, store: ledger.records, post, env, proxyOf, snapshots, clock, onTrouble });
  const files = openFiles({ config, books, env, proxyOf, snapshots, clock, onTrouble, opened });
  const finished = reportFinished({ log, logRequest: requestLog(log), metrics, aliases }, snapshots, upstreams.hooks);
  const common = { ...upstreams, recentBodies, books, cache, clock, plans, storage, sinks, notices, send, mail };
  const { promise: listening, resolve: listens } = Promise.withResolvers<string>();
  const shared = { ...common, vectors, listening, resolve, proxyOf, log, onTrouble, opened, traces };
  const all = { ...shared, options, callers, metrics };
  const opening = openServices({ ...all, files, objects, finished, spool });
  const { server, dashboard, ...served } = await openServer({ ...all, ...opening, setup });
  opened(await createRollbacks({ snapshots, book: ledger.experiments, out, clock, log, metrics, onTrouble }).start());
  measure(metrics, { ledger, aliases, sinks, room: storage.room, cache: opening.services.cache, version });
  addTargetGauges(metrics, { health, snapshots, clock });

  const listen = listenBy(server, books, seat?.given.boundPort ?? null);
  const url = await addressOf(options, listen);
  listens(url);
  void notices.start();
  sinks.start();
  opened(sinks.stop);
  // A bucket that refuses is known before a caller needs it, and what a crash left in it goes.
  files.sweep().catch(() => undefined);
  const swept = [stores.replies, objects, opening.services.responses, files, opening.services.bodyKeeper];
  const stopPruning = prune({ stores, swept, snapshots, clock, log });

  return {
    ...served,
    url,
    door: server.door,
    listen,
    adminKey: callers.adminKey,
    issueFirstKey: callers.issueFirstKey,
    firstKeyFile: callers.firstKeyFile,
    loginLink: async () => (await dashboard?.loginLink(snapshots.current.config.server.public_url ?? url)) ?? null,
    dashboard: dashboard !== null,
    snapshots,
    modelsKnown: upstreams.look(),
    measure: metrics.values,
    async reconfigure(next) {
      books.login(next);
      callers.declare(next);
      await setup.declare(next);
    },
    noteReload: reloadNoter(books.stores.accounts, clock, options.configFile),
    useLocals: upstreams.useLocals,
    async close(graceMs, delayMs = 0) {
      upstreams.stopLooking();
      stopPruning();
      const untilMs = clock.monotonicMs() + delayMs + graceMs;
      await server.drain({ delayMs, graceMs });
      await closeAll();
      await closeTelemetry(untilMs - clock.monotonicMs());
    },
  };
}

/** Where it listens; where it will, if it does not yet. */
async function addressOf({ config, listens }: GatewayOptions, listen: Gateway['listen']): Promise<string> {
  const { host, port, public_url } = config.server;
  return listens === 'when-asked' ? (public_url ?? urlOf(host, port)) : await listen(host, port);
}

function reloadNoter({ apply }: Pick<AccountStore, 'apply'>, clock: Clock, file: string | null): Gateway['noteReload'] {
  const audit = { actor: 'server', action: 'config.reload', subject: file ?? 'configuration', before: null };
  return async (after) => void (await apply([], { atMs: clock.wallMs(), ...audit, after }));
}

function listenBy(server: GatewayServer, books: Pick<Books, 'announce'>, bound: number | null): Gateway['listen'] {
  return async (host, port) => {
    const address = await server.listen(host, port, bound).catch((error: unknown) => {
      throw new StartRefused(whyNotListening(error, host, port));
    });
    const url = urlOf(host, address.port);
    books.announce(url);
    return url;
  };
}

/** Shares what is learnt of upstreams, from now on, with whom there is. */
async function hintTaker(
  parts: Pick<RoutesParts, 'options' | 'books' | 'services' | 'opened'>,
): Promise<Gateway['takeHints']> {
  const { options, books, services, opened } = parts;
  const { bootId, hints } = books.stores;
  if (options.seat === undefined && hints === null) return () => {};
  const { shareHints } = await import('../routing/share-hints.ts');
  const server = serverOf(options.seat?.given.boot ?? bootId);
  const send = options.seat?.hint ?? null;
  const { receive, stop } = shareHints(services.health, services.clock, { server, send, channel: hints });
  opened(stop);
  return receive;
}

/** Removes what is older than its retention, from now on. */
function prune({
  stores,
  swept,
  snapshots,
  ...parts
}: Pick<Parameters<typeof pruneByTime>[0], 'clock' | 'log'> & {
  stores: Pick<Stores, 'ledger' | 'pages'>;
  swept: readonly { sweep(nowMs: number): Promise<unknown> }[];
  readonly snapshots: Snapshots;
}): () => void {
  return pruneByTime({
    ...parts,
    prune(nowMs) {
      const beforeMs = nowMs - snapshots.current.config.storage.retention;
      const { ledger, pages } = stores;
      return [ledger.prune(beforeMs), pages.prune(beforeMs), ...swept.map((one) => one.sweep(nowMs))];
    },
  });
}

/** All routes and the server that has them, which does not listen yet. */
async function openServer(
  parts: Omit<
    RoutesParts,
    'dashboard' | 'refusals' | 'bodies' | 'draining' | 'running' | 'processes' | 'unopened' | 'onUnexpected'
  >,
) {
  const { options, services, callers, books, metrics } = parts;
  const { config, version, pagesFolder = null, log } = options;
  const { clock, admission, snapshots } = services;
  const refusals = createRefusals(books.stores.ledger);
  const bodies = services.uploads.room;
  const onUnexpected = (error: unknown, requestId: string, trace: Trace | null) =>
    log.error(
      { requestId, trace_id: trace?.id, error: error instanceof Error ? error.stack : String(error) },
      'unexpected error',
    );
  const { stores, secrets } = books;
  const dashboard = config.admin.dashboard
    ? openDashboard({ callers, stores, secrets, snapshots, clock, version, pagesFolder, onTrouble: parts.onTrouble })
    : null;
  let known: ThisProcess | null = null;
  async function soleProcess(): Promise<ThisProcess> {
    const { createThisProcess } = await import('../processes/this-process.ts');
    known ??= createThisProcess(parts, () => server);
    return known;
  }
  const routes = await openRoutes({
    ...parts,
    dashboard,
    refusals,
    bodies,
    onUnexpected,
    draining: () => server.draining || options.seat?.standing.ready === false || callers.awaitsFirstKey(),
    running: () => server.running,
    processes: async () => (await soleProcess()).withOthers(),
    unopened: watchUnopened(parts),
  });
  const server = createGatewayServer({
    clock,
    keys: callers.ring,
    lookForKey: callers.lookForKey,
    sessions: dashboard?.door ?? null,
    tally: stores.tally,
    admission,
    bodies,
    elsewhere: options.seat?.elsewhere ?? null,
    routes,
    snapshots,
    traces: services.traces,
    onRefused: reportRefused(log, metrics, refusals),
    onDropped: (connections) =>
      log.warn(
        { connections },
        'connections of callers were closed unread, because this process has no open files left for them (ulimit -n)',
      ),
    onUnexpected,
  });
  measureLoad(metrics, server);
  const facts = async () => (await soleProcess()).facts();
  stores.replicas?.report(facts);
  const lookAgain = () => parts.callers.look().then(() => parts.setup.settled());
  const takeHints = await hintTaker(parts);
  const found = { recentBodies: parts.recentBodies.findAll, findRefused: refusals.find };
  return { server, routes, dashboard, facts, ...found, health: services.health, lookAgain, takeHints };
}

function proxiesOf(env: GatewayOptions['env']): ProxyOf {
  try {
    return environmentProxies(env);
  } catch (error) {
    throw new StartRefused((error as Error).message);
  }
}
