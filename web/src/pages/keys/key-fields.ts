import type { KeyReply } from '../../../../src/admin/entries/keys.ts';
import type { WindowReply } from '../../../../src/admin/entries/windows.ts';
import { dataRuleTyped, type TypedDataRule, typedDataRule } from '../../parts/data-rule.tsx';
import type { Written } from '../../parts/forms/changed-meanwhile.tsx';
import { listIn, numberOrText } from '../../parts/forms/typed.ts';
import {
  calendarField,
  calendarOf,
  softField,
  softOf,
  type TypedCalendar,
  type TypedSoft,
  type TypedWindows,
  textOf,
  windowKeys,
  windowsField,
  windowsOf,
} from '../plans/plan-fields.ts';

/** A key as typed: '' is no limit, no end, and for lists: all. */
export interface TypedKey {
  name: string;
  expires: string;
  models: string;
  ips: string;
  guards: string;
  tags: string;
  windows: TypedWindows;
  budget: TypedWindows;
  calendar: TypedCalendar;
  soft: TypedSoft;
  tokens: TypedWindows;
  rpm: string;
  tpm: string;
  concurrency: string;
  data: TypedDataRule;
}

/** The settings of a key and its limits, in one object: a form compares them field by field. */
export function settingsOf({ name, expires, models, ips, guards, tags, limits }: KeyReply): Written {
  return { name, expires, models, ips, guards, tags, ...limits };
}

export function typedOf(settings: Written): TypedKey {
  const lines = (list: unknown, by: string) => (Array.isArray(list) ? list.join(by) : '');
  const { name, expires, models, ips, guards, tags, windows, budget, tokens, rpm, tpm, concurrency } = settings;
  const calendar = calendarOf(settings.calendar_budget);
  return {
    name: String(name),
    expires: typeof expires === 'string' ? expires.replace('T00:00:00.000Z', '') : '',
    models: lines(models, '\n'),
    ips: lines(ips, '\n'),
    guards: lines(guards, ', '),
    tags: lines(tags, ', '),
    windows: windowsOf(windows),
    budget: windowsOf(budget),
    calendar,
    soft: softOf(settings.soft),
    tokens: windowsOf(tokens),
    rpm: textOf(rpm),
    tpm: textOf(tpm),
    concurrency: textOf(concurrency),
    data: typedDataRule(settings.data),
  };
}

/** The settings after what was typed over `before`; those that the form does not have stay. */
export function settingsTyped(before: Written, typed: TypedKey): Written {
  const { windows, budget, calendar_budget, soft, tokens, rpm, tpm, concurrency, data: _, ...rest } = before;
  const data = dataRuleTyped(typed.data);
  const list = (text: string) => (text.trim() === '' ? null : listIn(text, '\n'));
  const amount = (name: 'rpm' | 'tpm' | 'concurrency') =>
    typed[name].trim() === '' ? {} : { [name]: numberOrText(typed[name]) };
  const expires = typed.expires.trim();
  return {
    ...rest,
    name: typed.name,
    // As the server has it where nobody touched it.
    expires: expires === typedOf(before).expires ? rest.expires : expires === '' ? null : expires,
    models: list(typed.models),
    ips: list(typed.ips),
    guards: listIn(typed.guards, ','),
    tags: listIn(typed.tags, ','),
    ...windowsField('windows', typed.windows),
    ...windowsField('budget', typed.budget),
    ...calendarField(typed.calendar),
    ...softField(typed.soft),
    ...windowsField('tokens', typed.tokens),
    ...amount('rpm'),
    ...amount('tpm'),
    ...amount('concurrency'),
    ...(data !== null && { data }),
  };
}

/** Settings as the body of a change has them. */
export function grouped({ name, expires, models, ips, guards, tags, ...limits }: Written) {
  return { name, expires, models, ips, guards, tags, limits };
}

const measures = { windows: 'units', budget: 'usd', tokens: 'tokens' } as const;

/** Limits that the key has reached already, as typed. */
export function reached(typed: TypedKey, used: readonly WindowReply[]): WindowReply[] {
  return used.flatMap((one) => {
    const name = (['windows', 'budget', 'tokens'] as const).find((each) => measures[each] === one.measure);
    const window = windowKeys.find((key) => key === one.window);
    if (name === undefined || window === undefined || one.tier !== null) return [];
    const limit = numberOrText(one.calendar === null ? typed[name][window] : inCalendar(typed, one.calendar));
    return typeof limit === 'number' && one.used >= limit ? [{ ...one, limit }] : [];
  });
}

/** The budget of this period as typed; '' where it has none, or is of another time zone now. */
function inCalendar({ calendar }: TypedKey, { period, time_zone }: NonNullable<WindowReply['calendar']>): string {
  return calendar.time_zone.trim() === time_zone ? calendar[period] : '';
}
