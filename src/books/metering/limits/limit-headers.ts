import { endless } from '../../../kernel/limits.ts';
import type { LimitHeaderForm } from '../admission.ts';
import type { Full, Limit, LimitState } from '../counters.ts';
import { spans } from '../window.ts';
import { amountOf } from './quota-message.ts';

/** One limit for headers. Its constant part is written once. */
interface Column {
  limit: Limit;
  /** Its place in the states. */
  at: number;
  /** `"5h";r=` */
  name: string;
  /** In the measure's whole numbers: one request, token or USD. */
  one: number;
  /** Whole requests, tokens or USD. */
  allowed: string;
  /** `, "week";r=`: the limit after this one; '' for the last. */
  next: string;
  /** `;t=120, "week";r=`, and its seconds, -1 where nothing counts: for a second it is the same at every request. */
  after: string;
  seconds: number;
}

/** Null where there are none: a plan without limits writes no headers. */
export function limitHeaders(calls: readonly Limit[], windows: readonly Limit[]): LimitHeaders | null {
  return calls.length === 0 && windows.length === 0 ? null : new LimitHeaders(calls, windows);
}

/** Headers of one LimitSet: those of the IETF draft, then those of the caller's dialect. Flat: name, value… */
export class LimitHeaders {
  readonly #calls: readonly Column[];
  readonly #windows: readonly Column[];
  /** Limits with an amount that warns. */
  readonly #soft: readonly { limit: Limit; at: number }[];
  readonly #callPolicy: string;
  readonly #policy: string;
  // OpenAI's and Anthropic's name one limit of requests and one of tokens: the minute's, as theirs are; else the first.
  readonly #requests: readonly Column[];
  readonly #tokens: readonly Column[];

  constructor(calls: readonly Limit[], windows: readonly Limit[]) {
    this.#calls = columnsOf(calls);
    this.#windows = columnsOf(windows);
    this.#soft = windows.flatMap((limit, at) => (limit.soft === undefined ? [] : [{ limit, at }]));
    this.#callPolicy = policyOf(this.#calls);
    this.#policy = policyOf([...this.#calls, ...this.#windows]);
    const first = this.#windows.find(({ limit }) => limit.measure === 'units');
    this.#requests = this.#windows.filter(({ limit }) => limit.id === first?.limit.id);
    this.#tokens = this.#windows.filter(({ limit }) => limit.id === 'tokens:minute');
  }

