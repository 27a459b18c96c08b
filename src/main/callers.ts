import { setTimeout } from 'node:timers/promises';
import { nothingStored, type Stored } from '../books/auth/account-store.ts';
import { mintAdminKey } from '../books/auth/api-key.ts';
import { BodyRules } from '../books/auth/body-rules.ts';
import { declaredKeys } from '../books/auth/declared-keys.ts';
import { issueFirstKey } from '../books/auth/issue-key.ts';
import { KeyPlaces, writePlaces } from '../books/auth/key-places.ts';
import { createKeyRing, type KeyRing } from '../books/auth/key-ring.ts';
import { createRunKeys } from '../books/auth/run-keys.ts';
import { watchKeys } from '../books/auth/watch-keys.ts';
import { LostPlans } from '../books/metering/lost-plans.ts';
import { createPlanBook, type PlanBook, PlansInForce } from '../books/metering/plan-book.ts';
import { note } from '../cli/print.ts';
import { isLoopback } from '../config/loopback-host.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../kernel/clock.ts';
import { culvert } from '../kernel/command-form.ts';
import { failureIn, isFailure } from '../kernel/failure.ts';
import { factsOf } from '../kernel/failure-facts.ts';
import type { Log } from '../observe/log.ts';
import { StartRefused } from '../processes/lifetime.ts';
import type { Seat } from '../processes/worker-seat.ts';
import { ensureAdminKey, keyFiles, readIfThere, replaceFile } from '../stores/sqlite/data-folder.ts';
import type { Books } from './books.ts';

/** The present keys and plans, of the file and of the store. */
export interface Callers {
  ring: KeyRing;
  plans(): PlanBook;
  bodyRules: BodyRules;
  /** The name of an account's plan; the default plan for an unknown one. */
  planOf(account: string): string;
  /** Whether a plan, an account or a key names a guard. */
  nameGuards(): boolean;
  /** The generated one; null where the configuration says which, or there is none. */
  adminKey: FirstKey | null;
  /**
   * A newcomer's key, made now; null when there is a key already. It is made after the start: a write loads what
   * compiles queries, and no caller without a key waits.
   */
  issueFirstKey(): Promise<FirstKey | null>;
  /** Whether it is still to be made, or to be seen that there is one. */
  awaitsFirstKey(): boolean;
  /** The file of a first start's key, as long as that key still opens this server. */
  firstKeyFile(): string | null;
  /** Brings ring and plans up to the store. */
  look(): Promise<unknown>;
  /** The same for a key that is not known, at most four times a second. Never rejects. */
  lookForKey(): Promise<void>;
  /** The same after a change of this process's own: other workers of its server look, too. */
  refresh(): Promise<unknown>;
  declare(config: Config): void;
  /** Writes from where keys were used in this process since the last time. */
  writePlaces(): Promise<void>;
  /** Why the store cannot be read, in words; null when it can. */
  trouble(): string | null;
  stop(): Promise<void>;
}

/** A key that a first start makes, and the file in which its owner finds it again. */
export interface FirstKey {
  /** The secret, made at this start; null: at an earlier one. */
  made: string | null;
  /** Null: it could not be written. */
  file: string | null;
}

/** The first look at the keys is tried for so long: the database was opened just before, and may be slow. */
const firstLookMaxMs = 60_000;
const firstLookPauseMs = 1_000;

/** Throws `StartRefused` when the keys cannot be read within `firstLookMaxMs`: a stall alone ends no start. */
async function firstLook(poll: () => Promise<unknown>): Promise<void> {
  const untilMs = performance.now() + firstLookMaxMs;
  for (let looks = 1; ; looks++) {
    try {
      await poll();
      return;
    } catch (error) {
      const { message } = factsOf(failureIn(error), 0);
      if (performance.now() > untilMs) throw new StartRefused(`Accounts and keys cannot be read. ${message}`);
      if (looks === 1) note(`${message} Culvert waits for its accounts and keys, at most ${firstLookMaxMs / 1_000} s.`);
    }
    await setTimeout(firstLookPauseMs);
  }
}

/** Null when it cannot be written: the only copy is then shown. */
function keep(file: string, secret: string): string | null {
  try {
    replaceFile(file, `${secret}\n`);
    return file;
  } catch {
    return null;
  }
}

