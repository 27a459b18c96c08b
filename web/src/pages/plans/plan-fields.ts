import { dataRuleTyped, type TypedDataRule, typedDataRule } from '../../parts/data-rule.tsx';
import { listIn, numberOrText } from '../../parts/forms/typed.ts';

/** A plan as typed: '' is unlimited, and for lists: all. */
export interface TypedPlan {
  windows: TypedWindows;
  tokens: TypedWindows;
  budget: TypedWindows;
  calendar: TypedCalendar;
  soft: TypedSoft;
  rpm: string;
  tpm: string;
  concurrency: string;
  models: string;
  /** Names with commas between them. */
  guards: string;
  storage: string;
  scope: 'account' | 'key';
  abandoned: '' | 'free' | 'tokens' | 'full';
  /** JSON, as in culvert.yaml; '' for the tiers' own. */
  tierLimits: string;
  data: TypedDataRule;
  /** Members as they were: the form has no fields for them. */
  mcp: unknown;
  agents: unknown;
}

/** Amounts that warn, as typed. */
export interface TypedSoft {
  budget: TypedWindows;
  tokens: TypedWindows;
  /** The value of the definition: the form has no field for it. */
  calendar_budget: unknown;
}

export type WindowKey = '5h' | 'week' | 'month';
export type TypedWindows = Record<WindowKey, string>;
type Definition = Readonly<Record<string, unknown>>;

export const windowKeys = ['5h', 'week', 'month'] as const;

/** Initial values of a new plan. */
export const newPlan: Definition = { storage: '10gb', scope: 'account' };

const gb = 1024 ** 3;

export function typedOf(definition: Definition): TypedPlan {
  const { rpm, tpm, concurrency, models, guards, storage, scope, abandoned, tier_limits } = definition;
  return {
    windows: windowsOf(definition.windows),
    tokens: windowsOf(definition.tokens),
    budget: windowsOf(definition.budget),
    calendar: calendarOf(definition.calendar_budget),
    soft: softOf(definition.soft),
    rpm: textOf(rpm),
    tpm: textOf(tpm),
    concurrency: textOf(concurrency),
    models: Array.isArray(models) ? models.join('\n') : '',
    guards: Array.isArray(guards) ? guards.join(', ') : '',
    storage: typeof storage === 'number' && storage % gb === 0 ? `${storage / gb}gb` : textOf(storage),
    scope: scope === 'key' ? 'key' : 'account',
    abandoned: abandoned === 'free' || abandoned === 'tokens' || abandoned === 'full' ? abandoned : '',
    tierLimits: jsonOf(tier_limits),
    data: typedDataRule(definition.data),
    mcp: definition.mcp,
    agents: definition.agents,
  };
}

/** USD by period of the calendar, as typed: '' is unlimited. */
export interface TypedCalendar {
  time_zone: string;
  day: string;
  week: string;
  month: string;
}

export const periods = ['day', 'week', 'month'] as const;

export function calendarOf(written: unknown): TypedCalendar {
  const known = (typeof written === 'object' && written !== null ? written : {}) as Record<string, unknown>;
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const time_zone = typeof known.time_zone === 'string' ? known.time_zone : here;
  return { time_zone, day: textOf(known.day), week: textOf(known.week), month: textOf(known.month) };
}

/** The field as in culvert.yaml; {} where nothing limits. */
export function calendarField({ time_zone, ...typed }: TypedCalendar): Record<string, unknown> {
  const amounts = periods
    .filter((name) => typed[name].trim() !== '')
    .map((name) => [name, numberOrText(typed[name])] as const);
  if (amounts.length === 0) return {};
  const zone = time_zone.trim() === '' ? 'UTC' : time_zone.trim();
  return { calendar_budget: { time_zone: zone, ...Object.fromEntries(amounts) } };
}

