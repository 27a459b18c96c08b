import type { Config } from '../../config/schema.ts';
import { cacheSavedUsd, usdOf } from '../../formats/neutral/price.ts';
import type { Usage } from '../../formats/neutral/usage.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, FailureError } from '../../kernel/failure.ts';
import type { Principal } from '../auth/principal.ts';
import { blankEvent, settledEvent } from '../ledger/columns.ts';
import type {
  Admission,
  Admitted,
  AdmitWeight,
  Arrival,
  Charge,
  Claim,
  CostLine,
  Delivered,
  LimitHeaderForm,
  ObserveLimits,
  RequestFacts,
  Reservation,
  Settled,
  Settlement,
  UsageOrigin,
} from './admission.ts';
import type { Counters, EntryAnswer, Full, Held, Limit, LimitState, Spent, Unavailable } from './counters.ts';
import type { Ledger, ReservationRow, UsageEvent } from './ledger.ts';
import type { RequestParts } from './part-budgets.ts';
import type { Plan } from './plan.ts';
import type { LimitSet, PlanBook } from './plan-book.ts';
import { quotaExceeded } from './quota-message.ts';
import { milliPerCall, nanoUsd } from './scope.ts';

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

    reserve(claim) {
      const trouble = troubleOf(troubles);
      if (trouble !== null) return booksClosed(trouble);
      const { principal, requestId, costMilli } = claim;
      claim.admitted.asked = claim.alias;
      // Most accounts have no budgets within, and enter nothing of them.
      const set =
        principal.budgets === undefined
          ? plans().limits(principal, claim.tier)
          : plans().limits(principal, claim.tier, partsOf(claim));
      if (set.furtherScopes !== null) claim.furtherScopes = set.furtherScopes;
      const limits = limitsOn(claim.admitted, set.windows);
      const { account } = principal;
      const row = rowOf(claim, parts.bootId);
      const held = counters.hold({
        requestId,
        account,
        scopes: set.scopes,
        costMilli,
        limits,
        states: set.states,
        row,
      });
      return held instanceof Promise
        ? held.then((late) => booked(parts, claim, set, limits, row, late))
        : booked(parts, claim, set, limits, row, held);
    },
  };
}

function partsOf({ user = null, tag = null, alias }: Claim): RequestParts {
  return { user, tag, alias };
}

/** Its instant is known once it is held. */
function rowOf(claim: Claim, bootId: string): ReservationRow {
  const {
    requestId,
    principal,
    atMs,
    endpoint,
    alias,
    tier,
    costMilli,
    inputTokensEstimate,
    furtherScopes = null,
  } = claim;
  const { account, tenant } = principal;
  const keyId = principal.run?.keyId ?? principal.keyId;
  const quotaMs = 0;
  // biome-ignore format: one literal, since a spread would be a copy for every request.
  return { requestId, bootId, atMs, account, keyId, tenant, endpoint, alias, tier, quotaMs, costMilli, furtherScopes, inputTokensEstimate };
}

