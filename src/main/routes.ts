import type { AdminApi } from '../admin/admin-api.ts';
import { createAwsKeys } from '../books/auth/aws-keys.ts';
import { createRunKeys } from '../books/auth/run-keys.ts';
import { createUploadTickets } from '../books/auth/upload-tickets.ts';
import type { Ledger } from '../books/metering/ledger.ts';
import type { Refusals } from '../books/metering/refusals.ts';
import { createClientAddress } from '../http/client-address.ts';
import type { Route } from '../http/exchange.ts';
import { a2aRoutes } from '../http/routes/a2a.ts';
import { chatRoute } from '../http/routes/chat.ts';
import { embeddingsRoute } from '../http/routes/embeddings.ts';
import { ephemeralKeyRoute } from '../http/routes/ephemeral-keys.ts';
import { batchesRoutes } from '../http/routes/files/batches.ts';
import { filesRoutes } from '../http/routes/files/files.ts';
import { messageBatchesRoutes } from '../http/routes/files/message-batches.ts';
import { signedFilesRoute } from '../http/routes/files/signed-files.ts';
import { forwardedRoutes } from '../http/routes/forwarded.ts';
import { googleBatchesRoutes } from '../http/routes/google/batches.ts';
import { googleFilesRoutes } from '../http/routes/google/files.ts';
import { withGoogleFormat } from '../http/routes/google/resource-names.ts';
import { mcpRoutes } from '../http/routes/mcp.ts';
import { mcpLoginRoute } from '../http/routes/mcp-login.ts';
import { mcpUpstreamRoutes } from '../http/routes/mcp-upstream.ts';
import { soundRoutes } from '../http/routes/media/audio-routes.ts';
import { imageRoutes } from '../http/routes/media/images.ts';
import { videoRoutes } from '../http/routes/media/videos.ts';
import { messagesRoutes } from '../http/routes/messages.ts';
import { modelRoutes } from '../http/routes/models.ts';
import { passthroughRoutes } from '../http/routes/passthrough.ts';
import { feedbackRoute, requestRoute, requestsRoute } from '../http/routes/requests.ts';
import { responsesRoutes } from '../http/routes/responses.ts';
import { adminRoutes } from '../http/routes/server/admin.ts';
import { docsRoutes } from '../http/routes/server/docs.ts';
import { healthRoutes } from '../http/routes/server/health.ts';
import { metricsRoute } from '../http/routes/server/metrics.ts';
import { openApiRoute } from '../http/routes/server/openapi.ts';
import { statusRoutes } from '../http/routes/server/status.ts';
import { crawlRoutes } from '../http/routes/tools/crawl.ts';
import { firecrawlAccountRoutes } from '../http/routes/tools/firecrawl-account.ts';
import { unsupportedFirecrawlRoutes } from '../http/routes/tools/unsupported-firecrawl.ts';
import { webToolRoutes } from '../http/routes/tools/web-tools.ts';
import { usageRoute } from '../http/routes/usage.ts';
import { vectorStoreRoutes } from '../http/routes/vector-stores.ts';
import { vectorRoutes } from '../http/routes/vectors.ts';
import { type SigningParts, vendorApiRoutes } from '../http/routes/vendor-apis.ts';
import { type OpenedBatches, openBatches } from '../inference/batches/open-batches.ts';
import { comparison } from '../inference/endpoints/comparison.ts';
import { openCrawls } from '../inference/families/pages/open-crawls.ts';
import { openBackgroundRuns } from '../inference/families/responses/background.ts';
import { createCrawlSink } from '../inference/families/vectors/crawl-sink.ts';
import { type Metrics, renderSum } from '../observe/metrics.ts';
import type { Seat } from '../processes/worker-seat.ts';
import { createVectorOperator } from '../vectors/vector-operator.ts';
import { openReports } from './reports.ts';
import type { RoutesParts } from './routes-parts.ts';
import { serverLooks } from './server-state.ts';
import { adminSetup } from './setup.ts';

