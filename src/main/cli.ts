import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createAdminApi } from '../admin/create-admin-api.ts';
import { type AccountStore, nothingStored, type Stored } from '../books/auth/account-store.ts';
import { createSetup } from '../books/auth/setup.ts';
import { bucketsOf } from '../books/metering/counter-scope.ts';
import { createAlertTest } from '../books/metering/notices/alert-sender.ts';
import { createPlanBook } from '../books/metering/plan-book.ts';
import { crashedEvent } from '../books/metering/settlement.ts';
import type { CliParts, StoreFacts } from '../cli/parts.ts';
import { note } from '../cli/print.ts';
import { checkConfigText } from '../config/check.ts';
import { configText } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { scrub } from '../formats/providers/scrub.ts';
import { planningWithoutStores } from '../inference/families/chat/explain-chat.ts';
import type { Snapshot } from '../inference/models/snapshot.ts';
import { systemClock as clock } from '../kernel/clock.ts';
import { FailureError, invalid } from '../kernel/failure.ts';
import { createHealth } from '../routing/health.ts';
import { createMcpGrantStore } from '../stores/accounts/mcp-grant-store.ts';
import { createNoticeStore } from '../stores/answers/notice-store.ts';
import { openCache } from '../stores/cache/open-cache.ts';
import { OlderSchema } from '../stores/migration.ts';
import type { Stores } from '../stores/opened-stores.ts';
import type { Database } from '../stores/postgres/database.ts';
import { readBackup } from '../stores/read-backup.ts';
import type { ClosableTables } from '../stores/sql-tables.ts';
import { writeBackup } from '../stores/sqlite/backup.ts';
import { dataFolderAt, openDataFolder, whyUnusable } from '../stores/sqlite/data-folder.ts';
import { damageOf, databasesIn } from '../stores/sqlite/integrity.ts';
import { openSqliteLedger } from '../stores/sqlite/ledger.ts';
import { migrateDataFolder, pendingMigrations, sqliteFacts } from '../stores/sqlite/sqlite-facts.ts';
import {
  openCulvertTables,
  openSqliteAccountStore,
  readSqliteAccounts,
  sqliteSealedTables,
} from '../stores/sqlite/stores.ts';
import { openSecrets, type Secrets } from '../stores/storage-secrets.ts';
import { createMcpGrants, mcpGrantsPurpose } from '../tools/mcp/grants.ts';
import { createEngineOperator, type EngineOperator } from '../tools/search/engine-operator.ts';
import { configuredEngines, providersInForce } from '../tools/search/engine-targets.ts';
import { createWebhookPost } from '../upstream/transport/post-webhook.ts';
import { environmentProxies } from '../upstream/transport/proxy.ts';
import { createTransport } from '../upstream/transport/send.ts';
import type { Transport } from '../upstream/transport/upstream-call.ts';
import { damagesOfRows } from '../vectors/embedded/shards/check-shard.ts';
import { shardDatabases } from '../vectors/embedded/shards/shard-schema.ts';
import { openLocalVectors } from './cli-vectors.ts';
import { openBucketFolder } from './files.ts';
import { previewSnapshot } from './preview.ts';
import { openSenders } from './reports.ts';
import { adminSetup } from './setup.ts';

type StoreParts = Pick<
  CliParts,
  'adminApi' | 'stored' | 'storeFacts' | 'damages' | 'migrations' | 'migrate' | 'readBackup' | 'writeBackup'
>;

/** The CLI's work in its own process, over the stores that a configuration names. */
export function cliStores(version: string): StoreParts {
  return {
    adminApi: (config, configFile) => adminApi(config, configFile, version),
    stored,
    storeFacts: async (config) => ({ database: await databaseFacts(config), state: await stateFacts(config) }),
    async damages(config) {
      const files = databasesIn(dataFolderAt(config.storage.data_dir));
      const damaged = files.map((file) => damageOf(file, 'whole')).filter((damage) => damage !== null);
      const rest = files.filter((file) => !damaged.some((damage) => damage.file === file));
      return [...damaged, ...rest.flatMap(damagesOfRows)];
    },
    async migrations(config) {
      if (isEmbedded(config)) return pendingMigrations(dataFolderAt(config.storage.data_dir), shardDatabases);
      return overPostgres(config, async (database) => {
        const { pendingMigrations } = await import('../stores/postgres/open.ts');
        return pendingMigrations(database.rest, database.place);
      });
    },
    async migrate(config) {
      if (isEmbedded(config)) migrateDataFolder(openDataFolder(config.storage.data_dir), shardDatabases);
      else await overPostgres(config, migratePostgres);
    },
    readBackup: ({ storage }, scratch) => readBackup(storage, scratch),
    async writeBackup(config, rows) {
      if (isEmbedded(config)) return writeBackup(openDataFolder(config.storage.data_dir), rows);
      const { writePostgresBackup } = await import('../stores/postgres/backup.ts');
      await overPostgres(config, async (database) => {
        await migratePostgres(database);
        await writePostgresBackup(database, rows);
      });
    },
  };
}

