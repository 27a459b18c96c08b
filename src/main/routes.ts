import type { AdminApi } from '../admin/admin-api.ts';
import { createClientSecrets } from '../auth/client-secrets.ts';
import type { Route } from '../http/exchange.ts';
import { adminRoutes } from '../http/routes/admin.ts';
import { chatRoute } from '../http/routes/chat.ts';
import { docsRoutes } from '../http/routes/docs.ts';
import { embeddingsRoute } from '../http/routes/embeddings.ts';
import { firecrawlAccountRoutes } from '../http/routes/firecrawl-account.ts';
import { forwardedRoutes } from '../http/routes/forwarded.ts';
import { geminiRoutes } from '../http/routes/gemini.ts';
import { healthRoutes } from '../http/routes/health.ts';
import { imageRoutes } from '../http/routes/images.ts';
import { messagesRoutes } from '../http/routes/messages.ts';
import { metricsRoute } from '../http/routes/metrics.ts';
import { modelRoutes } from '../http/routes/models.ts';
import { openApiRoute } from '../http/routes/openapi.ts';
import { passthroughRoutes } from '../http/routes/passthrough.ts';
import { realtimeRoutes } from '../http/routes/realtime.ts';
import { requestRoute } from '../http/routes/requests.ts';
import { responsesRoutes } from '../http/routes/responses.ts';
import { signedFilesRoute } from '../http/routes/signed-files.ts';
import { speechRoutes } from '../http/routes/speech.ts';
import { statusRoutes } from '../http/routes/status.ts';
import { transcriptionRoutes } from '../http/routes/transcriptions.ts';
import { unsupportedFirecrawlRoutes } from '../http/routes/unsupported-firecrawl.ts';
import { usageRoute } from '../http/routes/usage.ts';
import { vectorRoutes } from '../http/routes/vectors.ts';
import { videoRoutes } from '../http/routes/videos.ts';
import type { Services } from '../inference/endpoints/services.ts';
import { createVectorMeter } from '../inference/metered/meter-vectors.ts';
import { createBackgroundRuns } from '../inference/responses/background.ts';
import type { Ledger } from '../metering/ledger.ts';
import type { Refusals } from '../metering/refusals.ts';
import { createVectorOperator } from '../vectors/operator.ts';
import { openAlerts } from './alerts.ts';
import { openBatches } from './batches.ts';
import type { Books } from './books.ts';
import type { Callers } from './callers.ts';
import { createCrawlSink } from './crawl-sink.ts';
import { openCrawls } from './crawls.ts';
import { serverLooks } from './looks.ts';
import { openMcp } from './mcp.ts';
import { createPageModel } from './page-model.ts';
import { createRealtimeSteps } from './realtime-steps.ts';
import type { RoutesParts } from './routes-parts.ts';
import { createServerToolPorts } from './server-tools.ts';
import { adminSetup } from './setup.ts';
import { boundedPages } from './storage.ts';
import { openTools } from './tools.ts';

