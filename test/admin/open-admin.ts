import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { AdminMethod } from '../../src/admin/admin-api.ts';
import { createAdminApi } from '../../src/admin/create-admin-api.ts';
import type { Finding } from '../../src/admin/finding.ts';
import type { Reloaded } from '../../src/admin/parts.ts';
import type { Stored } from '../../src/books/auth/account-store.ts';
import { declaredKeys } from '../../src/books/auth/declared-keys.ts';
import { KeyPlaces } from '../../src/books/auth/key-places.ts';
import { createKeyRing } from '../../src/books/auth/key-ring.ts';
import type { Operator } from '../../src/books/auth/operator.ts';
import { createSessions } from '../../src/books/auth/sessions.ts';
import { createSetup } from '../../src/books/auth/setup.ts';
import { bucketsOf } from '../../src/books/metering/counter-scope.ts';
import { MemoryCounters } from '../../src/books/metering/memory-counters.ts';
import { createPlanBook } from '../../src/books/metering/plan-book.ts';
import type { SeenProcess } from '../../src/books/metering/replicas.ts';
import { crashedEvent } from '../../src/books/metering/settlement.ts';
import { checkConfigText } from '../../src/config/check.ts';
import { formatProblem } from '../../src/config/problem.ts';
import type { Config } from '../../src/config/schema.ts';
import { scrub } from '../../src/formats/providers/scrub.ts';
import { planningWithoutStores } from '../../src/inference/families/chat/explain-chat.ts';
import { buildSnapshot } from '../../src/inference/models/build-snapshot.ts';
import { createKnownModels } from '../../src/inference/models/known-models.ts';
import { adminSetup } from '../../src/main/setup.ts';
import { createHealth } from '../../src/routing/health.ts';
import { createMcpGrantStore } from '../../src/stores/accounts/mcp-grant-store.ts';
import { createSessionStore } from '../../src/stores/accounts/session-store.ts';
import { createNoticeStore } from '../../src/stores/answers/notice-store.ts';
import { openDataFolder } from '../../src/stores/sqlite/data-folder.ts';
import { openSqliteLedger } from '../../src/stores/sqlite/ledger.ts';
import { openCulvertTables, openSqliteAccountStore } from '../../src/stores/sqlite/stores.ts';
import { openSecrets } from '../../src/stores/storage-secrets.ts';
import { createMcpGrants, mcpGrantsPurpose } from '../../src/tools/mcp/grants.ts';
import { createEngineOperator } from '../../src/tools/search/engine-operator.ts';
import { configuredEngines } from '../../src/tools/search/engine-targets.ts';
import { createTransport } from '../../src/upstream/transport/send.ts';
import { createEmbeddedStore } from '../../src/vectors/embedded/embedded-store.ts';
import { allShards } from '../../src/vectors/embedded/shards/shard-of.ts';
import { createVectorOperator } from '../../src/vectors/vector-operator.ts';
import type { VectorStore } from '../../src/vectors/vector-store.ts';
import { fakeClock } from '../fake-clock.ts';
import { layFreshStorage } from '../fresh-storage.ts';
import { memoryCache } from '../memory-cache.ts';
import { replyCheck } from './described.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a test looks at in an answer is what it asserts.
export type Answer = any;

/**
 * The admin API over SQLite stores in a folder of their own and a clock that stands at 2025-06-15T15:06:40Z. `config`
 * is what a culvert.yaml would hold. Every answer is held against the OpenAPI document.
 */
