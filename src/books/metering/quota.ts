import type { Clock } from '../../kernel/clock.ts';
import { type Failure, failureIn } from '../../kernel/failure.ts';
import type { Principal } from '../auth/principal.ts';
import type {
  Admission,
  Admitted,
  AdmitWeight,
  Arrival,
  Claim,
  LimitHeaderForm,
  ObserveLimits,
  Reservation,
} from './admission.ts';
import { milliPerCall } from './counter-scope.ts';
import type { Counters, EntryAnswer, Full, Held, Limit, LimitState, Spent, Unavailable } from './counters.ts';
import type { Ledger, ReservationRow } from './ledger.ts';
import { limitsLeft } from './limits/limits-left.ts';
import { quotaExceeded } from './limits/quota-message.ts';
import type { RequestParts } from './part-budgets.ts';
import type { LimitSet, PlanBook } from './plan-book.ts';

export interface LimitedAdmissionParts {
  counters: Pick<Counters, 'enter' | 'hold' | 'settle' | 'read'>;
  ledger: Pick<Ledger, 'open'>;
  /** The plans in force. */
  plans(): PlanBook;
  /** Id of this process, which distinguishes its reservations from those of a dead one. */
  bootId: string;
  clock: Clock;
  /** Receives the states of the limits after each hold; must not throw. */
  observe: ObserveLimits;
  /** While one of them gives a reason, nothing that counts is admitted. Free calls keep nothing. */
  troubles?: readonly BooksTrouble[];
}

/** Parts that may keep everything from being recorded. */
export interface BooksTrouble {
  /** In words that end a sentence; null while there is none. */
  readonly trouble: string | null;
}

const nothing: Spent = { costMilli: 0, tokens: 0, usdNano: 0 };
const noStates: readonly LimitState[] = [];
const noPlaces: LimitSet['places'] = [];

/** An admitted free call: it has no place to give back. One object serves all of a form. */
const letPass = (form: LimitHeaderForm): Admitted => ({
  kind: 'admitted',
  headers: [],
  calls: noStates,
  form,
  release() {},
});
const passing = { openai: letPass('openai'), anthropic: letPass('anthropic') };

/**
 * Enforces the plans. Fails closed: when the counters do not answer, or the ledger cannot commit the reservation,
 * nothing is dispatched (`quota-unavailable`) and nothing stays held.
 */
export function createLimitedAdmission(parts: LimitedAdmissionParts): Admission {
  const { counters, plans, clock, troubles = [] } = parts;

  function entered(answer: EntryAnswer, set: LimitSet, weight: AdmitWeight, arrival: Arrival): Admitted | Failure {
    const { form } = arrival;
    if (answer.kind === 'full') return refusal(answer, set, milliPerCall[weight], noStates, form, clock.wallMs());
    if (weight === 'free') return passing[form];
    return answer.kind === 'entered' ? new LimitedEntry(answer, set, clock, arrival) : unavailable(answer);
  }

  return {
    admit(principal: Principal, weight, arrival) {
      const trouble = weight === 'free' ? null : troubleOf(troubles);
      if (trouble !== null) return booksClosed(trouble);
      const set = plans().limits(principal, null);
      if (weight === 'free' && set.freeCalls.length === 0) return passing[arrival.form];
      const answer = counters.enter({
        requestId: arrival.requestId,
        account: principal.account,
        callMilli: milliPerCall[weight],
        limits: arrival.isSparing === true ? sparing(set.calls) : weight === 'free' ? set.freeCalls : set.calls,
        places: weight === 'free' || weight === 'message' || arrival.isSparing === true ? noPlaces : set.places,
      });
      return answer instanceof Promise
        ? answer.then((late) => entered(late, set, weight, arrival))
        : entered(answer, set, weight, arrival);
    },

    left: (principal, parts) => limitsLeft(counters, plans(), principal, parts),

    reserve(claim) {
      const trouble = troubleOf(troubles);
      if (trouble !== null) return booksClosed(trouble);
      const { principal, requestId, costMilli } = claim;
      claim.admitted.requestedModel = claim.alias;
      // Most accounts have no budgets within, and enter nothing of them.
      const set = plans().limits(principal, claim.tier, principal.budgets && partsOf(claim));
      if (set.furtherScopes !== null) claim.furtherScopes = set.furtherScopes;
      const { isSparing, isOwed, expected } = claim.admitted;
      const isPlain = isSparing !== true && isOwed !== true && expected === undefined;
      const limits = isPlain ? set.windows : limitsOn(claim.admitted, set.windows);
      const { account } = principal;
      const row = rowOf(claim, parts.bootId);
      const { scopes, states } = set;
      const held = counters.hold({ requestId, account, scopes, costMilli, limits, states, row });
      return held instanceof Promise
        ? held.then((late) => booked(parts, claim, set, limits, row, late))
        : booked(parts, claim, set, limits, row, held);
    },
  };
}

/** Parts of a request that the budgets of an account look at. */
export function partsOf({ user = null, tag = null, alias, furtherModels = [] }: Claim): RequestParts {
  return { user, tag, models: [alias, ...furtherModels] };
}