/** The reservation stands in the books before anything is dispatched. */
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
  const headers = isWhole ? set.headers.reserved(admitted.calls, held.states, nowMs, admitted.form) : [];
  row.quotaMs = held.quotaMs;
  const open = ledger.open(row, held.bookByMs);
  // Two functions rather than an async one: a promise less for every request.
  return open.then(
    () => {
      if (set.notify && isWhole) observe(claim, limits, held.states);
      admitted.booked = true;
      return { kind: 'reserved', requestId, costMilli, held, headers, state: 'open' };
    },
    (error: unknown) => {
      counters.settle(held, nothing);
      if (error instanceof FailureError) return error.failure;
      throw error;
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

/** Of limits of a minute, what those may use for whom nobody waits: three quarters, and at least a call. */
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
  asked = '';
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
    return this.#set.headers.entered(this.calls, this.#clock.wallMs(), this.form);
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
  return quotaExceeded(full, reached, needs, nowMs, set.headers.refused(full, calls, nowMs, form));
}

function unavailable({ reason }: Unavailable): Failure {
  return {
    kind: 'quota-unavailable',
    message: `Quota is unavailable: ${reason}. Nothing was run and nothing is charged; retry the request.`,
  };
}

/** `settled` hears of each before the books are closed; `plans` are those in force. */
export function createSettlement(
  ledger: Pick<Ledger, 'close'>,
  settled: Settled,
  plans: () => Pick<PlanBook, 'plan'>,
): Settlement {
  return {
    settle(reservation, facts) {
      // Noted on the reservation itself: a WeakSet of them would be work for every garbage collection.
      if (reservation.state === 'settled') return null;
      reservation.state = 'settled';
      const { claim } = facts;
      const doneMilli = Math.min(reservation.costMilli, facts.doneMilli ?? reservation.costMilli);
      const charge = chargeOf(
        facts.delivery,
        doneMilli,
        { usage: facts.usage, source: facts.usageSource, inputTokensEstimate: claim.inputTokensEstimate },
        plans().plan(claim.principal.plan),
      );
      // A price for each request is not charged either where nothing is.
      const costUsd = charge === free ? facts.price && 0 : costOf(charge.usage, facts, claim.atMs);
      const event = settledEvent({ facts, charge, costUsd, quotaMs: reservation.held.quotaMs });
      if (event.cachedInputTokens + event.cacheWriteTokens > 0) {
        event.savedUsd ??= cacheSavedUsd(charge.usage, facts.price, claim.atMs);
      }
      // The same amounts that `bucketsOf` writes of the event.
      const tokens = event.inputTokens + event.outputTokens;
      settled(reservation, { costMilli: event.costMilli, tokens, usdNano: nanoUsd(costUsd) }, claim);
      ledger.close(event);
      return event;
    },
  };
}

/** In USD; null where nothing of it has a price. */
function costOf(usage: Usage, { price, besideUsd }: Pick<RequestFacts, 'price' | 'besideUsd'>, atMs: number) {
  const ownUsd = price === null ? null : usdOf(usage, price, atMs);
  return besideUsd === 0 ? ownUsd : Math.round(1e9 * ((ownUsd ?? 0) + besideUsd)) / 1e9;
}

export interface SettledLimitsParts {
  counters: Pick<Counters, 'settle' | 'read'>;
  plans(): PlanBook;
  observe: ObserveLimits;
}

/** Accounts being looked at, at most; beyond it the next reservation's look has to do. */
const looksMax = 1_000;

/**
 * What settlement does to the counters: it gives back the unused part and adds tokens and USD. When a plan has notices,
 * the limits that only settlement moves are checked afterwards, one check per account at a time. Nobody else would see
 * the last one reached, because nothing is admitted from then on.
 */
export function createSettledLimits({ counters, plans, observe }: SettledLimitsParts): Settled {
  /** True: settled again while it was looked at. */
  const looks = new Map<string, boolean>();
  async function look(claim: Claim, limits: readonly Limit[]): Promise<void> {
    const { tenant, account } = claim.principal;
    if (looks.has(tenant)) {
      looks.set(tenant, true);
      return;
    }
    if (looks.size >= looksMax) return;
    try {
      do {
        looks.set(tenant, false);
        observe(claim, limits, await counters.read(account, limits));
      } while (looks.get(tenant) === true);
    } catch {
      // Notices are advisory: the next request looks again.
    } finally {
      looks.delete(tenant);
    }
  }

  return (reservation, spent, claim) => {
    counters.settle(reservation.held, spent);
    const { notify, postPaid } = plans().limits(claim.principal, claim.tier);
    if (notify && postPaid.length > 0) void look(claim, postPaid);
  };
}

/** What the ledger calls units that are held for lines at a provider's batch API. */
export const batchHoldEndpoint = 'batches';

/**
 * The event of a request whose process died before settlement: it is charged what it held, with estimated tokens.
 * Nobody knows what the caller saw; it is never 0, and never charged twice (faults.md F38).
 */
export function crashedEvent({ bootId: _, inputTokensEstimate, ...booked }: ReservationRow): UsageEvent {
  return {
    ...blankEvent,
    ...booked,
    // Its lines are charged one by one.
    ...(booked.endpoint === batchHoldEndpoint && { costMilli: 0 }),
    // Nobody knows when it ended. Its own instant keeps it out of windows that it had left.
    settledMs: booked.quotaMs,
    status: 500,
    class: 'crashed',
    aborted: true,
    inputTokens: inputTokensEstimate,
    usageSource: 'estimated',
    route: { alias: booked.alias, verdicts: [], attempts: [], losses: [], passThrough: false },
  };
}

const nothingUsed: Usage = { inputTokens: 0, outputTokens: 0 };
const free: Charge = { costMilli: 0, usage: nothingUsed, usageSource: 'none' };

/**
 * Design §11's rules. `reservedMilli` is kept once content went out and given back before. A caller who leaves early pays
 * what `plan.abandoned` says: the input tokens that were sent on their behalf, from the upstream's figure or else from the
 * estimate; or all as if it had been answered; or nothing.
 */
export function chargeOf(
  delivery: Delivered,
  reservedMilli: number,
  used: { usage: Usage | null; source: UsageOrigin; inputTokensEstimate: number },
  plan: Pick<Plan, 'abandoned'>,
): Charge {
  switch (delivery === 'abandoned' && plan.abandoned === 'full' ? 'part' : delivery) {
    case 'whole':
    case 'part':
      return used.usage === null
        ? { costMilli: reservedMilli, usage: inputOnly(used.inputTokensEstimate), usageSource: 'estimated' }
        : { costMilli: reservedMilli, usage: used.usage, usageSource: used.source };
    case 'abandoned':
      if (plan.abandoned === 'free') return free;
      return used.usage === null
        ? { costMilli: 0, usage: inputOnly(used.inputTokensEstimate), usageSource: 'estimated' }
        : { costMilli: 0, usage: { ...used.usage, outputTokens: 0, reasoningTokens: 0 }, usageSource: used.source };
    case 'nothing':
      return free;
  }
}

function inputOnly(inputTokens: number): Usage {
  return { inputTokens, outputTokens: 0 };
}

/**
 * What a call is charged, in milli-units: its line × the model's own cost (1 where no model answers) × `count`, the
 * images of an image call, the pages of a crawl. Attempts, fallbacks and the items of a batch cost nothing more.
 */
export function costMilliOf(costs: Config['costs'], line: CostLine, modelCost = 1, count = 1): number {
  const units = typeof line === 'number' ? line : costs[line];
  return Math.round(units * modelCost * 1_000) * count;
}
