import type { Principal } from '../auth/principal.ts';
import type { Clock } from '../kernel/clock.ts';
import { type Failure, FailureError } from '../kernel/failure.ts';
import type { Admission, Admitted, AdmitWeight, Arrival, Claim, LimitHeaderForm, Reservation } from './admission.ts';
import type { Counters, EntryAnswer, Full, Held, Limit, LimitState, Spent, Unavailable } from './counters.ts';
import type { Ledger } from './ledger.ts';
import { limitHeadersOf } from './limit-headers.ts';
import type { LimitSet, PlanBook } from './plan-book.ts';
import { quotaExceeded } from './quota-message.ts';
import { milliPerCall } from './scope.ts';

export interface LimitedAdmissionParts {
  counters: Pick<Counters, 'enter' | 'hold' | 'settle'>;
  ledger: Pick<Ledger, 'open'>;
  /** The plans in force. */
  plans(): PlanBook;
  /** Names this process, so that its reservations can be told from a dead one's. */
  bootId: string;
  clock: Clock;
  /** How full the limits stand after each hold; must not throw. */
  observe: ObserveLimits;
}

/** Told how full a caller's limits stand, one state for each limit. */
export type ObserveLimits = (
  claim: Pick<Claim, 'principal' | 'tier'>,
  limits: readonly Limit[],
  states: readonly LimitState[],
) => void;

const nothing: Spent = { costMilli: 0, tokens: 0, usdNano: 0 };
const noStates: readonly LimitState[] = [];

const noPlaces: LimitSet['places'] = [];

/** A free call that is let in: it has no place to give back. One for all of a form. */
const letPass = (form: LimitHeaderForm): Admitted => ({
  kind: 'admitted',
  headers: [],
  calls: noStates,
  form,
  release() {},
});
const passing = { openai: letPass('openai'), anthropic: letPass('anthropic') };

/**
 * Enforces the plans. Fails closed: where the counters cannot be asked, or the ledger cannot commit the reservation,
 * nothing is dispatched (`quota-unavailable`) and nothing stays held.
 */
export function createLimitedAdmission(parts: LimitedAdmissionParts): Admission {
  const { counters, ledger, plans, bootId, clock, observe } = parts;

  function entered(answer: EntryAnswer, set: LimitSet, weight: AdmitWeight, { form }: Arrival): Admitted | Failure {
    switch (answer.kind) {
      case 'entered':
        return weight === 'free' ? passing[form] : new LimitedEntry(answer, set, clock, form);
      case 'full':
        return refusal(answer, set, milliPerCall[weight], noStates, form);
      case 'unavailable':
        return weight === 'free' ? passing[form] : unavailable(answer);
    }
  }

  function refusal(
    full: Full,
    set: LimitSet,
    costMilli: number,
    calls: readonly LimitState[],
    form: LimitHeaderForm,
  ): Failure {
    const nowMs = clock.wallMs();
    const reached = [...set.calls, ...set.freeCalls, ...set.windows].find(
      ({ id, scope }) => id === full.limit && scope === full.scope,
    );
    return quotaExceeded(
      full,
      reached ?? null,
      reached?.rule === 'exact' ? costMilli : 0,
      nowMs,
      limitHeadersOf(set).refused(full, calls, nowMs, form),
    );
  }

  /** The reservation stands in the books before anything is dispatched. */
  function booked(
    claim: Claim,
    set: LimitSet,
    held: Held | Full | Unavailable,
  ): Promise<Reservation | Failure> | Failure {
    const { principal, admitted, costMilli } = claim;
    if (held.kind === 'full') return refusal(held, set, costMilli, admitted.calls, admitted.form);
    if (held.kind === 'unavailable') return unavailable(held);
    const open = ledger.open({
      requestId: claim.requestId,
      bootId,
      atMs: claim.atMs,
      account: principal.account,
      keyId: principal.keyId,
      tenant: principal.tenant,
      endpoint: claim.endpoint,
      alias: claim.alias,
      tier: claim.tier,
      quotaMs: held.quotaMs,
      costMilli,
      inputTokensEstimate: claim.inputTokensEstimate,
    });
    // Two functions rather than an async one: a promise less for every request.
    return open.then(
      () => reserved(claim, set, held),
      (error: unknown) => {
        counters.settle(held, nothing);
        if (error instanceof FailureError) return error.failure;
        throw error;
      },
    );
  }

  function reserved(claim: Claim, set: LimitSet, held: Held): Reservation {
    const { requestId, costMilli, admitted } = claim;
    observe(claim, set.windows, held.states);
    admitted.booked = true;
    const headers = limitHeadersOf(set).reserved(admitted.calls, held.states, clock.wallMs(), admitted.form);
    return { kind: 'reserved', requestId, costMilli, held, headers, state: 'open' };
  }

  return {
    admit(principal: Principal, weight, arrival) {
      const set = plans().limits(principal, null);
      if (weight === 'free' && set.freeCalls.length === 0) return passing[arrival.form];
      const answer = counters.enter({
        requestId: arrival.requestId,
        account: principal.account,
        callMilli: milliPerCall[weight],
        limits: weight === 'free' ? set.freeCalls : set.calls,
        places: weight === 'free' ? noPlaces : set.places,
      });
      return answer instanceof Promise
        ? answer.then((late) => entered(late, set, weight, arrival))
        : entered(answer, set, weight, arrival);
    },

    reserve(claim) {
      const { principal, requestId, costMilli } = claim;
      claim.admitted.asked = claim.alias;
      const set = plans().limits(principal, claim.tier);
      const held = counters.hold({
        requestId,
        account: principal.account,
        scopes: set.scopes,
        costMilli,
        limits: set.windows,
      });
      return held instanceof Promise ? held.then((late) => booked(claim, set, late)) : booked(claim, set, held);
    },
  };
}

class LimitedEntry implements Admitted {
  readonly kind = 'admitted';
  readonly calls: readonly LimitState[];
  readonly form: LimitHeaderForm;
  asked = '';
  booked = false;
  readonly #entry: Extract<EntryAnswer, { kind: 'entered' }>;
  readonly #set: LimitSet;
  readonly #clock: Clock;

  constructor(entry: Extract<EntryAnswer, { kind: 'entered' }>, set: LimitSet, clock: Clock, form: LimitHeaderForm) {
    this.calls = entry.states;
    this.form = form;
    this.#entry = entry;
    this.#set = set;
    this.#clock = clock;
  }

  /** Written only when asked for: most requests go on to a reservation, whose headers hold these too. */
  get headers(): readonly string[] {
    return limitHeadersOf(this.#set).entered(this.calls, this.#clock.wallMs(), this.form);
  }

  release(): void {
    this.#entry.leave();
  }
}

function unavailable({ reason }: Unavailable): Failure {
  return {
    kind: 'quota-unavailable',
    message: `Quota is unavailable: ${reason}. Nothing was run and nothing is charged; retry the request.`,
  };
}