/** Every route, with the vector store and the web tools behind them. */
export async function openRoutes(parts: RoutesParts): Promise<readonly Route[]> {
  const { options, services, books, callers, setup, metrics, vectors, resolve, onTrouble } = parts;
  const { folder, stores, secrets } = books;
  const { config, version, log } = options;
  const { clock, snapshot, health, transport } = services;
  const ledger = { ...stores.ledger, find: findIn(stores.ledger, parts.refusals) };
  const { ring, plans } = callers;

  parts.storage.count({ vectors: vectors.storedBytes, uploads: services.spool.bytesOf });
  const background = opened(parts, createBackgroundRuns(services));
  const pageModel = createPageModel(services, ring);
  const tools = openTools({
    services,
    resolve,
    pages: boundedPages(stores.pages, parts.storage),
    model: pageModel,
    dataDir: folder.path,
    version,
    onAttempt: parts.metrics.searched,
    onTrouble,
  });
  parts.opened(tools.close);
  const mcp = opened(parts, openMcp(parts));
  services.serverTools.ports = createServerToolPorts({ services, tools, vectors, ...mcp });
  const crawls = openCrawls({
    services,
    config: () => snapshot().config,
    stores,
    sealer: secrets.sealer('crawls'),
    ring,
    reader: tools.reader,
    fetcher: tools.fetcher,
    threads: tools.threads,
    model: pageModel,
    resolve,
    sink: createCrawlSink({ engine: vectors, services, ring }),
    onTrouble,
  });
  parts.opened(crawls.close);

  const troubles = () => ({ ...stores.troubles(), keys: callers.trouble(), vectors: vectors.trouble() });
  const storeTrouble = () => Object.values(troubles()).find((trouble) => trouble !== null) ?? null;
  /** Loaded when it is first asked for: its schemas would cost every start some 25 ms. */
  let admin: Promise<AdminApi> | null = null;
  const adminApi = (): Promise<AdminApi> => {
    admin ??= import('../admin/create-admin-api.ts').then(({ createAdminApi }) =>
      createAdminApi({
        clock,
        version,
        store: stores.accounts,
        ...adminSetup({ setup, secrets, env: options.env, look: callers.refresh }),
        ledger,
        plans,
        counters: stores.counters,
        snapshot,
        health,
        transport,
        vectors: async () => createVectorOperator(vectors.store),
        engines: tools.engines,
        ...mcp.operated,
        sessions: parts.dashboard?.sessions ?? null,
        configFile: options.configFile,
        configText: options.configText,
        checkConfig: options.checkConfig,
        reload: options.reload,
        troubles,
        ...serverLooks(parts, { folder, snapshot, mcp: mcp.servers, troubles, clock, version }),
        onStoreError: (error) => log.error({ error: String(error) }, 'the admin API could not ask a store'),
      }),
    );
    return admin;
  };
  const signer = secrets.signer('alert ids');
  openAlerts({ ...parts, store: stores.alerts, admin: adminApi, config: () => snapshot().config, signer, clock });
  const all: readonly Route[] = [
    chatRoute(services),
    ...messagesRoutes(services),
    ...responsesRoutes(services, background),
    ...forwardedRoutes(services),
    embeddingsRoute(services),
    ...passthroughRoutes(services),
    ...soundRoutes(services, ring, secrets),
    ...imageRoutes(services),
    ...videoRoutes(services),
    signedFilesRoute(services.files),
    ...geminiRoutes(services),
    ...modelRoutes(services),
    ...vectorRoutes({ engine: vectors, meter: createVectorMeter(services), clock, bodies: parts.bodies }),
    ...tools.routes,
    ...openBatches({ ...parts, config, env: options.env }),
    ...crawls.routes,
    ...firecrawlAccountRoutes({ counters: stores.counters, ledger, plans, clock, running: crawls.running }),
    ...unsupportedFirecrawlRoutes(),
    ...mcp.routes(() => all),
    requestRoute(ledger),
    usageRoute({ counters: stores.counters, ledger, plans, storage: services.storage, clock }),
    ...adminRoutes({ handle: async (request) => (await adminApi()).handle(request) }, clock, services.bodies),
    openApiRoute({ admin: async () => (await adminApi()).openApi(), routes: () => all }),
    ...(parts.dashboard?.routes ?? []),
    ...docsRoutes(options.pagesFolder ?? null),
    ...healthRoutes({ services, draining: parts.draining, storeTrouble }),
    ...statusRoutes({ services, version, dashboard: parts.dashboard !== null, draining: parts.draining, storeTrouble }),
    ...(config.telemetry.prometheus ? [metricsRoute(() => metrics.render())] : []),
  ];
  return all;
}

function soundRoutes(services: Services, ring: Callers['ring'], secrets: Books['secrets']): Route[] {
  const steps = createRealtimeSteps(services);
  const clientSecrets = createClientSecrets(secrets.sealer('client secrets'), ring, services.clock);
  return [
    ...speechRoutes(services),
    ...transcriptionRoutes(services),
    ...realtimeRoutes({ services: { ...services, principalOf: ring.principalOf, steps }, secrets: clientSecrets }),
  ];
}

function opened<T extends { close(): Promise<void> | void }>(parts: Pick<RoutesParts, 'opened'>, part: T): T {
  parts.opened(part.close);
  return part;
}

/** Refused requests of which the ledger has no row are still known for a while. */
function findIn(ledger: Ledger, refusals: Pick<Refusals, 'find'>): Ledger['find'] {
  return async (id, account) => (await ledger.find(id, account)) ?? refusals.find(id, account);
}
