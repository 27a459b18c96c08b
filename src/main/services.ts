import type { KeyRing } from '../books/auth/key-ring.ts';
import type { CacheStore } from '../books/metering/cache-store.ts';
import { createGiveBack } from '../books/metering/give-back.ts';
import type { Notices } from '../books/metering/notices/notices.ts';
import { createLimitedAdmission } from '../books/metering/quota.ts';
import { createSettledLimits, createSettlement } from '../books/metering/settlement.ts';
import { processesOf } from '../config/declared.ts';
import type { Engines } from '../engines/local-engines.ts';
import { createSchemaCheck } from '../guards/schema-check.ts';
import { createBodyRoom } from '../http/read-body.ts';
import { createUploads, type Uploads } from '../inference/batches/uploads.ts';
import { createAnswerCache } from '../inference/cache/create-answer-cache.ts';
import { createBodyKeeper } from '../inference/endpoints/body-keeper.ts';
import { createBodyReader } from '../inference/endpoints/body-readers.ts';
import { createBodyWorkers } from '../inference/endpoints/body-workers.ts';
import { openGuardPorts } from '../inference/endpoints/guard-ports.ts';
import type { RecentBodies } from '../inference/endpoints/recent-bodies.ts';
import type { Services } from '../inference/endpoints/services.ts';
import { createMediaFetcher } from '../inference/families/chat/fetch-media.ts';
import { createItemMemory, type ItemMemory } from '../inference/families/chat/item-memory.ts';
import type { ProviderObjects } from '../inference/families/chat/provider-objects.ts';
import { createTokenCounter } from '../inference/families/chat/token-counter.ts';
import { createEmbeddingCodec } from '../inference/families/embeddings/embedding-codec.ts';
import { createPictureFetcher } from '../inference/families/images/fetch-picture.ts';
import { createImageCodec } from '../inference/families/images/image-codec.ts';
import { createMcpCalls } from '../inference/families/mcp/calls-for-models.ts';
import { createPageFetch } from '../inference/families/pages/fetch-page.ts';
import { openTools, type Tools, type ToolsOptions } from '../inference/families/pages/open-tools.ts';
import { createPageModel } from '../inference/families/pages/page-model.ts';
import { createStoredResponses } from '../inference/families/responses/stored-responses.ts';
import { createWebSearch } from '../inference/families/search/web-search.ts';
import { createVoiceLists } from '../inference/families/speech/voice-lists.ts';
import { type VectorEndpoint, vectorEndpoint } from '../inference/families/vectors/endpoint.ts';
import { createFileSearch, type StoreUsed } from '../inference/families/vectors/search-files.ts';
import type { ServerToolPorts } from '../inference/server-tools/tool-ports.ts';
import { RefusedFormats } from '../inference/spine/attempts/refused-formats.ts';
import { createIdempotency } from '../inference/spine/idempotency.ts';
import type { SpineServices } from '../inference/spine/services.ts';
import { type OpenedVectorStores, openVectorStores } from '../inference/vector-stores/open-vector-stores.ts';
import { systemRandom } from '../kernel/random.ts';
import type { Traces } from '../kernel/trace.ts';
import { createLeftOut } from '../kernel/unopenable.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { createRetryBudget } from '../routing/rolling-counts.ts';
import { boundedPages } from '../stores/bounded-pages.ts';
import { accountOfTenant } from '../stores/storage-sizes.ts';
import type { PageModel } from '../tools/page-model.ts';
import type { VectorEngine } from '../vectors/vector-engine.ts';
import type { Callers } from './callers.ts';
import { openBucketFolder } from './files.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { type McpParts, type OpenedMcp, openMcp } from './mcp.ts';
import type { Storage } from './storage.ts';

export interface ServicesParts
  extends Pick<SpineServices, 'clock' | 'transport' | 'health' | 'silence' | 'snapshots' | 'finished'>,
    Pick<Services, 'plans' | 'transcoder' | 'files' | 'spool'>,
    Pick<McpParts, 'books' | 'proxyOf' | 'listening' | 'resolve'> {
  options: GatewayOptions;
  callers: Callers;
  metrics: Pick<Metrics, 'searched' | 'cacheLookup' | 'cacheChecked'>;
  vectors: VectorEngine;
  storage: Storage;
  cache: CacheStore;
  notices: Notices;
  objects: ProviderObjects;
  traces: Traces | null;
  engines: Engines;
  recentBodies: RecentBodies;
  log: Log;
  onTrouble(message: string): void;
  /** Called at once with how each part is closed. */
  opened(close: () => Promise<void> | void): void;
}

