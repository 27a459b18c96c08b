import type { UsageGroup } from '../../books/metering/ledger.ts';
import { type LimitReading, type LimitReadings, readLimits } from '../../books/metering/limits/limit-view.ts';
import type { KeyLimits } from '../../books/metering/plan.ts';
import { limitsOfKey, raisedBy } from '../../books/metering/plan-rules.ts';
import { periodLabels, periodNames, windowLabels, windowNames } from '../../books/metering/window.ts';
import type { KeyLimitsConfig } from '../../config/schema.ts';
import { type Directory, type KnownAccount, type KnownKey, livingKeysOf } from '../directory.ts';
import type { AdminParts } from '../parts.ts';
import { problem, type Trouble, warning, within } from './trouble.ts';

const fullShare = 0.9;
/** Budgets are reported sooner than other limits. */
const spentShare = 0.8;
/** Accounts whose windows are read: who used most within a month. */
const accountsMax = 50;
const keysMax = 10;
/** Number of keys whose soft limits are read: those that used most within a month. */
const softKeysMax = 200;
const monthMs = 30 * 86_400_000;

/** Limits that are used up or nearly so, and soft limits that are passed, of the accounts and keys that use most. */
export async function limitTroubles(parts: AdminParts, directory: Directory): Promise<Trouble[]> {
  const [ofAccounts, ofKeys] = await Promise.all([accountTroubles(parts, directory), keyTroubles(parts, directory)]);
  return [...ofAccounts, ...ofKeys];
}

async function accountTroubles(parts: AdminParts, directory: Directory): Promise<Trouble[]> {
  const { counters, clock, plans } = parts;
  if (counters === null) return [];
  const nowMs = clock.wallMs();
  const used = await mostUsed(parts, 'account');
  const accounts = used.slice(0, accountsMax).flatMap((id) => directory.account(id) ?? []);
  const found = await Promise.all(accounts.map((account) => fullOf(account)));
  return found.flat();

  async function fullOf({ id, plan: planName, extraBudget }: KnownAccount): Promise<Trouble[]> {
    const plan = raisedBy(plans().plan(planName), extraBudget, nowMs);
    const whole = { account: id, plan, keyLimits: null };
    const owner: Owner = { who: id, page: 'accounts', id, account: id };
    if (plan.scope === 'account') {
      const readings = await readLimits(counters!, { ...whole, tenant: null });
      return [...fullIn(owner, readings, nowMs), ...overSoft(owner, readings)];
    }
    const keys = livingKeysOf(directory, id).slice(0, keysMax);
    const found = keys.map(async ({ tenant, name }) => {
      const readings = await readLimits(counters!, { ...whole, tenant });
      const ofKey = { ...owner, who: `${id}/${name}` };
      return [...fullIn(ofKey, readings, nowMs), ...overSoft(ofKey, readings)];
    });
    return (await Promise.all(found)).flat();
  }
}

/** Soft limits that keys have in addition to those of their plan. */
async function keyTroubles(parts: AdminParts, directory: Directory): Promise<Trouble[]> {
  const { counters, clock, plans } = parts;
  if (counters === null) return [];
  const nowMs = clock.wallMs();
  const read = directory.keys.flatMap((key): { key: KnownKey; limits: KeyLimits }[] => {
    if (key.revokedMs !== null || key.limits === null) return [];
    const limits = limitsOfKey(key.limits as KeyLimitsConfig, nowMs);
    return limits.soft === undefined ? [] : [{ key, limits }];
  });
  const found = (await busiest(parts, read)).map(async ({ key: { id, name, account, tenant }, limits }) => {
    const plan = plans().plan(directory.account(account)?.plan ?? '');
    const { key } = await readLimits(counters, { account, tenant, plan, keyLimits: limits });
    const owner: Owner = { who: `${account}/${name}`, page: 'keys', id, account };
    return key === null ? [] : overSoft(owner, key);
  });
  return (await Promise.all(found)).flat();
}

async function busiest<T extends { key: KnownKey }>(parts: AdminParts, read: readonly T[]): Promise<readonly T[]> {
  if (read.length <= softKeysMax) return read;
  const places = new Map((await mostUsed(parts, 'key')).map((id, place) => [id, place]));
  const placeOf = ({ key }: T) => places.get(key.id) ?? Number.POSITIVE_INFINITY;
  return read
    .filter((one) => placeOf(one) < Number.POSITIVE_INFINITY)
    .sort((a, b) => placeOf(a) - placeOf(b))
    .slice(0, softKeysMax);
}

