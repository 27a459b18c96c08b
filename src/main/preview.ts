import { existsSync } from 'node:fs';
import type { Stored } from '../books/auth/account-store.ts';
import { createSetup } from '../books/auth/setup.ts';
import type { Config } from '../config/schema.ts';
import { snapshotOfStart } from '../inference/models/snapshot-of-start.ts';
import { dataFolderAt } from '../stores/sqlite/data-folder.ts';
import { openSecrets } from '../stores/storage-secrets.ts';
import { listsInFolder } from './lists-in-folder.ts';

/** The snapshot that a start would serve here. */
export function previewSnapshot(config: Config, env: NodeJS.ProcessEnv): ReturnType<typeof snapshotOfStart> {
  const folder = dataFolderAt(config.storage.data_dir);
  return snapshotOfStart(config, env, { ...listsInFolder(folder, { log: { warn() {} } }), dataDir: folder.path });
}

/**
 * The same with the stored entries of the data folder; without those of a shared database, which a preview must not
 * migrate.
 */
export async function previewHere(config: Config, env: NodeJS.ProcessEnv): ReturnType<typeof previewSnapshot> {
  const folder = dataFolderAt(config.storage.data_dir);
  if (config.storage.database !== 'sqlite' || !existsSync(folder.culvertDb)) return previewSnapshot(config, env);
  const stored = await storedIn(folder.culvertDb);
  if (stored instanceof Error) {
    const { snapshot, problems } = await previewSnapshot(config, env);
    return { snapshot, problems: [`what is kept cannot be read: ${stored.message}`, ...problems] };
  }
  const secrets = openSecrets(config, folder);
  const setup = createSetup({ config, env, secrets, log: { warn() {}, error() {} } });
  setup.take(stored);
  const entryProblems = [...setup.report().problems].map(([entry, problem]) => `${entry}: ${problem}`);
  const { snapshot, problems } = await previewSnapshot(setup.inForce(), env);
  return { snapshot, problems: [...entryProblems, ...problems] };
}

/** Or why it cannot be read: a damaged file keeps nobody from a preview. */
async function storedIn(file: string): Promise<Stored | Error> {
  const { readSqliteAccounts } = await import('../stores/sqlite/stores.ts');
  try {
    return await readSqliteAccounts(file);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
