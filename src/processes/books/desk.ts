import { nanoUsd } from '../../books/metering/counter-scope.ts';
import type {
  Counters,
  EntryAnswer,
  Full,
  Held,
  Limit,
  LimitState,
  Spent,
  Unavailable,
} from '../../books/metering/counters.ts';
import type { Ledger, ReservationRow, UsageEvent } from '../../books/metering/ledger.ts';
import { crashedEvent } from '../../books/metering/settlement.ts';
import { CalendarPeriod } from '../../books/metering/window.ts';
import { BriefMap } from '../../kernel/brief.ts';
import { FailureError } from '../../kernel/failure.ts';
import type { BooksOffers, Reserved, SentList, SentStates } from '../books-offers.ts';
import { askingTwice } from './ask-again.ts';

export interface DeskParts {
  ledger: Ledger;
  counters: Counters;
  /** Names the process of the books in the ledger: of the current boot no reservation is a dead one's. */
  bootId: string;
  /** Gets the bodies of an event for sinks, before it is closed. */
  onBodies(requestId: string, bodies: string): void;
  /** The ports that are called by name. */
  call: BooksOffers['call'];
  /** Resolves when the books have what all workers said before. */
  delivered(): Promise<void>;
}

/** Requests of one worker to the books. */
export interface Desk extends BooksOffers {
  /** The worker is gone: charges its open reservations as estimated, and gives back all else. Resolves to how many. */
  lost(): Promise<number>;
}

/** Holdings of a worker for a request. */
interface Running {
  held: Held | null;
  row: ReservationRow | null;
  /** Settles when the row is committed, or cannot be. */
  opening: Promise<void> | null;
}

type Entered = Exclude<EntryAnswer, { kind: 'entered' }> | SentStates;

const nothing: Spent = { costMilli: 0, tokens: 0, usdNano: 0 };

type Parts = Pick<DeskParts, 'ledger' | 'counters' | 'bootId'>;

/** Requests of one worker that hold units, or have a reservation. */
function createRunning({ ledger, counters, bootId }: Parts) {
  const running = new BriefMap<Running>();

  function of(requestId: string): Running {
    const known = running.get(requestId);
    if (known !== undefined) return known;
    const one: Running = { held: null, row: null, opening: null };
    running.set(requestId, one);
    return one;
  }

  function forgetEnded(requestId: string, { held, row }: Running): void {
    if (held === null && row === null) running.take(requestId);
  }

  function open(row: ReservationRow): Promise<void> {
    const one = of(row.requestId);
    row.bootId = bootId;
    one.row = row;
    one.opening = ledger.open(row).catch((error: unknown) => {
      one.row = null;
      forgetEnded(row.requestId, one);
      throw error;
    });
    return one.opening;
  }

  function settle(requestId: string, spent: Spent): void {
    const one = running.get(requestId);
    if (one === undefined || one.held === null) return;
    counters.settle(one.held, spent);
    one.held = null;
    forgetEnded(requestId, one);
  }

  function close(event: UsageEvent): void {
    const one = running.get(event.requestId);
    if (one !== undefined) {
      one.row = null;
      forgetEnded(event.requestId, one);
    }
    ledger.close(event);
  }

  return {
    hold(held: Held): void {
      of(held.requestId).held = held;
    },
    open,
    settle,
    close,
    get: (requestId: string) => running.get(requestId),
    ids: () => [...running.keys()],
  };
}

/** Ends what nobody will end any more; true: it was charged. */
async function end(
  running: ReturnType<typeof createRunning>,
  requestId: string,
  charge: (row: ReservationRow) => UsageEvent,
): Promise<boolean> {
  const one = running.get(requestId);
  await one?.opening?.catch(() => undefined);
  if (one === undefined || one.row === null) {
    running.settle(requestId, nothing);
    return false;
  }
  const event = charge(one.row);
  const { costMilli, inputTokens, outputTokens, costUsd } = event;
  running.settle(requestId, { costMilli, tokens: inputTokens + outputTokens, usdNano: nanoUsd(costUsd) });
  running.close(event);
  return true;
}

