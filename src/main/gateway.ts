import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { AdminParts } from '../admin/parts.ts';
import type { Config } from '../config/schema.ts';
import type { Route } from '../http/exchange.ts';
import { urlOf, whyNotListening } from '../http/listening.ts';
import { createBodyRoom } from '../http/read-body.ts';
import { createGatewayServer } from '../http/server.ts';
import { createTranscoder } from '../inference/audio/transcode.ts';
import { createProviderObjects } from '../inference/chat/provider-objects.ts';
import { createLocalEngines } from '../inference/engines/local-engines.ts';
import { createHostedFiles } from '../inference/images/hosted-files.ts';
import { startRestLooks } from '../inference/models/health-checks.ts';
import type { Snapshot } from '../inference/models/snapshot.ts';
import type { LocalServer } from '../inference/providers/probe-local.ts';
import { createHealth } from '../inference/routing/health.ts';
import { createSilenceWatch } from '../inference/routing/silence.ts';
import { createWebhookPost } from '../inference/transport/post-webhook.ts';
import { environmentProxies, type ProxyOf } from '../inference/transport/proxy.ts';
import { createSystemResolver } from '../inference/transport/resolve-name.ts';
import { createTransport } from '../inference/transport/send.ts';
import { systemClock } from '../kernel/clock.ts';
import { createNotices } from '../metering/notices.ts';
import { createRefusals } from '../metering/refusals.ts';
import type { ResolveAddresses } from '../net/fetch-guard.ts';
import type { Log } from '../observe/log.ts';
import { createMetrics } from '../observe/metrics.ts';
import { createLocalFiles } from '../stores/files/local-folder.ts';
import { ensureSecret, openDataFolder } from '../stores/sqlite/data-folder.ts';
import { lockDataFolder } from '../stores/sqlite/data-folder-lock.ts';
import { watchDataFolder } from '../stores/sqlite/data-folder-watch.ts';
import { lookForDamage } from '../stores/sqlite/integrity-look.ts';
import { openCallers } from './callers.ts';
import { closableAccounts } from './closed-books.ts';
import { pruneByTime } from './prune-by-time.ts';
import { openRoutes } from './routes.ts';
import { openServices } from './services.ts';
import { keepSnapshot } from './snapshot.ts';
import { openStorage } from './storage.ts';
import { openStores, StartRefused, type Stores } from './stores.ts';
import { createAliasWatch, tellFinished, tellRefused } from './tell.ts';

export interface GatewayOptions {
  config: Config;
  env: Readonly<Record<string, string | undefined>>;
  log: Log;
  version: string;
  /** Servers on this machine that the operator has confirmed. */
  locals: readonly LocalServer[];
  /** As messages name it; null when there is none. */
  configFile: string | null;
  checkConfig: AdminParts['checkConfig'];
  reload: AdminParts['reload'];
  /** Who is asked for the names in callers' URLs; default: the system's name servers. */
  resolve?: ResolveAddresses;
}

export interface Gateway {
  url: string;
  /** What each path demands before its handler runs. */
  routes: readonly Route[];
  /** Made at this start, to be shown once; null when there was one already. */
  newAdminKey: string | null;
  /**
   * The secret of a newcomer's key, made now and to be shown once; null when somebody has a key already. After the
   * start: writing loads what compiles queries, and without a key nobody waits.
   */
  issueFirstKey(): Promise<string | null>;
  snapshot(): Snapshot;
  /** Takes a checked configuration into use; running requests finish on the old one. */
  reconfigure(config: Config): Promise<void>;
  /** Adds servers that were confirmed after the start. */
  useLocals(locals: readonly LocalServer[]): Promise<void>;
  /** Resolves when the first look at every provider's list of models is done. */
  modelsKnown: Promise<void>;
  /** `/readyz` says no, running streams get `graceMs`, everything is settled, flushed and closed. */
  close(graceMs: number): Promise<void>;
}

/** How soon a model that has gone down is told. */
const aliasLookMs = 1_000;