const uploadsBucket = (config: Config) =>
  openBucketFolder(
    { config, env: process.env, proxyOf: environmentProxies(process.env), onTrouble: note, opened() {} },
    '/uploads',
  );

const withoutServer = { room: null, onTrouble: console.error };

/** Charges nothing and takes no lock (except for embedded vectors): a server may run on the same stores. */
async function adminApi(config: Config, configFile: string | null, version: string): ReturnType<CliParts['adminApi']> {
  const { store, ledger, tables, close, ...stores } = await openForAdmin(config);
  const { env } = process;
  const folder = openDataFolder(config.storage.data_dir);
  const secrets = openSecrets(config, folder);
  const cache = openCache({ config, folder, stores, secrets, clock, ...withoutServer });
  // Lists show what is wrong with stored entries; an entry that cannot be used rejects.
  const setup = createSetup({ config, env, secrets, log: { warn() {}, error() {} } });
  let known: Stored = await store.load();
  setup.take(known);
  const snapshots = { current: (await previewSnapshot(setup.inForce(), env)).snapshot };
  setup.begin(async (next) => {
    snapshots.current = (await previewSnapshot(next, env)).snapshot;
    return { providersListed: Promise.resolve() };
  });
  const transport = createTransport({ proxyOf: environmentProxies(process.env) });
  const { mail, send } = openSenders({ config: () => config, post: createWebhookPost(transport), clock });
  const localVectors = openLocalVectors(config);
  const plans = () => createPlanBook({ config, stored: known.plans });
  const api = createAdminApi({
    clock,
    version,
    store,
    ...adminSetup({
      setup,
      secrets,
      env,
      ...{ stores, bucket: () => uploadsBucket(config) },
      async look() {
        known = await store.load();
        setup.take(known);
      },
    }),
    ledger,
    plans,
    counters: null,
    snapshots,
    planning: planningWithoutStores(plans, () => snapshots.current.config),
    health: createHealth({ clock }),
    transport,
    vectors: localVectors.vectors,
    cache,
    processes: async () => stores.replicas?.seen() ?? [],
    engines: localEngines(config, snapshots.current, transport),
    ...{ mcp: null, agents: null },
    ...listsIn(tables, secrets),
    sessions: null,
    configFile,
    configText: () => configText(configFile),
    checkConfig: (text) => checkConfigText(text, 'culvert.yaml', process.env),
    reload: async () => ({ ok: true, config }),
    troubles: () => ({ ledger: ledger.trouble() }),
    bodies: async () => new Map(),
    mail,
    tryAlert: createAlertTest(send.alerts, clock),
    findings: async () => [],
    capabilities: async () => [],
    backup: () => Promise.reject(new FailureError(invalid(null, 'culvert backup makes one without a server.'))),
    onStoreError: (error) => console.error(String(error)),
  });
  return {
    api,
    async close() {
      transport.destroy();
      await cache.close();
      await localVectors.close();
      await close();
    },
  };
}

function listsIn(tables: ClosableTables, secrets: Secrets) {
  const store = createMcpGrantStore(tables);
  const mcpGrants = createMcpGrants({ open: async () => store, sealer: () => secrets.sealer(mcpGrantsPurpose), clock });
  return { mcpGrants, notices: createNoticeStore(tables) };
}

/** Nobody searches in this process, so all engines count as never asked. */
function localEngines(config: Config, { localSearch }: Snapshot, transport: Transport): EngineOperator {
  const { engines } = configuredEngines(providersInForce(config.tools.search.providers, localSearch));
  return createEngineOperator({ transport, clock, scrub, health: createHealth({ clock }), engines: () => engines });
}

async function openForAdmin(config: Config): Promise<
  Pick<Stores, 'ledger' | 'booksId' | 'replicas' | 'sealedTables' | 'close'> & {
    store: AccountStore;
    tables: ClosableTables;
  }
