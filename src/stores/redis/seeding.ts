import { randomUUID } from 'node:crypto';
import type { QuotaBooks, Scope } from '../../books/metering/counters.ts';
import { openKey, scopeKey } from './keys.ts';
import { epochGuardMs, type Link } from './link.ts';
import { isLeaseId } from './lua-ahead.ts';
import { beginSeedScript, seedScript } from './lua-seed.ts';
import { readEntry, type SeedFacts, seedScope } from './seed-fields.ts';

/** Accounts that this process seeds at once: the ledger serves other things too. */
const seedsAtOnceMax = 16;

/** Accounts that wait for their turn; more are refused. */
const seedsWaitingMax = 10_000;

const recentCallsMs = 61_000;

/** Begins scopes that Redis does not count yet, from the ledger. */
export interface Seeding {
  /** True once they are counted, by whichever process; false: that is impossible now. One at a time for an account. */
  ensure(account: string, scopes: readonly Scope[]): Promise<boolean>;
}

export function createSeeding(options: {
  link: Pick<Link, 'run'>;
  books: QuotaBooks;
  rules: Pick<SeedFacts, 'scopesOf' | 'callMilliIn'>;
  onTrouble: (message: string) => void;
}): Seeding {
  const { link, books, rules, onTrouble } = options;
  const running = new Map<string, { scopes: ReadonlySet<Scope>; done: Promise<boolean> }>();
  let working = 0;
  const turns: (() => void)[] = [];
  let reported = '';

  async function ensure(account: string, scopes: readonly Scope[]): Promise<boolean> {
    for (;;) {
      const other = running.get(account);
      if (other === undefined) break;
      const done = await other.done;
      if (!done || scopes.every((scope) => other.scopes.has(scope))) return done;
    }
    if (turns.length >= seedsWaitingMax) return false;
    const done = inTurn(account, scopes).finally(() => running.delete(account));
    running.set(account, { scopes: new Set(scopes), done });
    return done;
  }

  async function inTurn(account: string, scopes: readonly Scope[]): Promise<boolean> {
    if (working >= seedsAtOnceMax) await new Promise<void>((resolve) => turns.push(resolve));
    working += 1;
    try {
      return await seed(account, scopes);
    } catch (error) {
      const words = String(error);
      if (words !== reported) onTrouble(`redis: counters cannot be seeded from the ledger: ${words}`);
      reported = words;
      return false;
    } finally {
      working -= 1;
      turns.shift()?.();
    }
  }

  async function seed(account: string, scopes: readonly Scope[]): Promise<boolean> {
    const hashes = scopes.map((scope) => scopeKey(account, scope));
    // Running requests are read before the ledger is: one that ends meanwhile is in its snapshot, or still to be ended
    // here.
    let begun = await link.run(beginSeedScript, [openKey(account), ...hashes], [randomUUID(), String(epochGuardMs)]);
    if (typeof begun === 'string') return false;
    const waitMs = begun[3] as number;
    if (waitMs > 0) {
      await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
      begun = await link.run(beginSeedScript, [openKey(account), ...hashes], [randomUUID(), String(epochGuardMs)]);
      if (typeof begun === 'string' || (begun[3] as number) > 0) return false;
    }
    const [, nowMs, generation] = begun as [number, number, string];
    const seeded = begun.slice(4, 4 + scopes.length) as number[];
    const entries = [];
    for (let i = 4 + scopes.length; i < begun.length; i += 2)
      entries.push(readEntry(begun[i] as string, begun[i + 1] as string));
    const [fromLedger, calls] = await Promise.all([
      books.seed(
        account,
        scopes,
        entries.flatMap(({ requestId }) => (isLeaseId(requestId) ? [] : requestId)),
      ),
      // In a separate turn: should it throw at once, the other is still awaited.
      Promise.resolve().then(() => books.recentCalls(account, nowMs - recentCallsMs)),
    ]);
    reported = '';
    const facts: SeedFacts = { seed: fromLedger, calls, entries, nowMs, ...rules };
    const done = await Promise.all(
      scopes.map((scope, i) => {
        const { fields, running: runs, settled } = seedScope(account, scope, facts);
        return link.run(
          seedScript,
          [openKey(account), hashes[i]!],
          [
            scope,
            generation,
            String(seeded[i]),
            String(runs.length),
            String(settled.length),
            ...runs.flatMap((run) => [run.requestId, String(run.quotaMs), String(run.costMilli)]),
            ...settled,
            ...fields,
          ],
        );
      }),
    );
    return done.every((answer) => typeof answer !== 'string');
  }

  return { ensure };
}
