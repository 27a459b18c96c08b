import type { AccountStore } from '../books/auth/account-store.ts';
import { type BooksTrouble, booksClosed, troubleOf } from '../books/metering/quota.ts';
import type { Config } from '../config/schema.ts';
import { urlOf } from '../http/connections/listening.ts';
import { FailureError } from '../kernel/failure.ts';
import { StartRefused } from '../processes/lifetime.ts';
import { withTakenAtStart } from '../processes/reloads.ts';
import type { Seat } from '../processes/worker-seat.ts';
import { openDataFolder } from '../stores/sqlite/data-folder.ts';
import { lockDataFolder, watchDataFolder } from '../stores/sqlite/data-folder-lock.ts';
import { lookForDamage } from '../stores/sqlite/integrity.ts';
import { openSecrets } from '../stores/storage-secrets.ts';
import { openStores, type StoreOptions } from './stores.ts';

/** Where everything is recorded. */
export type Books = Awaited<ReturnType<typeof openBooks>>;

export interface BooksOptions extends Omit<StoreOptions, 'folder'> {
  /** Called at once with how each part is closed. */
  opened(close: () => Promise<void> | void): void;
}

/** Locks the data folder and opens its stores. Throws `StartRefused` for what the operator can correct. */
export async function openBooks({ config, clock, seat, order, onTrouble, opened }: BooksOptions) {
  const folder = openDataFolder(config.storage.data_dir);
  const { host, port } = config.server;
  const lock = seat === undefined ? lockDataFolder(folder, urlOf(host, port)) : lockOfPrimary;
  if (lock.kind === 'held') throw new StartRefused(lock.message);
  opened(lock.release);
  const stores = await openStores({ config, folder, clock, seat, order, onTrouble });
  opened(stores.close);
  const folderWatch = watchDataFolder({ folder, report: onTrouble, clock });
  opened(folderWatch.stop);
  const damage = seat?.standing.books == null ? lookForDamage({ folder, notify: onTrouble }) : damageAtPrimary(seat);
  opened(damage.stop);
  // With PostgreSQL and Qdrant the folder holds nothing that a request is charged for or that is needed again.
  const isTruthInFolder = config.storage.database === 'sqlite' || config.vectors.engine !== 'qdrant';
  const troubles = isTruthInFolder ? [folderWatch, damage] : [];
  return {
    folder,
    stores: {
      ...stores,
      accounts: closableAccounts(stores.accounts, troubles),
      troubles: () => ({ ...stores.troubles(), folder: troubleOf([folderWatch, damage]) }),
    },
    /** While one of them says why, nothing that counts may begin. */
    troubles,
    /** Sign and seal what this server gives out and takes back. */
    secrets: openSecrets(config, folder),
    /** New connections to the stores log in as this configuration says. */
    login(next: Config): void {
      const { database, state } = withTakenAtStart(config, next).storage;
      Object.assign(stores.urls, { database, state });
    },
    /** Publishes where this server is, for any other process that wants the folder. */
    announce: lock.announce,
  };
}

/** The primary that has the books looks through the folder's databases. */
function damageAtPrimary({ standing }: Seat) {
  return {
    get trouble() {
      return standing.books?.damage ?? null;
    },
    stop() {},
  };
}

const lockOfPrimary = { kind: 'locked', announce() {}, release() {} } as const;

/** Accounts, keys and plans are read, and not changed while there is trouble. */
function closableAccounts(store: AccountStore, troubles: readonly BooksTrouble[]): AccountStore {
  return {
    ...store,
    async apply(changes, audit) {
      const trouble = troubleOf(troubles);
      if (trouble !== null) throw new FailureError(booksClosed(trouble));
      return store.apply(changes, audit);
    },
  };
}