> {
  const options = {
    bootId: randomUUID(),
    clock,
    chargeCrashed: crashedEvent,
    bucketsOf,
    onTrouble: (message: string) => console.error(message),
  };
  if (isEmbedded(config)) {
    const folder = openDataFolder(config.storage.data_dir);
    const store = openSqliteAccountStore(folder.culvertDb);
    const ledger = openSqliteLedger({ ...options, file: folder.ledgerDb });
    const tables = openCulvertTables(folder.culvertDb);
    return {
      store,
      ledger,
      booksId: async () => options.bootId,
      sealedTables: sqliteSealedTables(folder.path, options.onTrouble),
      replicas: null,
      tables,
      async close() {
        await ledger.shutdown();
        await tables.close();
        await store.close();
      },
    };
  }
  const { createPostgresAccountStore } = await import('../stores/postgres/stores.ts');
  const { openPostgresLedger } = await import('../stores/postgres/ledger.ts');
  const { tablesIn } = await import('../stores/postgres/stores.ts');
  const { readBooksId } = await import('../stores/postgres/open.ts');
  const database = await connectPostgres(config);
  await migratePostgres(database);
  const ledger = await openPostgresLedger({ ...options, database, use: 'look' });
  return {
    store: createPostgresAccountStore(database),
    ledger,
    booksId: () => readBooksId(database.rest.run),
    sealedTables: async () => tablesIn(database),
    replicas: ledger.replicas,
    tables: tablesIn(database),
    async close() {
      await ledger.shutdown();
      await database.close();
    },
  };
}

async function stored(config: Config): Promise<Stored> {
  if (!isEmbedded(config)) {
    const { createPostgresAccountStore } = await import('../stores/postgres/stores.ts');
    const { pendingMigrations } = await import('../stores/postgres/open.ts');
    return overPostgres(config, async (database) => {
      const [state] = await pendingMigrations(database.rest, database.place);
      if (state === undefined || state.current === 0) return nothingStored;
      if (state.pending.length > 0) throw new OlderSchema(`the database ${database.place}`, state.current);
      return createPostgresAccountStore(database).load();
    });
  }
  const { culvertDb: file } = dataFolderAt(config.storage.data_dir);
  return existsSync(file) ? readSqliteAccounts(file) : nothingStored;
}

async function databaseFacts(config: Pick<Config, 'storage'>): Promise<StoreFacts['database']> {
  const kind = isEmbedded(config) ? 'sqlite' : 'postgres';
  const unknown = { kind, version: null, empty: null, clockAheadMs: null } as const;
  try {
    if (isEmbedded(config)) {
      const { version, empty } = sqliteFacts(dataFolderAt(config.storage.data_dir));
      return { ...unknown, trouble: null, version, empty };
    }
    const { postgresFacts } = await import('../stores/postgres/open.ts');
    return { ...unknown, trouble: null, ...(await overPostgres(config, ({ rest }) => postgresFacts(rest, clock))) };
  } catch (error) {
    return { ...unknown, trouble: await whyNot(config, error) };
  }
}

async function whyNot(config: Pick<Config, 'storage'>, error: unknown): Promise<string> {
  if (isEmbedded(config)) return whyUnusable(error) ?? String(error);
  const postgres = await import('../stores/postgres/open.ts');
  const { placeOf } = await import('../stores/several-hosts.ts');
  return postgres.whyUnusable(error, placeOf(config.storage.database)) ?? String(error);
}

async function stateFacts({ storage }: Pick<Config, 'storage'>): Promise<StoreFacts['state']> {
  if (storage.state === 'memory') {
    return { kind: 'memory', trouble: null, version: null, maxmemoryPolicy: null, clockAheadMs: null };
  }
  const { redisFacts } = await import('../stores/redis/redis-facts.ts');
  return { kind: 'redis', ...(await redisFacts(storage.state, clock)) };
}

function isEmbedded({ storage }: Pick<Config, 'storage'>): boolean {
  return storage.database === 'sqlite';
}

async function connectPostgres({ storage }: Pick<Config, 'storage'>): Promise<Database> {
  const { connect } = await import('../stores/postgres/database.ts');
  return connect(storage.database);
}

async function overPostgres<T>(config: Pick<Config, 'storage'>, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await connectPostgres(config);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

async function migratePostgres(database: Database): Promise<void> {
  const { migrate } = await import('../stores/postgres/open.ts');
  await migrate(database.rest, database.place, undefined, note);
}
