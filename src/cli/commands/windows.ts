import { shownTime } from '../rows.ts';
import { table } from '../table.ts';

/** The rolling windows of an account, as usage answers tell them. */
export interface Windows {
  windows?: Readonly<
    Record<string, { used: number; allowed: number | null; remaining?: number | null; resets_at?: string | null }>
  >;
}

/** One line a window; `allowed` null is unlimited. */
export function windowTable({ windows = {} }: Windows): string {
  return table(
    ['window', 'used', 'allowed', 'remaining', 'next unit free at'],
    Object.entries(windows).map(([name, { used, allowed, remaining, resets_at }]) => [
      name,
      String(used),
      allowed === null ? 'unlimited' : String(allowed),
      remaining === null || remaining === undefined ? '' : String(remaining),
      shownTime(resets_at),
    ]),
  );
}