/** Throws `StartRefused` when other machines could call and nobody has a key. */
export async function openCallers(options: {
  config: Config;
  books: Pick<Books, 'folder' | 'secrets' | 'stores'>;
  /** Contents of the store, whenever they have changed. */
  onStored(stored: Stored): void;
  /** Tells other workers of a change of this one; undefined: there are none. */
  seat: Pick<Seat, 'primary'> | undefined;
  /** `issueFirstKey` will be called. */
  greets: boolean;
  clock: Clock;
  log: Log;
}): Promise<Callers> {
  const { clock, log } = options;
  const { folder, secrets } = options.books;
  const { accounts } = options.books.stores;
  let { config } = options;
  const { host } = config.server;
  // A reload that takes `admin.key` out of the file leaves the operator the generated one.
  const files = keyFiles(folder);
  const generatedAdminKey = () => {
    try {
      return config.admin.key === undefined && isLoopback(host) ? ensureAdminKey(folder, mintAdminKey) : null;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new StartRefused(`admin.key: ${files.admin} cannot be used (${why}). Remove it, or set admin.key.`);
    }
  };
  const generated = generatedAdminKey();
  const places = new KeyPlaces();
  const onUnwritten = (error: unknown) => log.warn({ error: String(error) }, 'addresses of keys were not written');
  const placeWriter = writePlaces(places, accounts, clock, onUnwritten);
  places.byRequest = config.server.trusted_proxies.length > 0;
  const ring = createKeyRing(
    clock,
    declaredKeys(config, generated?.key ?? null),
    createRunKeys(secrets.sealer('run keys')),
    places,
  );
  const bodyRules = new BodyRules();
  let stored = nothingStored;
  const lostPlans = new LostPlans(log);
  const plans = new PlansInForce(bookOfPlans());

  function bookOfPlans(): PlanBook {
    const onUnreadable = (name: string) =>
      log.warn({ plan: name }, 'a stored plan cannot be read any more, so its accounts have the default plan');
    const book = createPlanBook({ config, stored: stored.plans, onUnreadable });
    lostPlans.look(book, stored.accounts);
    return book;
  }

  const watch = watchKeys(
    accounts,
    (next) => {
      stored = next;
      // Before the ring, whose new principals ask the book for their limits.
      plans.replace(bookOfPlans());
      ring.restock(next);
      bodyRules.take(next);
      options.onStored(next);
    },
    (error) => log.error({ error: String(error) }, 'keys could not be read'),
  );
  await firstLook(watch.poll).catch((error: unknown) => {
    watch.stop();
    throw error;
  });
  if (ring.userKeys() === 0 && !isLoopback(host)) {
    watch.stop();
    throw new StartRefused(
      `No key is configured, and other machines can reach ${host}. Set CULVERT_API_KEY=sk-cv-… to a key of your own, or create one first: ${culvert} keys create --account default --name first`,
    );
  }

  let awaitsFirstKey = options.greets;
  async function issueFirst(): Promise<FirstKey | null> {
    if (ring.userKeys() > 0) return null;
    const issued = await issueFirstKey(accounts, config.default_plan, clock.wallMs());
    await watch.poll();
    if (issued === null) return null;
    const { secret } = issued.minted;
    return { made: secret, file: keep(files.first, secret) };
  }

  return {
    ring,
    plans: plans.current,
    bodyRules,
    planOf: ring.planOf,
    nameGuards: () => ring.nameGuards() || plans.current().namesGuards,
    adminKey: generated === null ? null : { made: generated.created ? generated.key : null, file: files.admin },
    issueFirstKey: () => issueFirst().finally(() => (awaitsFirstKey = false)),
    awaitsFirstKey: () => awaitsFirstKey,
    firstKeyFile() {
      const secret = readIfThere(files.first)?.trim();
      if (!secret) return null;
      return isFailure(ring.authenticate({ authorization: `Bearer ${secret}` }, () => null)) ? null : files.first;
    },
    look: watch.poll,
    lookForKey: watch.pollForUnknown,
    async refresh() {
      await watch.poll();
      await options.seat?.primary.changed();
    },
    declare(next) {
      config = next;
      places.byRequest = config.server.trusted_proxies.length > 0;
      plans.replace(bookOfPlans());
      ring.declare(declaredKeys(config, generatedAdminKey()?.key ?? null));
    },
    trouble: watch.trouble,
    writePlaces: placeWriter.write,
    async stop() {
      watch.stop();
      await placeWriter.stop();
    },
  };
}
