import type { Finding } from '../finding.ts';

/** A problem that requests run into, with its account; null: it belongs to none. */
export interface Trouble extends Finding {
  state: 'problem' | 'warning';
  page: 'providers' | 'models' | 'accounts' | 'keys' | 'plans' | 'requests';
  account: string | null;
  alert?: string;
  /** One of many that keys may have alike; absent: it is none of them. */
  ofKeys?: 'expiring' | 'blocked';
}

/** `in 5 min`: the time until something, as people say it. */
export function within(ms: number): string {
  if (ms < 1_000) return 'in a moment';
  if (ms < 120_000) return `in ${Math.round(ms / 1_000)} s`;
  if (ms < 7_200_000) return `in ${Math.round(ms / 60_000)} min`;
  return ms < 172_800_000 ? `in ${Math.round(ms / 3_600_000)} h` : `in ${Math.round(ms / 86_400_000)} days`;
}

/** Fix, by the page that shows more. */
const fixes: Readonly<Record<Trouble['page'], string>> = {
  providers: 'Test it on its page, or with culvert providers test.',
  models: 'Give it a target that answers.',
  plans: 'Write the plan again.',
  accounts: 'Wait, or give the account a plan that allows more.',
  keys: 'See on its page what it spends. Raise the soft limit, or lower its budget.',
  requests: 'Look which requests failed, and why: culvert requests list --status 5.',
};

/** A trouble that fails requests; `id` is the entry of its page. */
export function problem(message: string, page: Trouble['page'], id: string): Trouble {
  return { check: `${page.slice(0, -1)} ${id}`, state: 'problem', message, fix: fixes[page], page, id, account: null };
}

/** A trouble that fails no request yet. */
export function warning(message: string, page: Trouble['page'], id: string): Trouble {
  return { ...problem(message, page, id), state: 'warning' };
}
