import { randomBytes } from 'node:crypto';
import { createAdminApi } from './admin/create-admin-api.ts';
import type { AdminParts } from './admin/parts.ts';
import type { Stored } from './auth/account-store.ts';
import { mintAdminKey } from './auth/api-key.ts';
import { declaredKeys } from './auth/declared-keys.ts';
import { issueFirstKey } from './auth/issue-key.ts';
import { createKeyRing } from './auth/key-ring.ts';
import { watchKeys } from './auth/watch-keys.ts';
import { isLoopback } from './config/loopback-host.ts';
import type { Config } from './config/schema.ts';
import type { Route } from './http/exchange.ts';
import { urlOf, whyNotListening } from './http/listening.ts';
import { adminRoutes } from './http/routes/admin.ts';
import { chatRoute } from './http/routes/chat.ts';
import { metricsRoute } from './http/routes/metrics.ts';
import { modelRoutes } from './http/routes/models.ts';
import { openApiRoute } from './http/routes/openapi.ts';
import { requestRoute } from './http/routes/requests.ts';
import { statusRoutes } from './http/routes/status.ts';
import { usageRoute } from './http/routes/usage.ts';
import { createGatewayServer } from './http/server.ts';
import { buildSnapshot, simulatorName } from './inference/pipeline/build-snapshot.ts';
import { createConversationReader } from './inference/pipeline/conversation-reader.ts';
import { createConversationWorkers } from './inference/pipeline/conversation-workers.ts';
import { createHealthChecks } from './inference/pipeline/health-checks.ts';
import { createIdempotency } from './inference/pipeline/idempotency.ts';
import { createKnownModels } from './inference/pipeline/known-models.ts';
import { createModelRefresh } from './inference/pipeline/model-refresh.ts';
import type { Services, Snapshot } from './inference/pipeline/services.ts';
import type { LocalServer } from './inference/providers/probe-local.ts';
import { createHealth } from './inference/routing/health.ts';
import { createRetryBudget } from './inference/routing/retry-budget.ts';
import { createTransport } from './inference/transport/send.ts';
import { systemClock } from './kernel/clock.ts';
import { systemRandom } from './kernel/random.ts';
import { createSealer } from './kernel/seal.ts';
import { openStores, StartRefused } from './main-stores.ts';
import { createPlanBook } from './metering/create-plan-book.ts';
import { createLimitedAdmission } from './metering/limited-admission.ts';
import { createNotices } from './metering/notices.ts';
import type { PlanBook } from './metering/plan-book.ts';
import { createSettledLimits } from './metering/settled-limits.ts';
import { createSettlement } from './metering/settlement.ts';
import { postWebhook } from './net/post-webhook.ts';
import type { Log } from './observe/log.ts';
import { createMetrics } from './observe/metrics.ts';
import { requestLog } from './observe/request-line.ts';
import {
  type DataFolder,
  ensureAdminKey,
  ensureSecret,
  openDataFolder,
  readIfThere,
  replaceFile,
} from './stores/sqlite/data-folder.ts';
import { lockDataFolder } from './stores/sqlite/data-folder-lock.ts';

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
}

export interface Gateway {
  url: string;
  /** The whole route table: what each path demands before its handler runs. */
  routes: readonly Route[];
  /** Made at this start, to be shown once; null when there was one already. */
  newAdminKey: string | null;
  newUserKey: string | null;
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

const firstPruneMs = 60_000;
const pruneIntervalMs = 3_600_000;

/** Puts the rooms together and listens. Throws `StartRefused` for what the operator can mend. */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { env, log, version } = options;
  let { config } = options;
  let locals = options.locals;
  const clock = systemClock;
  const loopback = isLoopback(config.server.host);

  const folder = openDataFolder(config.storage.data_dir);
  const lock = lockDataFolder(folder, urlOf(config.server.host, config.server.port));
  if (lock.kind === 'held') throw new StartRefused(lock.message);

  const secret = config.storage.secret ?? secretOf(config, folder);
  const onTrouble = (message: string) => log.error(message);
  const stores = await openStores({ config, folder, clock, onTrouble }).catch((error: unknown) => {
    lock.release();
    throw error;
  });
  const { ledger, counters } = stores;
  const generatedAdmin = config.admin.key === undefined && loopback ? ensureAdminKey(folder, mintAdminKey) : null;
  const declared = (from: Config) => declaredKeys(from, generatedAdmin?.key ?? null);
  const ring = createKeyRing(clock, declared(config));
  let stored: Stored = { accounts: [], keys: [], plans: [] };
  let plans = bookOfPlans();