/** How often what waits for an upstream is looked at. */
const silenceLookMs = 250;

function proxiesOf(env: GatewayOptions['env']): ProxyOf {
  try {
    return environmentProxies(env);
  } catch (error) {
    throw new StartRefused((error as Error).message);
  }
}

/** Puts the rooms together and listens. Throws `StartRefused` for what the operator can mend. */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, env, log } = options;
  const clock = systemClock;
  const proxyOf = proxiesOf(env);

  const folder = openDataFolder(config.storage.data_dir);
  const lock = lockDataFolder(folder, urlOf(config.server.host, config.server.port));
  if (lock.kind === 'held') throw new StartRefused(lock.message);

  const onTrouble = (message: string) => log.error(message);
  /** How what is open by now is closed: the last first, at the end or when the start is given up. */
  const opened: (() => Promise<void> | void)[] = [lock.release];
  const closeAll = async () => {
    for (const close of opened.toReversed()) await close();
  };
  const orGiveUp = async (error: unknown): Promise<never> => {
    await closeAll();
    throw error;
  };
  const openedStores = await openStores({ config, folder, clock, onTrouble }).catch(orGiveUp);
  opened.push(openedStores.close);
  const folderWatch = watchDataFolder({ folder, tell: onTrouble, clock });
  opened.push(folderWatch.stop);
  const damage = lookForDamage({ folder, tell: onTrouble });
  opened.push(damage.stop);
  // Over PostgreSQL and Qdrant the folder holds nothing that a request is charged for or that is asked for again.
  const isTruthInFolder = config.storage.database === 'sqlite' || config.vectors.engine !== 'qdrant';
  const folderTrouble = () => (isTruthInFolder ? (folderWatch.trouble ?? damage.trouble) : null);
  const stores: Stores = {
    ...openedStores,
    accounts: closableAccounts(openedStores.accounts, folderTrouble),
    troubles: () => ({ ...openedStores.troubles(), folder: folderWatch.trouble ?? damage.trouble }),
  };
  const { ledger } = stores;
  const generatedSecret = async () => ensureSecret(folder, () => randomBytes(32).toString('base64'));
  const secret = config.storage.secret ?? (await generatedSecret().catch(orGiveUp));
  const callers = await openCallers({ config, folder, accounts: stores.accounts, clock, log }).catch(orGiveUp);
  opened.push(callers.stop);
  const { ring, plans } = callers;
  const storage = openStorage({
    folder,
    allowed: (account) => plans().plan(callers.planOf(account)).storageBytes,
    reserve: () => snapshots.current().config.storage.reserve ?? null,
    clock,
  });
  opened.push(storage.close);
  const recovered = await ledger.recover().catch(orGiveUp);
  if (recovered > 0) log.warn({ requests: recovered }, 'requests of a crashed process were charged at their estimate');

  const metrics = createMetrics();
  const transport = createTransport({ proxyOf });
  const health = createHealth({ clock });
  const transcoder = createTranscoder({ searchPath: env.PATH ?? '' });
  opened.push(transcoder.close);
  const localEngines = createLocalEngines({
    dataDir: folder.path,
    clock,
    async *decode(tenant, ...sound) {
      yield* transcoder.of(tenant).decodeFile(...sound);
    },
    searchPath: env.PATH ?? '',
  });
  opened.push(localEngines.close);
  const snapshots = await keepSnapshot({
    lookForEngines: localEngines.look,
    config,
    env,
    locals: options.locals,
    folder,
    plans,
    transport,
    health,
    clock,
    log,
  });
  opened.push(snapshots.close);
  const snapshot = snapshots.current;

  const post = createWebhookPost(transport);
  const notices = createNotices({ store: stores.notices, plans, clock, post, onTrouble });
  const resolve = createSystemResolver();
  const addressesOf = options.resolve ?? (async (hostname: string) => (await resolve(hostname)).addresses);
  const aliases = createAliasWatch({ models: () => snapshot().models, health, clock, log });
  const looking = setInterval(aliases.look, aliasLookMs);
  looking.unref();
  opened.push(() => clearInterval(looking));
  const objects = createProviderObjects({ open: stores.providerObjects, clock, onTrouble });
  const stopRestLooks = startRestLooks({ clock, transport, health, snapshot });
  const silence = createSilenceWatch(health);
  const silenceLooks = setInterval(() => silence.look(clock.monotonicMs()), silenceLookMs);
  silenceLooks.unref();
  opened.push(
    async () => clearInterval(silenceLooks),
    async () => stopRestLooks(),
  );
  opened.push(objects.close, async () => {
    // No request is left; what runs is a look at a provider's models or health, which nobody waits for.
    transport.destroy();
    await notices.stop();
  });
  const files = createHostedFiles({ store: createLocalFiles(join(folder.path, 'files')), secret, clock });
  const services = await openServices({
    clock,
    transport,
    health,
    silence,
    snapshot,
    plans,
    transcoder,
    files,
    folder,
    stores,
    storage,
    notices,
    objects,
    engines: localEngines.engines,
    log,
    secret,
    resolve: addressesOf,
    folderTrouble,
    finished: tellFinished(log, metrics, snapshot, aliases),
    onTrouble,
    opened: (close) => void opened.push(close),
  }).catch(orGiveUp);
  const onUnexpected = (error: unknown, requestId: string) =>
    log.error({ requestId, error: error instanceof Error ? error.stack : String(error) }, 'unexpected error');
  const refusals = createRefusals(ledger);
  const bodies = createBodyRoom(snapshot);
  const routes = await openRoutes({
    options,
    services,
    folder,
    storage,
    stores,
    callers,
    metrics,
    refusals,
    secret,
    resolve: addressesOf,
    draining: () => server.draining,
    bodies,
    onTrouble,
    onUnexpected,
    opened: (close) => void opened.push(close),
  }).catch(orGiveUp);
  const server = createGatewayServer({
    clock,
    admission: services.admission,
    bodies,
    onRefused: tellRefused(log, metrics, refusals),
    routes,
    keys: ring,
    snapshot,
    onDropped: (connections) =>
      log.warn(
        { connections },
        'connections of callers were closed unread: this process has no descriptors for more (ulimit -n)',
      ),
    onUnexpected,
  });

  const gauges = () => ledger.gauges();
  metrics.gauge('culvert_ledger_queued_rows', 'Ledger rows waiting for a commit.', () => gauges().queued);
  metrics.gauge('culvert_open_reservations', 'Reservations that are not settled.', () => gauges().open);

  metrics.gauges('culvert_model_down', '1 while no target of the model answers.', 'model', aliases.down);

  let address: { host: string; port: number };
  try {
    address = await server.listen(config.server.host, config.server.port);
  } catch (error) {
    await closeAll();
    throw new StartRefused(whyNotListening(error, config.server.host, config.server.port));
  }
  const url = urlOf(config.server.host, address.port);
  lock.announce(url);
  void notices.start();

  const modelsKnown = snapshots.look();
  const stopPruning = pruneByTime({
    prune(nowMs) {
      const beforeMs = nowMs - snapshot().config.storage.retention;
      return [
        ledger.prune(beforeMs),
        stores.replies.sweep(nowMs),
        objects.sweep(nowMs),
        stores.pages.prune(beforeMs),
        files.sweep(),
      ];
    },
    clock,
    log,
  });

  return {
    url,
    routes,
    newAdminKey: callers.newAdminKey,
    issueFirstKey: callers.issueFirstKey,
    snapshot,
    modelsKnown,
    async reconfigure(next) {
      callers.declare(next);
      await snapshots.reconfigure(next);
    },
    useLocals: snapshots.useLocals,
    async close(graceMs) {
      snapshots.stop();
      stopPruning();
      await server.drain(graceMs);
      await closeAll();
    },
  };
}
