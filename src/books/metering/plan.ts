import type { PlanConfig } from '../../config/schema.ts';
import type { CalendarPeriod, WindowName } from './window.ts';

/** A plan as admission needs it: whole numbers, `null` = unlimited, the default limits of tiers filled in. */
export interface Plan {
  name: string;
  /** Owner of these limits: an account with all of its keys, or a key. */
  scope: 'account' | 'key';
  /** Globs over aliases; null: all. */
  models: readonly string[] | null;
  /** Globs over MCP servers and their tools; null: all. */
  mcp: readonly string[] | null;
  /** Globs over agents; null: all. */
  agents: readonly string[] | null;
  /** Names of guards. */
  guards: readonly string[];
  /** Rule for the providers that may get requests; absent: all. */
  data?: NonNullable<PlanConfig['data']>;
  /** Requests in any 60 s. */
  rpm: number | null;
  /** Tokens in any 60 s, post-paid. */
  tpm: number | null;
  /** Maximum number of concurrent requests. */
  concurrency: number | null;
  /** Milli-units. */
  units: Readonly<Record<WindowName, number | null>>;
  /** Tokens, post-paid. */
  tokens: Readonly<Record<WindowName, number | null>>;
  /** Nano-USD, post-paid. */
  usdNano: Readonly<Record<WindowName, number | null>>;
  /** Nano-USD by period of the calendar, post-paid. */
  calendar: readonly CalendarBudget[];
  /** Amounts that warn; absent: none. */
  soft?: SoftLimits;
  /** Charge for a caller who leaves before the first content: nothing, the input tokens, or all of it. */
  abandoned: 'free' | 'tokens' | 'full';
  /** Every tier that has a limit under this plan. */
  tiers: ReadonlyMap<string, TierLimits>;
  /** Bytes that an account may keep. */
  storageBytes: number | null;
  notify: { shares: readonly number[]; webhook: string; secret: string } | null;
}

export interface TierLimits {
  rpm: number | null;
  /** Milli-units. */
  units: Readonly<Record<WindowName, number | null>>;
}

/** Tighter limits of a key: counted by key, in addition to the plan's. */
export type KeyLimits = Pick<
  Plan,
  'rpm' | 'tpm' | 'concurrency' | 'units' | 'tokens' | 'usdNano' | 'calendar' | 'soft'
>;

/** Amounts of tokens and USD that warn and refuse nothing. */
export type SoftLimits = Pick<Plan, 'tokens' | 'usdNano' | 'calendar'>;

export interface CalendarBudget {
  period: CalendarPeriod;
  usdNano: number;
}