  function bookOfPlans(): PlanBook {
    const onUnreadable = (name: string) =>
      log.warn({ plan: name }, 'a stored plan cannot be read any more: its accounts have the default plan');
    return createPlanBook({ config, stored: stored.plans, onUnreadable });
  }

  const keyWatch = watchKeys(
    stores.accounts,
    (next) => {
      stored = next;
      // Before the ring, whose new principals ask the book for their limits.
      plans = bookOfPlans();
      ring.restock(next);
    },
    (error) => log.error({ error: String(error) }, 'keys could not be read'),
  );
  await keyWatch.poll();
  let newUserKey: string | null = null;
  if (ring.userKeys() === 0) {
    if (!loopback) {
      await stores.close();
      lock.release();
      throw new StartRefused(
        `No key is configured, and ${config.server.host} can be reached from other machines. Create one first: culvert keys create --account default --name first`,
      );
    }
    newUserKey = (await issueFirstKey(stores.accounts, config.default_plan, clock.wallMs()))?.minted.secret ?? null;
    await keyWatch.poll();
  }
  const recovered = await ledger.recover();
  if (recovered > 0) log.warn({ requests: recovered }, 'requests of a crashed process were charged at their estimate');

  const metrics = createMetrics();
  const transport = createTransport();
  const health = createHealth({ clock });
  const known = createKnownModels({
    transport,
    recall: () => readIfThere(folder.modelsFile) ?? null,
    keep(text) {
      try {
        replaceFile(folder.modelsFile, text);
      } catch (error) {
        // Only the next start would miss it.
        log.warn({ error: String(error) }, 'the lists of models could not be remembered');
      }
    },
  });
  let simulator: { url: string; close(): Promise<void> } | null = null;
  const healthChecks = createHealthChecks({ clock, transport, health });
  let snapshot = await takeSnapshot();
  healthChecks.follow(snapshot);

  async function takeSnapshot(): Promise<Snapshot> {
    const built = buildSnapshot({
      config,
      env,
      locals,
      known,
      plans: () => plans,
      simulatorUrl: simulator?.url ?? null,
      nowMs: clock.wallMs(),
    });
    if (built.kind === 'needs-simulator') {
      // Loaded at need: with a provider configured it costs nothing.
      const { createSimulator } = await import('./simulator/simulator.ts');
      const started = createSimulator({ purpose: 'zero-key', name: simulatorName });
      const { url } = await started.listen({ host: '127.0.0.1', port: 0 });
      simulator = { url, close: () => started.close() };
      return takeSnapshot();
    }
    for (const problem of built.problems) log.warn(problem);
    return built.snapshot;
  }

  async function renew(): Promise<void> {
    const next = await takeSnapshot();
    snapshot = next;
    health.retain(next.models.targets());
    healthChecks.follow(next);
  }

  const modelRefresh = createModelRefresh({
    known,
    snapshot: () => snapshot,
    renew,
    onTrouble(provider, message, weight) {
      if (weight === 'unheard') log.warn(`${message}; its models are not known, and it is asked again`);
      else log.debug({ provider }, message);
    },
    onError: (error) => log.error({ error: String(error) }, 'models could not be listed'),
  });

  const notices = createNotices({ store: stores.notices, plans: () => plans, clock, post: postWebhook, onTrouble });
  const logRequest = requestLog(log);
  const services: Services = {
    clock,
    random: systemRandom,
    transport,
    health,
    retryBudget: createRetryBudget(),
    admission: createLimitedAdmission({
      counters,
      ledger,
      plans: () => plans,
      bootId: stores.bootId,
      clock,
      observe: notices.observe,
    }),
    settlement: createSettlement(
      ledger,
      createSettledLimits({ counters, plans: () => plans, observe: notices.observe }),
    ),
    idempotency: createIdempotency({
      store: stores.replies,
      sealer: createSealer(secret, 'idempotent replies'),
      bootId: stores.bootId,
      clock,
      onTrouble,
    }),
    conversations: createConversationReader(createConversationWorkers()),
    snapshot: () => snapshot,
    finished(event) {
      metrics.finished(event);
      const attempts = event.route.attempts.length;
      logRequest(event, attempts);
      if (event.class === 'ok' && attempts === 1) return;
      for (const attempt of event.route.attempts) {
        // Failover hides it from every caller, and no retry mends it: the operator must hear of it here.
        if (attempt.class === 'bad_credential' || attempt.class === 'quota_exhausted') {
          const { provider, credential, status: answered } = attempt;
          log.warn(
            { requestId: event.requestId, provider, credential, status: answered, class: attempt.class },
            'a credential was refused',
          );
        }
      }
    },
  };