/** Ids of the accounts or keys that used anything within a month, the busiest first. */
async function mostUsed({ ledger, clock }: AdminParts, groupBy: UsageGroup): Promise<string[]> {
  const nowMs = clock.wallMs();
  const span = { fromMs: nowMs - monthMs, toMs: nowMs + 1 };
  const rows = await ledger.usage({ accounts: null, where: {}, groupBy, splitBy: null, ...span });
  return rows.map(({ group }) => group);
}

/** Account or key of a trouble, and the page that shows more of it. */
interface Owner {
  who: string;
  page: 'accounts' | 'keys';
  id: string;
  account: string;
}

interface Watched {
  reading: LimitReading;
  /** `the budget of its 30-day window` */
  what: string;
  unit: 'units' | 'tokens' | 'usd';
  /** `month`, `calendar day`: as names of alerts have it. */
  window: string;
  /** Whether the whole of it is available again when its period ends. */
  isOfCalendar: boolean;
}

function watchedIn({ windows, tokens, budget, ...calendars }: LimitReadings): Watched[] {
  const ofCalendar = [calendars.calendar_budget, calendars.soft_calendar_budget].flatMap((calendar) =>
    periodNames.flatMap((name): Watched[] => {
      const reading = calendar?.[name];
      return reading === undefined
        ? []
        : [{ reading, what: `its ${periodLabels[name]}`, unit: 'usd', window: `calendar ${name}`, isOfCalendar: true }];
    }),
  );
  const ofWindows = windowNames.flatMap((window): Watched[] => {
    const its = `its ${windowLabels[window]}`;
    return [
      { reading: windows[window], what: its, unit: 'units', window, isOfCalendar: false },
      { reading: tokens[window], what: `the tokens of ${its}`, unit: 'tokens', window, isOfCalendar: false },
      { reading: budget[window], what: `the budget of ${its}`, unit: 'usd', window, isOfCalendar: false },
    ];
  });
  return [...ofWindows, ...ofCalendar];
}

function fullIn({ who, page, id, account }: Owner, readings: LimitReadings, nowMs: number): Trouble[] {
  return watchedIn(readings).flatMap(({ reading, what, unit, window, isOfCalendar }): Trouble[] => {
    const { used, allowed, resets_at: freesAt } = reading;
    const least = unit === 'usd' ? spentShare : fullShare;
    if (allowed === null || allowed <= 0 || used < allowed * least) return [];
    const share = Math.floor((used / allowed) * 100);
    const next = used > allowed ? 'the oldest part of it stops counting' : 'the next part of it is available again';
    const part = isOfCalendar ? 'all of it is available again' : next;
    const again = freesAt === null ? '' : `; ${part} ${within(Date.parse(freesAt) - nowMs)}`;
    const text = `${who} has used ${share}% of ${what} (${amounts[unit](used, allowed)}${again}).`;
    const make = used >= allowed ? problem : warning;
    return [{ ...make(text, page, id), ...(unit === 'usd' && { alert: `budget ${who} ${window}` }), account }];
  });
}

function overSoft({ who, page, id, account }: Owner, readings: LimitReadings): Trouble[] {
  return watchedIn(readings).flatMap(({ reading: { used, soft }, what, unit, window }): Trouble[] => {
    if (soft === undefined || used < soft || used === 0) return [];
    const text = `${who} has passed the soft limit of ${what} (${amounts[unit](used, soft)}).`;
    const name = `soft limit ${who} ${unit === 'usd' ? 'budget' : unit} ${window}`;
    return [{ ...warning(text, page, id), fix: softFix, alert: name, account }];
  });
}

const softFix = 'See on its page what it spends. Nothing is refused: raise the soft limit, or set a limit.';

const plain = (unit: string) => (used: number, allowed: number) => `${shown(used)} of ${shown(allowed)} ${unit}`;

const amounts: Readonly<Record<Watched['unit'], (used: number, allowed: number) => string>> = {
  units: plain('units'),
  tokens: plain('tokens'),
  usd: (used, allowed) => `${shownUsd(used)} of ${shownUsd(allowed)}`,
};

/** Cents, and two figures that count of a smaller amount. */
function shownUsd(value: number): string {
  if (value === 0 || value >= 0.1) return `$${value.toFixed(2)}`;
  return `$${value.toLocaleString('en', { maximumSignificantDigits: 2 })}`;
}

function shown(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 100 ? 1 : 0 });
}
