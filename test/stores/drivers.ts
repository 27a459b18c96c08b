import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AccountStore } from '../../src/auth/account-store.ts';
import { type Clock, systemClock } from '../../src/kernel/clock.ts';
import { crashedEvent } from '../../src/metering/crashed.ts';
import type { Ledger } from '../../src/metering/ledger.ts';
import { openSqliteAccountStore } from '../../src/stores/sqlite/account-store.ts';
import { openSqliteLedger } from '../../src/stores/sqlite/ledger.ts';

/**
 * One store as a server sees it. Several may be opened over one: other processes, or the next start. Suites await
 * whatever opens or removes: a driver over a network needs it.
 */
export interface StoreUnderTest {
  /** For child processes: what `driverNamed(name).over(place)` opens again. */
  place: string;
  accounts(): AccountStore | Promise<AccountStore>;
  ledger(bootId: string, clock?: Clock): Ledger | Promise<Ledger>;
  /**
   * Whatever is dead is known to be dead from here on, as it is by itself after 30 s where several processes share the
   * books; nothing to do where another boot is a dead one. Suites call it after a kill and before `recover`.
   */
  letTheDeadBeKnown(): void | Promise<void>;
  remove(): void | Promise<void>;
}

export interface StoreDriver {
  name: string;
  /** Why it cannot be tested on this machine: the title's `skip`. */
  skip: string | false;
  create(): StoreUnderTest | Promise<StoreUnderTest>;
  over(place: string): StoreUnderTest;
}

const sqlite: StoreDriver = {
  name: 'sqlite',
  skip: false,
  create: () => sqlite.over(mkdtempSync(join(tmpdir(), 'culvert-stores-'))),
  over: (place) => ({
    place,
    accounts: () => openSqliteAccountStore(join(place, 'culvert.db')),
    ledger: (bootId, clock = systemClock) =>
      openSqliteLedger({
        file: join(place, 'ledger.db'),
        bootId,
        clock,
        chargeCrashed: crashedEvent,
        onTrouble: () => {},
      }),
    letTheDeadBeKnown: () => {},
    remove: () => rmSync(place, { recursive: true, force: true }),
  }),
};

/** Every suite of this folder runs over each of these. */
export const drivers: readonly StoreDriver[] = [sqlite];

export function driverNamed(name: string): StoreDriver {
  const driver = drivers.find((candidate) => candidate.name === name);
  if (driver === undefined) throw new Error(`no store driver ${name}`);
  return driver;
}