/** One for each worker. Everything comes in the order in which the worker said it. */
export function createDesk(parts: DeskParts): Desk {
  const { ledger, counters, onBodies, call } = parts;
  const { enter, hold } = askingTwice(counters, parts.delivered);
  const entries = createEntries();
  const running = createRunning(parts);
  const { settle, open } = running;
  const lists = createLists();
  /** Given up while the counters still read the past. */
  const abandonedEarly = new Set<string>();
  let isLost = false;

  function held(answer: Held | Full | Unavailable, row: ReservationRow | null): Reserved | Promise<Reserved> {
    if (answer.kind !== 'held') return answer;
    const { requestId, quotaMs } = answer;
    const states = sent(answer.states, [quotaMs]);
    running.hold(answer);
    const isUnwanted = isLost || abandonedEarly.delete(requestId);
    if (isUnwanted) settle(requestId, nothing);
    if (row === null || isUnwanted) return states;
    row.quotaMs = quotaMs;
    return open(row).then(
      () => states,
      (error: unknown) => {
        settle(requestId, nothing);
        return { kind: 'unbooked', states, failure: failureOf(error) };
      },
    );
  }

  return {
    enter(entry, account, callMilli, limits, places) {
      const counted = { limits: lists.ofLimits(limits), places: lists.of<never>(places) };
      const answer = enter({ requestId: '', account, callMilli, ...counted });
      const entered = (late: EntryAnswer) => entries.add(entry, counted.places.length > 0, late);
      return answer instanceof Promise ? answer.then(entered) : entered(answer);
    },
    leave: entries.leave,
    reserve(requestId, account, costMilli, scopes, limits, row) {
      const sentLists = { scopes: lists.of<string>(scopes), limits: lists.ofLimits(limits) };
      const answer = hold({ requestId, account, costMilli, ...sentLists });
      return answer instanceof Promise ? answer.then((late) => held(late, row)) : held(answer, row);
    },
    settle,
    abandon(requestId) {
      if (running.get(requestId) === undefined) noteEarly(abandonedEarly, requestId);
      void end(running, requestId, unchargedEvent);
    },
    giveBack: counters.giveBack.bind(counters),
    open,
    close(event, bodies) {
      if (bodies !== null) onBodies(event.requestId, bodies);
      running.close(event);
    },
    began(requestId, endpoint) {
      const row = running.get(requestId)?.row;
      if (row != null) row.endpoint = endpoint;
      ledger.began(requestId, endpoint);
    },
    note: ledger.note.bind(ledger),
    forgetLists: lists.forget,
    call,
    async lost() {
      isLost = true;
      entries.lose();
      lists.forget();
      const charged = await Promise.all(running.ids().map((requestId) => end(running, requestId, crashedEvent)));
      return charged.filter((one) => one).length;
    },
  };
}

const earlyMax = 10_000;

function noteEarly<Name>(early: Set<Name>, name: Name): void {
  if (early.size >= earlyMax) early.clear();
  early.add(name);
}

/** Places that requests of one worker have. */
function createEntries() {
  const entries = new BriefMap<() => void>();
  const leftEarly = new Set<number>();
  let isLost = false;
  return {
    add(entry: number, hasPlaces: boolean, answer: EntryAnswer): Entered {
      if (answer.kind !== 'entered') return answer;
      if (hasPlaces && !isLost && !leftEarly.delete(entry)) entries.set(String(entry), answer.leave);
      else answer.leave();
      return sent(answer.states, []);
    },
    leave(entry: number): void {
      const leave = entries.take(String(entry));
      if (leave === undefined) noteEarly(leftEarly, entry);
      leave?.();
    },
    lose(): void {
      isLost = true;
      for (const leave of entries.values()) leave();
      entries.clear();
    },
  };
}

/** Lists that a worker names by number. Counters know the places of the very list that came first. */
function createLists() {
  const known = new Map<number, readonly unknown[]>();
  function of<Item>([number, items]: SentList): readonly Item[] {
    if (items !== null) known.set(number, items);
    const list = known.get(number);
    if (list === undefined) throw new Error(`a worker names list ${number}, which it has not sent`);
    return list as readonly Item[];
  }
  return {
    of,
    ofLimits: ([number, items]: SentList): readonly Limit[] =>
      of([number, items === null ? null : withPeriods(items as readonly Limit[])]),
    forget: () => known.clear(),
  };
}

/** Limits as they came over a link, which knows no classes: each period is made anew. */
export function withPeriods(limits: readonly Limit[]): readonly Limit[] {
  return limits.map((limit) => {
    const { period } = limit;
    return period === undefined ? limit : { ...limit, period: new CalendarPeriod(period.name, period.zone) };
  });
}

/** After `numbers`: for each limit what is used, and when the oldest leaves; 0 when nothing is counted. */
function sent(states: readonly LimitState[], numbers: SentStates): SentStates {
  for (const { used, leavesAtMs } of states) numbers.push(used, leavesAtMs ?? 0);
  return numbers;
}

function failureOf(error: unknown) {
  return error instanceof FailureError ? error.failure : ({ kind: 'internal' } as const);
}

/** Event of a request that was refused because the books were too slow. */
function unchargedEvent(row: ReservationRow): UsageEvent {
  return { ...crashedEvent(row), costMilli: 0, inputTokens: 0, usageSource: 'none', status: 503, aborted: false };
}
