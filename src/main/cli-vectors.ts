import { note } from '../cli/print.ts';
import type { Config } from '../config/schema.ts';
import { systemClock as clock } from '../kernel/clock.ts';
import { FailureError } from '../kernel/failure.ts';
import { openDataFolder } from '../stores/sqlite/data-folder.ts';
import { lockDataFolder } from '../stores/sqlite/data-folder-lock.ts';
import { environmentProxies } from '../upstream/transport/proxy.ts';
import type { VectorRegistry } from '../vectors/registry.ts';
import type { VectorOperator } from '../vectors/vector-operator.ts';

type Close = () => Promise<void>;

/** Vector data in the CLI's own process, opened when a command first asks for it. */
export function openLocalVectors(config: Config) {
  const closes: Close[] = [];
  let opened: Promise<VectorOperator> | null = null;

  async function open(): Promise<VectorOperator> {
    const folder = openDataFolder(config.storage.data_dir);
    if (config.vectors.engine === 'embedded') {
      // Its files are one process': a server that this command did not find a key for may be using them.
      const lock = lockDataFolder(folder, null);
      if (lock.kind === 'held') throw new FailureError({ kind: 'conflict', message: lock.message });
      closes.unshift(async () => lock.release());
    }
    const [{ openVectors }, { createVectorOperator }] = await Promise.all([
      import('./vectors.ts'),
      import('../vectors/vector-operator.ts'),
    ]);
    const stores = {
      async vectorRegistry() {
        const { registry, close } = await openRegistry(config);
        closes.unshift(close);
        return registry;
      },
    };
    const onTrouble = (message: string) => console.error(message);
    const proxyOf = environmentProxies(process.env);
    const onStored = () => undefined;
    const workers = await openVectors({
      config,
      folder,
      stores,
      proxyOf,
      clock,
      starts: 'at-first-call',
      onStored,
      onTrouble,
    });
    closes.unshift(() => workers.close());
    return createVectorOperator(workers.store);
  }

  return {
    vectors(): Promise<VectorOperator> {
      opened ??= open();
      return opened;
    },
    async close(): Promise<void> {
      await opened?.catch(() => {});
      for (const close of closes) await close();
    },
  };
}

async function openRegistry({ storage }: Config): Promise<{ registry: VectorRegistry; close: Close }> {
  const { createVectorRegistry } = await import('../stores/vectors/vector-registry.ts');
  if (storage.database === 'sqlite') {
    const { openCulvertTables } = await import('../stores/sqlite/stores.ts');
    const registry = createVectorRegistry(openCulvertTables(openDataFolder(storage.data_dir).culvertDb));
    return { registry, close: registry.close };
  }
  const { connect } = await import('../stores/postgres/database.ts');
  const { migrate } = await import('../stores/postgres/open.ts');
  const { tablesIn } = await import('../stores/postgres/stores.ts');
  const database = await connect(storage.database);
  try {
    await migrate(database.rest, database.place, undefined, note);
  } catch (error) {
    await database.close();
    throw error;
  }
  return { registry: createVectorRegistry(tablesIn(database)), close: database.close };
}
