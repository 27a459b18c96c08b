import type { LimitHeaderForm } from './admission.ts';
import type { Full, Limit, LimitState } from './counters.ts';
import type { LimitSet } from './plan-book.ts';
import { amountOf } from './quota-message.ts';
import { spans } from './window.ts';

/** One limit as headers show it; what never changes of it is written once. */
interface Column {
  limit: Limit;
  /** `, "5h";r=`; the first of a header goes without its comma. */
  remainingPrefix: string;
  /** In the measure's whole numbers: one request, token or USD. */
  one: number;
  /** Whole requests, tokens or USD. */
  allowed: string;
}

/** The headers of one LimitSet (design §6): the IETF draft's, then the caller's dialect's own. */
export interface LimitHeaders {
  /** After the entry: calls a minute alone. */
  entered(calls: readonly LimitState[], nowMs: number, form: LimitHeaderForm): string[];
  /** After the reservation: everything. */
  reserved(
    calls: readonly LimitState[],
    windows: readonly LimitState[],
    nowMs: number,
    form: LimitHeaderForm,
  ): string[];
  /** With a 429: the limit that was reached, beside the calls a minute where they were entered. */
  refused(full: Full, calls: readonly LimitState[], nowMs: number, form: LimitHeaderForm): string[];
}

const known = new WeakMap<LimitSet, LimitHeaders>();

/** Kept as long as the set: the policy is the same at every request. */
export function limitHeadersOf(set: LimitSet): LimitHeaders {
  let headers = known.get(set);
  if (headers === undefined) {
    headers = build(set);
    known.set(set, headers);
  }
  return headers;
}

function build(set: LimitSet): LimitHeaders {
  const calls = set.calls.map(columnOf);
  const windows = set.windows.map(columnOf);
  const callPolicy = policyOf(calls);
  const wholePolicy = policyOf([...calls, ...windows]);
  // OpenAI's and Anthropic's name one limit of requests and one of tokens: the minute's, as theirs are; else the first.
  const requests = windows.findIndex(({ limit }) => limit.measure === 'units');
  const tokens = windows.findIndex(({ limit }) => limit.id === 'tokens:minute');

  function entered(states: readonly LimitState[], nowMs: number, form: LimitHeaderForm): string[] {
    // A plan that changed since then has other limits.
    if (calls.length === 0 || states.length !== calls.length) return [];
    const list = ['ratelimit-policy', callPolicy, 'ratelimit', remainingOf(calls, states, nowMs, '')];
    return pushOwn(list, form, 'requests', calls[0]!, states[0]!, nowMs);
  }

  return {
    entered,
    reserved(callStates, states, nowMs, form) {
      if (windows.length === 0) return entered(callStates, nowMs, form);
      const withCalls = callStates.length === calls.length && calls.length > 0;
      const first = withCalls ? remainingOf(calls, callStates, nowMs, '') : '';
      const list = ['ratelimit-policy', wholePolicy, 'ratelimit', remainingOf(windows, states, nowMs, first)];
      if (withCalls) pushOwn(list, form, 'requests', calls[0]!, callStates[0]!, nowMs);
      else if (requests !== -1) pushOwn(list, form, 'requests', windows[requests]!, states[requests]!, nowMs);
      if (tokens !== -1) pushOwn(list, form, 'tokens', windows[tokens]!, states[tokens]!, nowMs);
      return list;
    },
    refused(full, callStates, nowMs, form) {
      const all = [...calls, ...windows];
      const reached = all.find(({ limit }) => limit.id === full.limit && limit.scope === full.scope);
      if (reached === undefined) return entered(callStates, nowMs, form);
      const state = { used: full.used, leavesAtMs: full.freeAtMs };
      const before =
        calls.includes(reached) || callStates.length !== calls.length ? '' : remainingOf(calls, callStates, nowMs, '');
      const list = ['ratelimit-policy', wholePolicy, 'ratelimit', remainingOf([reached], [state], nowMs, before)];
      if (reached.limit.measure === 'usd') return list;
      return pushOwn(list, form, reached.limit.measure === 'tokens' ? 'tokens' : 'requests', reached, state, nowMs);
    },
  };
}