/** Every route, with the vector store and the web tools behind them. */
export async function openRoutes(parts: RoutesParts): Promise<readonly Route[]> {
  const { options, services, books, callers, setup, metrics, vectors, resolve, unopened, onTrouble } = parts;
  const { folder, stores, secrets } = books;
  const { config, version, log } = options;
  const { clock, snapshots, health, transport } = services;
  const server = () => snapshots.current.config.server;
  const ledger = { ...stores.ledger, find: findIn(stores.ledger, parts.refusals, options.seat) };
  const { ring, plans } = callers;

  const background = opened(parts, openBackgroundRuns(services, options.seat?.shareRuns));
  const { web, vectorCalls } = parts.tools;
  const crawls = opened(
    parts,
    openCrawls({
      ...web,
      services,
      config: () => snapshots.current.config,
      stores,
      sealer: secrets.sealer('crawls'),
      ring,
      model: parts.tools.pageModel,
      resolve,
      sink: createCrawlSink(services, vectorCalls, ring),
      onTrouble,
    }),
  );
  const { ledger: charged } = stores;
  const batches = opened(parts, openBatches({ ...parts, ledger: charged, ring }));

  const troubles = () => ({ ...stores.troubles(), keys: callers.trouble(), vectors: vectors.trouble(), ...unopened() });
  const storeTrouble = () => Object.values(troubles()).find((trouble) => trouble !== null) ?? null;
  /** Loaded when it is first asked for: its schemas would cost every start some 25 ms. */
  let admin: Promise<AdminApi> | null = null;
  const adminApi = (): Promise<AdminApi> => {
    admin ??= import('../admin/create-admin-api.ts').then(({ createAdminApi }) =>
      createAdminApi({
        clock,
        version,
        store: stores.accounts,
        writePlaces: callers.writePlaces,
        ...adminSetup({ setup, secrets, env: options.env, look: callers.refresh, stores, ...parts.uploads }),
        ledger,
        plans,
        counters: stores.counters,
        snapshots,
        health,
        transport,
        planning: services,
        vectors: async () => createVectorOperator(vectors.store),
        cache: parts.cache,
        cacheChecked: services.cache.checked,
        engines: web.engines,
        ...parts.mcp.operated,
        sessions: parts.dashboard?.sessions ?? null,
        configFile: options.configFile,
        configText: options.configText,
        checkConfig: options.checkConfig,
        reload: options.reload,
        troubles,
        ...comparison(services, ring.principalOf),
        ...serverLooks(parts, { folder, snapshots, mcp: parts.mcp, troubles, clock, version }),
        onStoreError: (error) => log.error({ error: String(error) }, 'the admin API could not ask a store'),
      }),
    );
    return admin;
  };
  const signer = secrets.signer('alert ids');
  openReports({ ...parts, stores, admin: adminApi, config: () => snapshots.current.config, signer, clock });
  const all: readonly Route[] = [
    chatRoute(services),
    ...messagesRoutes(services),
    ...responsesRoutes(services, background, { services, principalOf: ring.principalOf, seat: options.seat }),
    ...forwardedRoutes(services),
    embeddingsRoute(services),
    ...passthroughRoutes(services),
    ...soundRoutes(services, ring, secrets.sealer('client secrets')),
    ...imageRoutes(services),
    ...videoRoutes(services),
    signedFilesRoute(services.files),
    ...vendorApiRoutes(services, signingOf(parts), batches),
    ...modelRoutes(services),
    ...vectorStoreRoutes(parts.vectorStores, () => snapshots.current.config.vectors.stores.embedding_model),
    ...vectorRoutes({ services, endpoint: vectorCalls, engine: vectors, bodies: parts.bodies }),
    ...webToolRoutes(services, web),
    ...batchRoutes(parts, batches),
    ...crawlRoutes({ ...crawls, services, config: () => snapshots.current.config, clock }),
    ...firecrawlAccountRoutes({ counters: stores.counters, ledger, plans, clock, running: crawls.running }),
    ...unsupportedFirecrawlRoutes(),
    ...mcpRoutesOf(parts, () => all),
    requestsRoute(ledger),
    requestRoute(ledger),
    feedbackRoute({ ledger, clock }),
    ephemeralKeyRoute({ runs: createRunKeys(secrets.sealer('run keys')), plans, snapshots, clock }),
    usageRoute({ counters: stores.counters, ledger, plans, storage: services.storage, clock }),
    ...adminRoutes({ handle: async (request) => (await adminApi()).handle(request) }, clock, services.bodies),
    openApiRoute({ admin: async () => (await adminApi()).openApi(), routes: () => all, server }),
    ...(parts.dashboard?.routes ?? []),
    ...docsRoutes(options.pagesFolder ?? null, server),
    ...healthRoutes({ services, draining: parts.draining, storeTrouble }),
    ...statusRoutes({ services, version, dashboard: parts.dashboard !== null, draining: parts.draining, storeTrouble }),
    ...(config.telemetry.prometheus ? [metricsRoute(scrapeOf(metrics, options.seat))] : []),
  ];
  return all;
}

/** The metrics of all workers, where there are several. */
function scrapeOf(metrics: Metrics, seat: Seat | undefined): Metrics['render'] {
  return seat === undefined ? metrics.render : async () => renderSum(await seat.primary.measured());
}

function signingOf({ books, callers: { ring, lookForKey }, bodies }: RoutesParts): SigningParts {
  return { awsKeys: createAwsKeys(books.secrets.sealer('aws keys')), ring, lookForKey, bodies };
}

function batchRoutes(
  { services, books, callers, vectorStores }: RoutesParts,
  { paths: endpoints, ...batches }: OpenedBatches,
): Route[] {
  const tickets = createUploadTickets(books.secrets.sealer('upload tickets'), callers.ring);
  const parts = { services, ...batches, tickets, vectorStores };
  const openAiRoutes = [
    ...filesRoutes(parts),
    ...batchesRoutes({ ...parts, endpoints }),
    ...messageBatchesRoutes(parts),
  ];
  return withGoogleFormat(openAiRoutes, [...googleFilesRoutes(parts), ...googleBatchesRoutes(parts)]);
}

/** `all`: the whole table, these routes among it. */
function mcpRoutesOf(
  { services, options, books, mcp, onUnexpected }: RoutesParts,
  all: () => readonly Route[],
): Route[] {
  const { clock, snapshots } = services;
  const { version, seat } = options;
  const { upstream, finish } = mcp;
  const addressOf = createClientAddress(() => snapshots.current.config.server.trusted_proxies);
  return [
    ...mcpRoutes({ routes: all, services, version, upstream, onUnexpected, sharing: seat ?? null }),
    ...mcpUpstreamRoutes({ services, upstream }),
    ...a2aRoutes({ services, agents: mcp.agents.load }),
    mcpLoginRoute({ finish, addressOf, clock, tally: books.stores.tally }),
  ];
}

function opened<T extends { close(): Promise<void> | void }>(parts: Pick<RoutesParts, 'opened'>, part: T): T {
  parts.opened(part.close);
  return part;
}

/** Refused requests of which the ledger has no row are still known for a while. */
function findIn(ledger: Ledger, refusals: Pick<Refusals, 'find'>, seat: Seat | undefined): Ledger['find'] {
  return async (...of) =>
    (await ledger.find(...of)) ?? refusals.find(...of) ?? (await seat?.primary.findRefused(...of)) ?? null;
}