  /** After the entry: calls a minute alone. */
  entered(states: readonly LimitState[], nowMs: number, form: LimitHeaderForm): string[] {
    const calls = this.#calls;
    // A plan that changed since then has other limits.
    if (calls.length === 0 || states.length !== calls.length) return [];
    const list = ['ratelimit-policy', this.#callPolicy, 'ratelimit', remainingOf(calls, states, nowMs, '')];
    return pushLimit(list, headerNames[form].requests, calls, states, nowMs);
  }

  /** After the reservation: everything. */
  reserved(
    callStates: readonly LimitState[],
    states: readonly LimitState[],
    nowMs: number,
    form: LimitHeaderForm,
  ): string[] {
    const calls = this.#calls;
    const windows = this.#windows;
    if (windows.length === 0) return this.#warned(this.entered(callStates, nowMs, form), states);
    const withCalls = callStates.length === calls.length && calls.length > 0;
    const first = withCalls ? remainingOf(calls, callStates, nowMs, '') : '';
    const list = ['ratelimit-policy', this.#policy, 'ratelimit', remainingOf(windows, states, nowMs, first)];
    const { requests, tokens } = headerNames[form];
    if (withCalls) pushLimit(list, requests, calls, callStates, nowMs);
    else pushLimit(list, requests, this.#requests, states, nowMs);
    pushLimit(list, tokens, this.#tokens, states, nowMs);
    return this.#soft.length === 0 ? list : this.#warned(list, states);
  }

  /** Adds the limits whose amount that warns is used up, with that amount and what is used. */
  #warned(list: string[], states: readonly LimitState[]): string[] {
    const over = this.#soft.flatMap(({ limit, at }) => {
      const { soft = endless, measure } = limit;
      const used = states[at]?.used ?? 0;
      const name = headerNameOf(limit).replace(';r=', '');
      return used < soft ? [] : [`${name};q=${amountOf(measure, soft)};used=${amountOf(measure, used)}`];
    });
    if (over.length > 0) list.push('x-culvert-soft-limit', over.join(', '));
    return list;
  }

  /** Headers of a 429: the limit that was reached, and the calls a minute if they were entered. */
  refused(full: Full, callStates: readonly LimitState[], nowMs: number, form: LimitHeaderForm): string[] {
    const calls = this.#calls;
    const isReached = ({ limit }: Column) => limit.id === full.limit && limit.scope === full.scope;
    const ofCalls = calls.find(isReached);
    const reached = ofCalls ?? this.#windows.find(isReached);
    if (reached === undefined) return this.entered(callStates, nowMs, form);
    const columns = columnsOf([reached.limit]);
    const states = [{ used: full.used, leavesAtMs: full.freeAtMs }];
    const besideCalls = ofCalls === undefined && callStates.length === calls.length;
    const before = besideCalls ? remainingOf(calls, callStates, nowMs, '') : '';
    const list = ['ratelimit-policy', this.#policy, 'ratelimit', remainingOf(columns, states, nowMs, before)];
    const { measure } = reached.limit;
    if (measure === 'usd') return list;
    return pushLimit(list, headerNames[form][measure === 'tokens' ? 'tokens' : 'requests'], columns, states, nowMs);
  }
}

function columnsOf(limits: readonly Limit[]): Column[] {
  const finite = limits.map((limit, at) => ({ limit, at })).filter(({ limit }) => limit.allowed !== endless);
  return finite.map(({ limit, at }, place) => {
    const one = 1 / amountOf(limit.measure, 1);
    const allowed = String(Math.floor(limit.allowed / one));
    const later = finite[place + 1]?.limit;
    const next = later === undefined ? '' : `, ${headerNameOf(later)}`;
    return { limit, at, name: headerNameOf(limit), one, allowed, next, after: next, seconds: -1 };
  });
}

function headerNameOf({ id, scope }: Limit): string {
  return `"${scope.startsWith('k:') ? `key:${id}` : id}";r=`;
}

/** `"5h";q=50;w=18000, …`; amounts in another unit than requests say so. */
function policyOf(columns: readonly Column[]): string {
  return columns
    .map(({ limit, name, allowed }) => {
      const unit = limit.measure === 'tokens' ? ';qu="tokens"' : limit.measure === 'usd' ? ';qu="usd"' : '';
      const window = limit.isForEver === true ? '' : `;w=${spanMsOf(limit) / 1_000}`;
      return `${name.slice(0, name.lastIndexOf(';'))};q=${allowed}${unit}${window}`;
    })
    .join(', ');
}

/** Length of a span. Months differ: one counts as thirty days. */
function spanMsOf({ span, period }: Limit): number {
  return period?.name === 'day' ? 86_400_000 : spans[period?.name ?? span].spanMs;
}

/**
 * `before`, then `"5h";r=37;t=120, …`: the rest, rounded down, and the seconds until the oldest usage no longer counts.
 */
function remainingOf(columns: readonly Column[], states: readonly LimitState[], nowMs: number, before: string): string {
  const name = columns[0]?.name ?? '';
  let text = before === '' ? name : `${before}, ${name}`;
  for (const column of columns) {
    const state = states[column.at];
    if (state === undefined) break;
    const { leavesAtMs, used } = state;
    const seconds = leavesAtMs === null ? -1 : Math.max(0, Math.ceil((leavesAtMs - nowMs) / 1_000));
    if (seconds !== column.seconds) {
      column.seconds = seconds;
      column.after = seconds === -1 ? column.next : `;t=${seconds}${column.next}`;
    }
    text += Math.max(0, Math.floor((column.limit.allowed - used) / column.one));
    text += column.after;
  }
  return text;
}

interface HeaderNames {
  limit: string;
  remaining: string;
  reset: string;
  resetText(leavesAtMs: number, nowMs: number): string;
}

/**
 * `x-ratelimit-limit-requests: 60` … or `anthropic-ratelimit-requests-limit: 60` …, of the limit with the least left;
 * adds to `list` and gives it. No such limit: nothing.
 */
function pushLimit(
  list: string[],
  names: HeaderNames,
  columns: readonly Column[],
  states: readonly LimitState[],
  nowMs: number,
): string[] {
  let least: Column | undefined;
  let left = Number.POSITIVE_INFINITY;
  for (const column of columns) {
    const { limit, at, one } = column;
    const rest = Math.max(0, Math.floor((limit.allowed - (states[at]?.used ?? Number.NEGATIVE_INFINITY)) / one));
    if (rest < left) [least, left] = [column, rest];
  }
  if (least === undefined) return list;
  list.push(names.limit, least.allowed, names.remaining, String(left));
  const leavesAtMs = states[least.at]?.leavesAtMs ?? null;
  if (leavesAtMs !== null) list.push(names.reset, names.resetText(leavesAtMs, nowMs));
  return list;
}

/** Duration as OpenAI writes it: `20s`, `6m0s`, `1h0m30s`. */
function durationText(leavesAtMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.ceil((leavesAtMs - nowMs) / 1_000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  const rest = `${minutes % 60}m${seconds % 60}s`;
  return minutes < 60 ? rest : `${Math.floor(minutes / 60)}h${rest}`;
}

function instantText(leavesAtMs: number): string {
  return new Date(Math.ceil(leavesAtMs / 1_000) * 1_000).toISOString().replace('.000', '');
}

function openAiNames(what: 'requests' | 'tokens'): HeaderNames {
  const named = (name: string) => `x-ratelimit-${name}-${what}`;
  return { limit: named('limit'), remaining: named('remaining'), reset: named('reset'), resetText: durationText };
}

function anthropicNames(what: 'requests' | 'tokens'): HeaderNames {
  const named = (name: string) => `anthropic-ratelimit-${what}-${name}`;
  return { limit: named('limit'), remaining: named('remaining'), reset: named('reset'), resetText: instantText };
}

const headerNames = {
  openai: { requests: openAiNames('requests'), tokens: openAiNames('tokens') },
  anthropic: { requests: anthropicNames('requests'), tokens: anthropicNames('tokens') },
} as const;
