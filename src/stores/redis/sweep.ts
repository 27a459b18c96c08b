import type { QuotaBooks, Scope } from '../../books/metering/counters.ts';
import { every } from '../../kernel/every.ts';
import { openKey, scopeKey, sweptKey } from './keys.ts';
import type { Link } from './link.ts';
import { isLeaseId, oldMs } from './lua-ahead.ts';
import { forgetScript, oldScript } from './lua-seed.ts';
import { type OpenEntry, readEntry } from './seed-fields.ts';
import type { Settlements } from './settlements.ts';
import type { Reply } from './wire.ts';

const sweepEveryMs = 10_000;

/** Accounts that are looked after; above it the longest unused are left to the process that uses them next. */
const sweptAccountsMax = 10_000;

/**
 * Finds running requests whose process cannot end them any more. Those that the ledger never got are given back whole;
 * where it has settled them, what counts them is forgotten and so seeded anew, with tokens and USD.
 */
export type Sweep = ReturnType<typeof createSweep>;

export function createSweep(link: Pick<Link, 'run' | 'ready'>, books: QuotaBooks, settlements: Settlements) {
  const accounts = new Set<string>();
  /** By account: settled according to the ledger a round ago, when the settlement may only just have been on the way. */
  const suspects = new Map<string, ReadonlySet<string>>();
  let busy = false;
  const close = every(sweepEveryMs, () => void sweep());

  async function sweep(): Promise<void> {
    if (busy) return;
    busy = true;
    try {
      for (const account of [...accounts]) {
        if (!link.ready()) return;
        await sweepAccount(account);
      }
    } catch {
      // The ledger cannot be read now; admission says so to the operator. The next round is soon.
    } finally {
      busy = false;
    }
  }

  async function sweepAccount(account: string): Promise<void> {
    const answer = await oldIn(link, account);
    if (typeof answer === 'string') return;
    const running = answer[1] as number;
    // Nothing runs: it is used again, or it is of no interest.
    if (running === 0) accounts.delete(account);
    // Another process has just looked.
    if (running === -1) return;
    const before = suspects.get(account);
    suspects.delete(account);
    if (answer.length === 2) return;
    const old = withoutLeases(entriesOf(answer), account, settlements);
    const { open, settled } = await books.seed(
      account,
      [],
      old.map(({ requestId }) => requestId),
    );
    const settledNow = new Set<string>();
    const stillOpen = new Set(open.map(({ requestId }) => requestId));
    for (const { requestId, scopes } of old) {
      if (stillOpen.has(requestId)) continue;
      if (!settled.has(requestId))
        settlements.settle({ requestId, account, scopes }, { costMilli: 0, tokens: 0, usdNano: 0 });
      else if (before?.has(requestId)) await forget(link, account, requestId, scopes);
      else settledNow.add(requestId);
    }
    if (settledNow.size > 0) suspects.set(account, settledNow);
  }

  return {
    /** This account is in use here. */
    used(account: string): void {
      // The most recently used are last.
      accounts.delete(account);
      accounts.add(account);
      if (accounts.size > sweptAccountsMax)
        for (const oldest of accounts) {
          suspects.delete(oldest);
          return void accounts.delete(oldest);
        }
    },
    /** One round; tests need not wait for the timer. */
    run: sweep,
    close,
  };
}

function entriesOf(answer: readonly Reply[]): OpenEntry[] {
  const entries: OpenEntry[] = [];
  for (let i = 2; i < answer.length; i += 2) entries.push(readEntry(answer[i] as string, answer[i + 1] as string));
  return entries;
}

/** Leases end soon, so these are of replicas that are gone. Requests may have taken what is left of them: it counts. */
function withoutLeases(entries: readonly OpenEntry[], account: string, settlements: Settlements): OpenEntry[] {
  return entries.filter((entry) => {
    if (!isLeaseId(entry.requestId)) return true;
    settlements.settle({ ...entry, account }, { costMilli: entry.costMilli, tokens: 0, usdNano: 0 });
    return false;
  });
}

function oldIn(link: Pick<Link, 'run'>, account: string) {
  const times = [String(oldMs), String(sweepEveryMs - 1_000)];
  return link.run(oldScript, [openKey(account), sweptKey(account)], times);
}

function forget(link: Pick<Link, 'run'>, account: string, requestId: string, scopes: readonly Scope[]) {
  return link.run(forgetScript, [openKey(account), ...scopes.map((scope) => scopeKey(account, scope))], [requestId]);
}