function columnOf(limit: Limit): Column {
  const name = limit.scope.startsWith('k:') ? `key:${limit.id}` : limit.id;
  const one = 1 / amountOf(limit.measure, 1);
  return {
    limit,
    remainingPrefix: `, "${name}";r=`,
    one,
    allowed: String(Math.floor(limit.allowed / one)),
  };
}

/** `"5h";q=50;w=18000, …`; amounts in another unit than requests say so. */
function policyOf(columns: readonly Column[]): string {
  return columns
    .map(({ limit, remainingPrefix, allowed }) => {
      const unit = limit.measure === 'tokens' ? ';qu="tokens"' : limit.measure === 'usd' ? ';qu="usd"' : '';
      const name = remainingPrefix.slice(2, remainingPrefix.lastIndexOf(';'));
      return `${name};q=${allowed}${unit};w=${spans[limit.span].spanMs / 1_000}`;
    })
    .join(', ');
}

/** `before`, then `"5h";r=37;t=120, …`: what is left, rounded down, and seconds until the oldest use counts no more. */
function remainingOf(columns: readonly Column[], states: readonly LimitState[], nowMs: number, before: string): string {
  let text = before;
  for (let i = 0; i < columns.length; i++) {
    const { remainingPrefix } = columns[i]!;
    const state = states[i]!;
    text += (text === '' ? remainingPrefix.slice(2) : remainingPrefix) + remaining(columns[i]!, state);
    if (state.leavesAtMs !== null) text += `;t=${secondsUntil(state.leavesAtMs, nowMs)}`;
  }
  return text;
}

function remaining({ limit, one }: Column, { used }: LimitState): number {
  return Math.max(0, Math.floor((limit.allowed - used) / one));
}

function secondsUntil(atMs: number, nowMs: number): number {
  return Math.max(0, Math.ceil((atMs - nowMs) / 1_000));
}

/** `x-ratelimit-limit-requests: 60` … or `anthropic-ratelimit-requests-limit: 60` …; adds to `list` and gives it. */
function pushOwn(
  list: string[],
  form: LimitHeaderForm,
  what: 'requests' | 'tokens',
  column: Column,
  state: LimitState,
  nowMs: number,
): string[] {
  const names = ownNames[form][what];
  list.push(names.limit, column.allowed, names.remaining, String(remaining(column, state)));
  if (state.leavesAtMs !== null) {
    const reset =
      form === 'openai'
        ? durationText(secondsUntil(state.leavesAtMs, nowMs))
        : new Date(Math.ceil(state.leavesAtMs / 1_000) * 1_000).toISOString().replace('.000', '');
    list.push(names.reset, reset);
  }
  return list;
}

const ownNames = {
  openai: {
    requests: {
      limit: 'x-ratelimit-limit-requests',
      remaining: 'x-ratelimit-remaining-requests',
      reset: 'x-ratelimit-reset-requests',
    },
    tokens: {
      limit: 'x-ratelimit-limit-tokens',
      remaining: 'x-ratelimit-remaining-tokens',
      reset: 'x-ratelimit-reset-tokens',
    },
  },
  anthropic: {
    requests: {
      limit: 'anthropic-ratelimit-requests-limit',
      remaining: 'anthropic-ratelimit-requests-remaining',
      reset: 'anthropic-ratelimit-requests-reset',
    },
    tokens: {
      limit: 'anthropic-ratelimit-tokens-limit',
      remaining: 'anthropic-ratelimit-tokens-remaining',
      reset: 'anthropic-ratelimit-tokens-reset',
    },
  },
} as const;

/** As OpenAI writes them: `20s`, `6m0s`, `1h0m30s`. */
function durationText(seconds: number): string {
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  const rest = `${minutes % 60}m${seconds % 60}s`;
  return minutes < 60 ? rest : `${Math.floor(minutes / 60)}h${rest}`;
}