export async function openAdmin(t: { after(fn: () => unknown): void }, config: Record<string, unknown> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-admin-'));
  layFreshStorage(folder);
  const clock = fakeClock();
  let current = configOf(config);
  const store = openSqliteAccountStore(join(folder, 'culvert.db'));
  const ledger = openSqliteLedger({
    file: join(folder, 'ledger.db'),
    bootId: 'boot-1',
    clock,
    chargeCrashed: crashedEvent,
    bucketsOf,
    onTrouble: () => {},
  });
  const counters = new MemoryCounters({ clock, books: ledger });
  const transport = createTransport();
  const health = createHealth({ clock });
  const engineHealth = createHealth({ clock });
  const places = new KeyPlaces();
  const ring = createKeyRing(clock, declaredKeys(current, 'sk-cv-admin-of-tests'), null, places);
  let stored: Stored = await store.load();
  const snapshots = { current: snapshotOf(current) };
  const secrets = openSecrets(current, openDataFolder(folder));
  const setup = createSetup({ config: current, env: {}, secrets, log: { warn() {}, error() {} } });
  setup.begin(async (next) => {
    snapshots.current = snapshotOf(next);
    return { providersListed: Promise.resolve() };
  });
  let reloaded: Reloaded | null = null;
  const storeErrors: unknown[] = [];
  let processes: readonly SeenProcess[] = [];
  let findings: readonly Finding[] = [{ check: 'disk', state: 'ok', message: '50 GB are free', fix: null }];

  const notices = createNoticeStore(openCulvertTables(join(folder, 'culvert.db')));
  const sessionStore = createSessionStore(openCulvertTables(join(folder, 'culvert.db')));
  const mcpGrantStore = createMcpGrantStore(openCulvertTables(join(folder, 'culvert.db')));
  const rules = { session_idle: 3_600_000, session_max: 86_400_000 };
  const sessions = createSessions({ store: async () => sessionStore, ring, clock, rules: () => rules });

  function snapshotOf(from: Config) {
    const known = createKnownModels({ transport, recall: () => null, keep() {} });
    const built = buildSnapshot({
      config: from,
      env: {},
      locals: [],
      known,
      simulatorUrl: 'http://127.0.0.1:9',
      nowMs: clock.wallMs(),
    });
    assert.ok(built.kind === 'built');
    return built.snapshot;
  }

  async function look() {
    stored = await store.load();
    ring.restock(stored);
    setup.take(stored);
  }

  const cache = memoryCache(() => clock.wallMs(), { scopeBytes: 1_000_000, totalBytes: 10_000_000 });
  const plans = () => createPlanBook({ config: current, stored: stored.plans });
  const api = createAdminApi({
    clock,
    version: '0.0.0-test',
    store,
    writePlaces: () => places.write(store, clock.wallMs()),
    ...adminSetup({ setup, secrets, env: {}, look, stores: { sealedTables: async () => null }, bucket: () => null }),
    ledger,
    plans,
    counters,
    notices,
    snapshots,
    planning: planningWithoutStores(plans, () => current),
    health,
    transport,
    vectors: async () => createVectorOperator(vectors()),
    cache,
    mcp: null,
    agents: null,
    mcpGrants: createMcpGrants({
      open: async () => mcpGrantStore,
      sealer: () => secrets.sealer(mcpGrantsPurpose),
      clock,
    }),
    engines: createEngineOperator({
      transport,
      clock,
      scrub,
      health: engineHealth,
      engines: () => configuredEngines(current.tools.search.providers).engines,
    }),
    sessions,
    configFile: 'culvert.yaml',
    configText: () => stringify(config),
    checkConfig: (text) => checkConfigText(text, 'culvert.yaml', {}),
    reload: async () => reloaded ?? { ok: true, config: current },
    troubles: () => ({ database: ledger.trouble(), state: null }),
    bodies: async () => new Map(),
    tryAlert: async () => null,
    mail: async () => assert.fail('no mail'),
    backup: () => Promise.reject(new Error('there is no backup here')),
    findings: async () => findings,
    processes: async () => processes,
    capabilities: async () => [{ check: 'speech', state: 'warning', message: 'simulated: nobody', fix: 'Add one.' }],
    onStoreError: (error) => storeErrors.push(error),
  });

  /** Opened when a test first asks for it. */
  let vectorStore: VectorStore | null = null;
  function vectors(): VectorStore {
    vectorStore ??= createEmbeddedStore({
      dataDir: folder,
      shards: allShards,
      memoryBytes: 64 * 1024 * 1024,
      limit: { take: async () => {}, give() {}, onStoredBytes() {} },
      report() {},
    });
    return vectorStore;
  }

  const isDescribed = replyCheck(() => api.openApi());

  t.after(async () => {
    await vectorStore?.close();
    await counters.close();
    transport.destroy();
    await ledger.shutdown();
    await sessionStore.close();
    await mcpGrantStore.close();
    await notices.close();
    await store.close().catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  });

  async function call(
    method: AdminMethod,
    path: string,
    body?: unknown,
    operator: Operator = { name: 'test', role: 'owner', accounts: null },
  ): Promise<{ status: number; json: Answer; text: string }> {
    const [pathname = '', search = ''] = path.split('?');
    const reply = await api.handle({
      method,
      path: pathname,
      query: new URLSearchParams(search),
      body: body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body),
      operator,
    });
    let text = '';
    if (typeof reply.body === 'string') text = reply.body;
    else for await (const piece of reply.body) text += piece;
    const json = reply.contentType === 'application/json' ? JSON.parse(text) : null;
    if (json !== null && reply.status < 300) isDescribed(method, pathname, reply.status, json);
    return { status: reply.status, json, text };
  }

  return {
    api,
    call,
    clock,
    store,
    cache,
    ledger,
    health,
    ring,
    places,
    sessions,
    storeErrors,
    notices,
    vectors,
    snapshots,
    /** Takes another configuration into use. */
    configure(next: Record<string, unknown>) {
      current = configOf(next);
      void setup.declare(current);
      snapshots.current = snapshotOf(setup.inForce());
      ring.declare(declaredKeys(current, 'sk-cv-admin-of-tests'));
    },
    /** Findings of machine, folder and stores. */
    setFindings(next: readonly Finding[]) {
      findings = next;
    },
    /** Processes over the same stores. */
    setProcesses(next: readonly SeenProcess[]) {
      processes = next;
    },
    /** Result of the next reload. */
    setReload(result: Reloaded) {
      reloaded = result;
    },
    /** The JSON of a call that must go well. */
    async ok(method: AdminMethod, path: string, body?: unknown): Promise<Answer> {
      const { status, json, text } = await call(method, path, body);
      assert.ok(status >= 200 && status < 300, `${method} ${path}: ${status} ${text}`);
      return json;
    },
    /** Status, field and message of a call that must be refused. */
    async refused(method: AdminMethod, path: string, body?: unknown): Promise<[number, string | null, string]> {
      const { status, json, text } = await call(method, path, body);
      assert.ok(status >= 400, `${method} ${path}: ${status} ${text}`);
      return [status, json.error.param, json.error.message];
    },
  };
}

export type OpenAdmin = Awaited<ReturnType<typeof openAdmin>>;

function configOf(config: Record<string, unknown>): Config {
  const checked = checkConfigText(stringify(config), 'culvert.yaml', {});
  if (!checked.ok) throw new Error(checked.errors.map(formatProblem).join('\n'));
  return checked.config;
}
