import type { WindowView } from '../../parts/window-view.ts';

interface Reading {
  used: number;
  allowed: number | null;
  resets_at: string | null;
  /** From so much on requests are warned; absent: never. */
  soft?: number;
}
type Readings = Record<'5h' | 'week' | 'month', Reading>;

interface Limits {
  windows: Readings;
  rpm: Reading;
  tokens: Readings & { minute: Reading };
  budget: Readings;
  calendar_budget?: Calendar;
  /** Amounts that warn in another time zone. */
  soft_calendar_budget?: Calendar;
}

type Calendar = { time_zone: string } & Partial<Record<'day' | 'week' | 'month', Reading>>;

export interface UsedRow {
  group: string;
  requests: number;
  errors: number;
  units: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number;
  unpriced_requests: number;
}

/** The answer of `GET /v1/usage`. */
export interface MemberUsage extends Limits {
  account: string;
  plan: string;
  tiers: Record<string, { rpm: Reading; windows: Readings }>;
  /** The key's own limits; null: it has none. */
  key: Limits | null;
  /** USD of an account that pays before it uses; absent: it does not. */
  credit?: { granted: number; used: number; remaining: number };
  storage: { used_bytes: number; allowed_bytes: number | null };
  data: UsedRow[];
}

const windows = ['5h', 'week', 'month'] as const;

/** Every limit of an answer, in the order in which they are read. */
export function windowsIn({
  rpm,
  windows: units,
  tokens,
  budget,
  calendar_budget: calendar,
  soft_calendar_budget: softCalendar,
  tiers,
}: Limits & Pick<MemberUsage, 'tiers'>): WindowView[] {
  return [
    view(rpm, 'minute', 'requests'),
    ...windows.map((window) => view(units[window], window, 'units')),
    view(tokens.minute, 'minute', 'tokens'),
    ...windows.map((window) => view(tokens[window], window, 'tokens')),
    ...windows.map((window) => view(budget[window], window, 'usd')),
    ...[calendar, softCalendar].flatMap(calendarViews),
    ...Object.entries(tiers).flatMap(([tier, limits]) => [
      view(limits.rpm, 'minute', 'requests', tier),
      ...windows.map((window) => view(limits.windows[window], window, 'units', tier)),
    ]),
  ];
}

function calendarViews(calendar: Calendar | undefined): WindowView[] {
  return (['day', 'week', 'month'] as const).flatMap((period): WindowView[] => {
    const reading = calendar?.[period];
    if (calendar === undefined || reading === undefined) return [];
    return [{ ...view(reading, 'month', 'usd'), calendar: { period, time_zone: calendar.time_zone } }];
  });
}

function view(
  { used, allowed, resets_at, soft }: Reading,
  window: WindowView['window'],
  measure: WindowView['measure'],
  tier: string | null = null,
): WindowView {
  return {
    window,
    calendar: null,
    measure,
    tier,
    used,
    limit: allowed,
    soft: soft ?? null,
    freesAt: resets_at,
    frees: null,
  };
}
