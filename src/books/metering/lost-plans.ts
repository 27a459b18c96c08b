import type { PlanBook } from './plan-book.ts';

/** Most accounts in one line of the log. */
const namedMax = 10;

/**
 * Warns of accounts whose plan does not exist any more. A plan that left the file may have allowed less than the default, and
 * nobody should learn that from the bill.
 */
export class LostPlans {
  readonly #log: { warn(facts: object, message: string): void };
  #known: ReadonlySet<string> = new Set();

  constructor(log: { warn(facts: object, message: string): void }) {
    this.#log = log;
  }

  /** Warns of each plan once, until it exists again. */
  look(book: Pick<PlanBook, 'has'>, accounts: readonly { id: string; plan: string }[]): void {
    const lost = new Set<string>();
    for (const { plan } of accounts) if (!book.has(plan)) lost.add(plan);
    for (const plan of lost) {
      if (this.#known.has(plan)) continue;
      const having = accounts.filter((account) => account.plan === plan).map(({ id }) => id);
      this.#log.warn(
        { plan, accounts: having.slice(0, namedMax), more: Math.max(0, having.length - namedMax) },
        'accounts have a plan that does not exist, so they have the default plan meanwhile',
      );
    }
    this.#known = lost;
  }
}