export interface OpenedServices {
  services: Services;
  uploads: Uploads;
  tools: ServerTools;
  mcp: OpenedMcp;
  vectorStores: OpenedVectorStores;
}

/** Opens the services of all families' requests. */
export function openServices(parts: ServicesParts): OpenedServices {
  const { books, callers, clock, metrics, opened, options, snapshots, storage } = parts;
  const { stores, folder, secrets } = books;
  const uploads = createUploads({
    stores,
    bucket: openBucketFolder({ ...parts, ...options }, '/uploads'),
    sealer: secrets.sealer('batches'),
    clock,
    retentionMs: () => snapshots.current.config.storage.files_retention,
    leftOut: createLeftOut(clock, (message) => parts.log.warn(message)),
    onStored: (tenant, bytes) => storage.book.add(accountOfTenant(tenant), 'files', bytes),
  });
  const base = openBaseServices({ ...parts, uploads });
  const mcp = openMcp({ ...parts, services: base });
  opened(mcp.close);
  const tools = openServerTools(base, {
    ...parts,
    storeUsed: (tenant, id) => vectorStores.used(tenant, id),
    ...{ ring: callers.ring, mcp, pages: boundedPages(stores.pages, storage.book) },
    ...{ dataDir: folder.path, version: options.version, onAttempt: metrics.searched },
  });
  opened(tools.web.close);
  const vectorStores = openVectorStores({
    services: base,
    stores,
    uploads,
    endpoint: tools.vectorCalls,
    extracting: tools.web.extracting,
    sealer: secrets.sealer('vector stores'),
    clock,
    config: () => snapshots.current.config,
    ring: callers.ring,
    onTrouble: parts.onTrouble,
  });
  opened(vectorStores.close);
  return { services: { ...base, serverTools: { ports: tools.ports } }, uploads, tools, mcp, vectorStores };
}

/** Items of converted answers; the primary keeps those of all workers. */
function createItems({ clock, options: { seat } }: Pick<ServicesParts, 'clock' | 'options'>): ItemMemory {
  return seat === undefined ? createItemMemory({ clock }) : { keep: seat.keepItems, find: seat.findItems };
}

/** Opens the services of all families' requests, without the tools of this server. */
function openBaseServices(parts: ServicesParts & { uploads: Uploads }): BaseServices {
  const { clock, transport, health, silence, snapshots, finished, plans, transcoder, files, objects } = parts;
  const { books, storage, notices, engines, log, resolve, onTrouble, traces } = parts;
  const { troubles } = books;
  const { counters, ledger, bootId, replies } = books.stores;
  const { observe } = notices;
  const fetching = { rules: () => snapshots.current.config.fetch, resolve };
  const admission = createLimitedAdmission({ troubles, counters, ledger, plans, bootId, clock, observe });
  const settlement = createSettlement(ledger, createSettledLimits({ counters, plans, observe }), plans);
  const callsOf = (tag: 'cache' | 'rule') => async () =>
    (await import('../inference/endpoints/inner-calls.ts')).createInnerCalls(services, tag);
  const services: BaseServices = {
    clock,
    random: systemRandom,
    transport,
    health,
    retryBudget: createRetryBudget(),
    silence,
    plans,
    ...{ admission, settlement, traces },
    ...openStoring(parts),
    cache: createAnswerCache({
      ...parts.metrics,
      store: parts.options.cache ?? parts.cache,
      clock,
      calls: callsOf('cache'),
    }),
    inner: callsOf('rule'),
    objects,
    videoSealer: books.secrets.sealer('videos'),
    giveBack: createGiveBack({ ledger, counters, replies, bootId, clock, onTrouble }),
    items: createItems(parts),
    onTrouble,
    bodies: createBodyReader(createBodyWorkers()),
    media: createMediaFetcher(fetching),
    snapshots,
    logBodies(bodies) {
      log.info(bodies, 'bodies');
      parts.recentBodies.add(bodies);
    },
    finished,
    schemas: createSchemaCheck(),
    uploads: {
      find: parts.uploads.find,
      room: createBodyRoom(snapshots, parts.options.seat?.elsewhere ?? null, processesOf(parts.options.config)),
    },
    tokenCounter: createTokenCounter(),
    embeddingCodec: createEmbeddingCodec(),
    engines: engines.embedding,
    speechEngines: engines.speech,
    transcriptionEngines: engines.transcription,
    voiceLists: createVoiceLists({ transport, clock, snapshots }),
    transcoder,
    refusedFormats: new RefusedFormats(),
    spool: parts.spool,
    imageCodec: createImageCodec(),
    pictures: createPictureFetcher(fetching),
    files,
    storage: storage.book,
  };
  openGuardPorts(services, parts.vectors);
  const { bodies, bodyKeeper, schemas, tokenCounter, embeddingCodec, imageCodec } = services;
  for (const one of [bodies, bodyKeeper, schemas, tokenCounter, embeddingCodec, imageCodec]) parts.opened(one.close);
  return services;
}