  const troubles = () => ({ ...stores.troubles(), keys: keyWatch.trouble() });
  const admin = createAdminApi({
    clock,
    version,
    store: stores.accounts,
    refresh: () => keyWatch.poll(),
    ledger,
    plans: () => plans,
    counters,
    snapshot: () => snapshot,
    health,
    transport,
    configFile: options.configFile,
    checkConfig: options.checkConfig,
    reload: options.reload,
    troubles,
    onStoreError: (error) => log.error({ error: String(error) }, 'the admin API could not ask a store'),
  });
  const routes: readonly Route[] = [
    chatRoute(services),
    ...modelRoutes(services),
    requestRoute(ledger, clock),
    usageRoute({ counters, ledger, plans: () => plans, clock }),
    ...adminRoutes(admin, clock),
    openApiRoute({ admin: () => admin.openApi(), routes: () => routes }),
    ...statusRoutes({
      services,
      version,
      draining: () => server.draining,
      storeTrouble: () => Object.values(troubles()).find((trouble) => trouble !== null) ?? null,
    }),
    ...(config.telemetry.prometheus ? [metricsRoute(() => metrics.render())] : []),
  ];
  const server = createGatewayServer({
    clock,
    admission: services.admission,
    routes,
    authenticate: (headers, addressOf) => ring.authenticate(headers, addressOf),
    authenticateAdmin(headers) {
      const answer = ring.authenticateAdmin(headers);
      return answer === 'admin' ? null : answer;
    },
    corsOrigins: () => snapshot.config.server.cors_origins,
    trustedProxies: () => snapshot.config.server.trusted_proxies,
    onUnexpected: (error, requestId) =>
      log.error({ requestId, error: error instanceof Error ? error.stack : String(error) }, 'unexpected error'),
  });

  const gauges = () => ledger.gauges();
  metrics.gauge('culvert_ledger_queued_rows', 'Ledger rows waiting for a commit.', () => gauges().queued);
  metrics.gauge('culvert_open_reservations', 'Reservations that are not settled.', () => gauges().open);

  let address: { host: string; port: number };
  try {
    address = await server.listen(config.server.host, config.server.port);
  } catch (error) {
    await closeStores();
    throw new StartRefused(whyNotListening(error, config.server.host, config.server.port));
  }
  const url = urlOf(config.server.host, address.port);
  lock.announce(url);
  void notices.start();

  const modelsKnown = modelRefresh.look();
  const prune = () => {
    const nowMs = clock.wallMs();
    Promise.all([ledger.prune(nowMs - snapshot.config.storage.retention), stores.replies.sweep(nowMs)]).catch(
      (error: unknown) => log.error({ error: String(error) }, 'old requests could not be removed'),
    );
  };
  // Soon after the start too: a server that is restarted every hour would keep everything for ever.
  const firstPrune = setTimeout(prune, firstPruneMs);
  const pruneTimer = setInterval(prune, pruneIntervalMs);

  async function closeStores(): Promise<void> {
    keyWatch.stop();
    healthChecks.stop();
    await services.conversations.close();
    await simulator?.close();
    // No request is left; what runs is a look at a provider's models or health, which nobody waits for.
    transport.destroy();
    await notices.stop();
    await stores.close();
    if (lock.kind === 'locked') lock.release();
  }

  return {
    url,
    routes,
    newAdminKey: generatedAdmin?.created ? generatedAdmin.key : null,
    newUserKey,
    snapshot: () => snapshot,
    modelsKnown,
    async reconfigure(next) {
      config = next;
      plans = bookOfPlans();
      ring.declare(declared(next));
      await renew();
      await modelRefresh.look();
    },
    async useLocals(more) {
      locals = [...locals, ...more];
      await renew();
      await modelRefresh.look();
    },
    async close(graceMs) {
      modelRefresh.stop();
      clearTimeout(firstPrune);
      clearInterval(pruneTimer);
      await server.drain(graceMs);
      await closeStores();
    },
  };
}

/** Where replicas share a database they must share the secret too: what one seals another opens. */
function secretOf({ storage }: Config, folder: DataFolder): string {
  if (storage.database === 'sqlite') return ensureSecret(folder, () => randomBytes(32).toString('base64'));
  throw new StartRefused(
    'storage.secret is needed with PostgreSQL, the same on every replica: openssl rand -base64 32 makes one.',
  );
}