/** Its instant is known once it is held. */
function rowOf(claim: Claim, bootId: string): ReservationRow {
  const { requestId, principal, atMs, endpoint, alias, tier, costMilli, inputTokensEstimate } = claim;
  const { furtherScopes = null } = claim;
  const { account, tenant } = principal;
  const keyId = principal.run?.keyId ?? principal.keyId;
  const quotaMs = 0;
  // biome-ignore format: one literal, since a spread would be a copy for every request.
  return { requestId, bootId, atMs, account, keyId, tenant, endpoint, alias, tier, quotaMs, costMilli, furtherScopes, inputTokensEstimate };
}

/** Writes the reservation into the ledger before anything is dispatched. */
function booked(
  { counters, ledger, clock, observe }: LimitedAdmissionParts,
  claim: Claim,
  set: LimitSet,
  limits: readonly Limit[],
  row: ReservationRow,
  held: Held | Full | Unavailable,
): Promise<Reservation | Failure> | Failure {
  const { requestId, admitted, costMilli } = claim;
  const nowMs = clock.wallMs();
  if (held.kind === 'full') return refusal(held, set, costMilli, admitted.calls, admitted.form, nowMs);
  if (held.kind === 'unavailable') return unavailable(held);
  // Now, since the states may be those of the next hold afterwards.
  const isWhole = limits.length === set.windows.length;
  const headers =
    isWhole && set.headers !== null ? set.headers.reserved(admitted.calls, held.states, nowMs, admitted.form) : [];
  row.quotaMs = held.quotaMs;
  const open = ledger.open(row, held.bookByMs);
  // Two functions rather than an async one: a promise less for every request.
  return open.then(
    () => {
      if (set.notify && isWhole) observe(claim, set.windows, held.states);
      admitted.booked = true;
      return { kind: 'reserved', requestId, costMilli, held, headers, state: 'open' };
    },
    (error: unknown) => {
      counters.settle(held, nothing);
      return failureIn(error);
    },
  );
}

function limitsOn({ isSparing, isOwed, expected }: Admitted, windows: readonly Limit[]): readonly Limit[] {
  if (isOwed === true) return [];
  if (expected === undefined) return isSparing === true ? sparing(windows) : windows;
  return windows
    .filter(({ span }) => span !== 'minute')
    .map((limit) => {
      const later = limit.measure === 'tokens' ? expected.tokens : limit.measure === 'usd' ? expected.usdNano : 0;
      return { ...limit, allowed: Math.max(0, limit.allowed - later) };
    });
}

/** Limits a minute for requests that nobody waits for: three quarters, and at least a call. */
function sparing(limits: readonly Limit[]): readonly Limit[] {
  return limits.map((limit) =>
    limit.span === 'minute'
      ? { ...limit, allowed: Math.max(Math.min(limit.allowed, 1_000), Math.floor(limit.allowed * 0.75)) }
      : limit,
  );
}

/** The first of them. */
export function troubleOf(troubles: readonly BooksTrouble[]): string | null {
  for (const { trouble } of troubles) if (trouble !== null) return trouble;
  return null;
}

export function booksClosed(trouble: string): Failure {
  return {
    kind: 'quota-unavailable',
    message: `This server cannot record anything: ${trouble}. Nothing was run and nothing is charged.`,
  };
}

class LimitedEntry implements Admitted {
  readonly kind = 'admitted';
  readonly calls: readonly LimitState[];
  readonly form: LimitHeaderForm;
  readonly isSparing: boolean;
  requestedModel = '';
  booked = false;
  /** Gives the places back. */
  readonly release: () => void;
  readonly #set: LimitSet;
  readonly #clock: Clock;

  constructor(entry: Extract<EntryAnswer, { kind: 'entered' }>, set: LimitSet, clock: Clock, arrival: Arrival) {
    this.calls = entry.states;
    this.form = arrival.form;
    this.isSparing = arrival.isSparing === true;
    this.release = entry.leave;
    this.#set = set;
    this.#clock = clock;
  }

  /** Written only when asked for: most requests go on to a reservation, whose headers hold these too. */
  get headers(): readonly string[] {
    return this.#set.headers?.entered(this.calls, this.#clock.wallMs(), this.form) ?? [];
  }
}

function refusal(
  full: Full,
  set: LimitSet,
  costMilli: number,
  calls: readonly LimitState[],
  form: LimitHeaderForm,
  nowMs: number,
): Failure {
  const isReached = ({ id, scope }: Limit) => id === full.limit && scope === full.scope;
  const reached = [...set.calls, ...set.freeCalls, ...set.windows].find(isReached) ?? null;
  const needs = reached?.rule === 'exact' ? costMilli : 0;
  return quotaExceeded(full, reached, needs, nowMs, set.headers?.refused(full, calls, nowMs, form) ?? []);
}

function unavailable({ reason }: Unavailable): Failure {
  return {
    kind: 'quota-unavailable',
    message: `Quota is unavailable: ${reason}. Nothing was run and nothing is charged; retry the request.`,
  };
}