function openStoring({
  books: { stores, secrets },
  callers,
  storage: { book, room },
  clock,
  snapshots,
  options,
  onTrouble,
}: ServicesParts) {
  const { bootId, replies, responses: open, mayHaveResponses: storedBefore } = stores;
  return {
    bodyKeeper: createBodyKeeper({
      ...{ rules: callers.bodyRules, stores, room, sealer: secrets.sealer('bodies'), clock, onTrouble },
      limits: () => snapshots.current.config.storage.bodies,
      others: options.seat,
    }),
    idempotency: createIdempotency({
      ...{ store: replies, sealer: secrets.sealer('idempotent replies'), bootId, clock, onTrouble },
      mayKeep: (tenant, bytes) =>
        book.keep(accountOfTenant(tenant), 'replies', bytes, async () => true).catch(() => false),
    }),
    responses: createStoredResponses({
      ...{ open, storedBefore, sealer: secrets.sealer('responses'), bootId, clock },
      retentionMs: () => snapshots.current.config.storage.responses.retention,
      counted: (tenant, bytes, write) =>
        book.keep(accountOfTenant(tenant), 'responses', bytes, write, (written) => (written === false ? 0 : bytes)),
    }),
  };
}

/** Services of requests without the tools of this server. */
type BaseServices = Omit<Services, 'serverTools'>;

interface ServerTools {
  web: Tools;
  /** Writes of pages. */
  pageModel: PageModel;
  vectorCalls: VectorEndpoint;
  /** Run tools for models. */
  ports: ServerToolPorts;
}

/** The web tools, and what runs tools for models. */
function openServerTools(
  base: BaseServices,
  parts: Omit<ToolsOptions, 'services' | 'model'> & {
    ring: Pick<KeyRing, 'principalOf'>;
    vectors: VectorEngine;
    mcp: Pick<OpenedMcp, 'guarded' | 'upstream'>;
    storeUsed: StoreUsed;
  },
): ServerTools {
  const { ring, vectors, mcp, storeUsed } = parts;
  // A question about a page names no tools.
  const pageModel = createPageModel({ ...base, serverTools: { ports: null } }, ring);
  const web = openTools({ ...parts, services: base, model: pageModel });
  const vectorCalls = vectorEndpoint(base, vectors);
  const { search, reader } = web;
  const ports: ServerToolPorts = {
    // The pages that callers have read are searched where the operator says so alone.
    has: (kind) =>
      kind !== 'web_search' ||
      base.snapshots.current.config.tools.search.providers.length > 0 ||
      search.engines().some(({ driver }) => driver !== null),
    searchWeb: createWebSearch(base, search),
    searchFiles: createFileSearch(base, vectorCalls, storeUsed),
    fetchPage: createPageFetch(base, reader),
    openMcp: createMcpCalls({ services: base, ...mcp }),
  };
  return { web, pageModel, vectorCalls, ports };
}