/** The other way round of `jsonOrText`. */
function jsonOf(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

export function windowsOf(windows: unknown): TypedWindows {
  const known = (typeof windows === 'object' && windows !== null ? windows : {}) as Record<string, unknown>;
  return { '5h': textOf(known['5h']), week: textOf(known.week), month: textOf(known.month) };
}

export function textOf(value: unknown): string {
  return typeof value === 'number' || (typeof value === 'string' && value !== 'off') ? String(value) : '';
}

/**
 * The server's body. Text that is not a number goes out as typed, so that the server's message appears at its field.
 */
export function definitionOf(plan: TypedPlan): Record<string, unknown> {
  const models = listIn(plan.models, '\n');
  const guards = listIn(plan.guards, ',');
  const data = dataRuleTyped(plan.data);
  return {
    ...windowsField('windows', plan.windows),
    ...windowsField('tokens', plan.tokens),
    ...windowsField('budget', plan.budget),
    ...calendarField(plan.calendar),
    ...softField(plan.soft),
    // Left out, it would be 60.
    rpm: plan.rpm.trim() === '' ? 'off' : numberOrText(plan.rpm),
    ...(plan.tpm.trim() !== '' && { tpm: numberOrText(plan.tpm) }),
    ...(plan.concurrency.trim() !== '' && { concurrency: numberOrText(plan.concurrency) }),
    ...(models.length > 0 && { models }),
    ...(guards.length > 0 && { guards }),
    storage: plan.storage.trim() === '' ? 'off' : numberOrText(plan.storage),
    scope: plan.scope,
    ...(plan.abandoned !== '' && { abandoned: plan.abandoned }),
    ...(plan.tierLimits.trim() !== '' && { tier_limits: jsonOrText(plan.tierLimits) }),
    ...(data !== null && { data }),
    ...(plan.mcp !== undefined && { mcp: plan.mcp }),
    ...(plan.agents !== undefined && { agents: plan.agents }),
  };
}

export function windowsField(name: string, typed: TypedWindows): Record<string, unknown> {
  const entries = windowKeys.filter((key) => typed[key].trim() !== '').map((key) => [key, numberOrText(typed[key])]);
  return entries.length === 0 ? {} : { [name]: Object.fromEntries(entries) };
}

export function softOf(written: unknown): TypedSoft {
  const { budget, tokens, calendar_budget } = (written ?? {}) as Definition;
  return { budget: windowsOf(budget), tokens: windowsOf(tokens), calendar_budget };
}

const windowWords: Record<WindowKey, string> = { '5h': '5 hours', week: '7 days', month: '30 days' };

/** Amounts that warn where a limit refuses as early, in words: nobody would be warned. */
export function lateWarnings(
  hard: Record<'budget' | 'tokens', TypedWindows>,
  soft: Record<'budget' | 'tokens', TypedWindows>,
): string[] {
  return (['budget', 'tokens'] as const).flatMap((measure) =>
    windowKeys.flatMap((window) => {
      const [from, limit] = [numberOrText(soft[measure][window]), numberOrText(hard[measure][window])];
      if (typeof from !== 'number' || typeof limit !== 'number' || from < limit) return [];
      const unit = measure === 'budget' ? 'USD' : 'tokens';
      return [`Nobody is warned at ${from} ${unit} in ${windowWords[window]}, because the limit is ${limit} ${unit}.`];
    }),
  );
}

export function softField({ budget, tokens, calendar_budget }: TypedSoft): Record<string, unknown> {
  const soft = {
    ...windowsField('budget', budget),
    ...windowsField('tokens', tokens),
    ...(calendar_budget !== undefined && { calendar_budget }),
  };
  return Object.keys(soft).length === 0 ? {} : { soft };
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A plan's limits, in a line. */
export function summaryOf(definition: Definition): string {
  const typed = typedOf(definition);
  const parts = [
    ...windowKeys.map((key) => typed.windows[key] !== '' && `${quantity(typed.windows[key], 'unit')} in ${spans[key]}`),
    ...windowKeys.map((key) => typed.budget[key] !== '' && `${dollars(typed.budget[key])} in ${spans[key]}`),
    ...periods.map((name) => typed.calendar[name] !== '' && `${dollars(typed.calendar[name])} per ${name}`),
    ...windowKeys.map((key) => typed.tokens[key] !== '' && `${quantity(typed.tokens[key], 'token')} in ${spans[key]}`),
    typed.rpm !== '' && `${quantity(typed.rpm, 'request')} per minute`,
    typed.tpm !== '' && `${quantity(typed.tpm, 'token')} per minute`,
    typed.concurrency !== '' && quantity(typed.concurrency, 'concurrent request'),
    typed.tierLimits !== '' && 'limits by tier',
  ].filter((part) => part !== false);
  return parts.length === 0 ? 'Unlimited' : parts.join(', ');
}

export const spans = { '5h': '5 hours', week: '7 days', month: '30 days' } as const;

/** `$20`, `$22.50`. */
function dollars(text: string): string {
  const amount = Number(text);
  if (Number.isNaN(amount) || Number.isInteger(amount)) return `$${withCommas(text)}`;
  return `$${amount.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 6 })}`;
}

/** `1 unit`, `2,000 units`. */
function quantity(text: string, one: string): string {
  return `${withCommas(text)} ${Number(text) === 1 ? one : `${one}s`}`;
}

function withCommas(text: string): string {
  return Number.isNaN(Number(text)) ? text : Number(text).toLocaleString('en-US');
}
