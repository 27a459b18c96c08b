import type { KeyWindows } from '../../../admin/entries/key-windows.ts';
import type { WindowReply } from '../../../admin/entries/windows.ts';
import { type AdminClient, AdminRefused } from '../../admin-client.ts';
import { shownTime } from '../../rows.ts';
import { table } from '../../table.ts';

/** One limit of an account, or of a key where its plan counts by key, as `/accounts/{id}/windows` gives it. */
export type LimitRow = Omit<WindowReply, 'frees'>;

/** Every limit of an account: requests and tokens of the minute, and units, tokens and USD of the windows. */
export interface AccountLimits {
  data: readonly { key: string | null; name: string | null; windows: readonly LimitRow[] }[];
}

/**
 * Null where no server runs that counts, its counters cannot be asked, or this operator sees sums alone: that hides
 * neither the account nor its sums.
 */
export async function limitsOf(admin: AdminClient, account: string): Promise<AccountLimits | null> {
  const path = `/accounts/${encodeURIComponent(account)}/windows`;
  return orNull(async () => (await admin.request('GET', path)) as AccountLimits);
}

async function orNull<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof AdminRefused && [403, 503].includes(error.status)) return null;
    throw error;
  }
}

/** The limits of a key, as `/keys/{id}/windows` gives them; null where `limitsOf` gives null. */
export async function keyLimitsOf(admin: AdminClient, id: string): Promise<KeyWindows | null> {
  return orNull(async () => (await admin.request('GET', `/keys/${encodeURIComponent(id)}/windows`)) as KeyWindows);
}

/** One line a limit; units always, others where they are limited, warn or are used. */
export function limitTable({ data }: AccountLimits): string {
  const byKey = data.some(({ key }) => key !== null);
  const rows = data.flatMap(({ key, name, windows }) =>
    windows.filter(isShown).map((row) => ({ row, first: byKey ? [name ?? key ?? ''] : [] })),
  );
  const warns = rows.some(({ row }) => row.soft !== null);
  const lines = rows.map(({ row, first }) => [
    ...first,
    windowOf(row),
    row.measure === 'usd' ? 'USD' : row.measure,
    shownAmount(row.used),
    row.limit === null ? 'unlimited' : shownAmount(row.limit),
    ...(warns ? [row.soft === null ? '' : shownAmount(row.soft)] : []),
    row.remaining === null ? '' : shownAmount(row.remaining),
    shownTime(row.frees_at),
  ]);
  const head = ['window', 'measure', 'used', 'allowed', ...(warns ? ['warns at'] : []), 'remaining', 'next free at'];
  return table(byKey ? ['key', ...head] : head, lines);
}

function isShown({ measure, tier, limit, soft, used }: LimitRow): boolean {
  return limit !== null || soft !== null || used > 0 || (measure === 'units' && tier === null);
}

function windowOf({ window, calendar, tier }: LimitRow): string {
  if (calendar !== null) return `${calendar.period} (${calendar.time_zone})`;
  return tier === null ? window : `${window} (${tier})`;
}

/** USD have up to nine decimals, and sums of decimals more. */
function shownAmount(amount: number): string {
  return String(Number(amount.toFixed(6)));
}
