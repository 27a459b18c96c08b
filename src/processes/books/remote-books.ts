import type {
  Counters,
  Entry,
  EntryAnswer,
  Full,
  Hold,
  LimitState,
  Unavailable,
} from '../../books/metering/counters.ts';
import type { Ledger } from '../../books/metering/ledger.ts';
import type { RecordOrder } from '../../books/metering/record-store.ts';
import { BriefMap } from '../../kernel/brief.ts';
import { type Failure, FailureError } from '../../kernel/failure.ts';
import { withinMs } from '../../kernel/within-ms.ts';
import type { BooksStanding, Reserved, SentList, SentStates } from '../books-offers.ts';
import type { Seat } from '../worker-seat.ts';
import { type Ports, remotePort } from './ports.ts';

/** Questions of a worker that wait for an answer; further ones are refused. */
const callsInFlightMax = 20_000;
/** How long a request waits for the books. */
const answerMaxMs = 2_000;
/** Lists of limits that the books know by number; then all are forgotten and sent again. */
const listsMax = 5_000;

const unreachable: Unavailable = { kind: 'unavailable', reason: 'the process that keeps the books does not answer' };
const tooMany: Unavailable = { kind: 'unavailable', reason: 'too many requests are active at once' };

/** The limits and the ledger of the embedded storage, which another process of this server has. */
export type RemoteBooks = Pick<Ports, 'ledger' | 'counters' | 'tally' | 'pace'>;

/** `order`: the records that the ledger writes for sinks. */
export function askBooks(seat: Seat, order: RecordOrder | undefined): RemoteBooks {
  const { books } = seat;
  const standing = () => seat.standing.books;
  /** Reservations that were opened with their holds. */
  const reserved: Opened = new BriefMap();
  const tally = remotePort('tally', books);
  return {
    counters: createRemoteCounters(seat, standing, reserved),
    ledger: createRemoteLedger(seat, standing, reserved, order),
    tally: {
      read: (names) => tally.read(names).catch(() => null),
      add: (names, windowMs) => tally.add(names, windowMs).catch(() => null),
    },
    pace: remotePort('pace', books),
  };
}

/** By request; null: the ledger took it. */
type Opened = BriefMap<{ failure: Failure | null }>;

function createRemoteCounters({ books }: Seat, standing: () => BooksStanding | null, reserved: Opened): Counters {
  const lists = createLists(() => books.notify('forgetLists'));
  let entries = 0;

  async function enter(entry: Entry): Promise<EntryAnswer> {
    if (books.pending >= callsInFlightMax) return tooMany;
    entries += 1;
    const id = entries;
    const { account, callMilli, limits, places } = entry;
    const entered = books.ask('enter', id, account, callMilli, lists.sent(limits), lists.sent(places));
    const answer = await inTime(entered);
    if (answer === null) {
      books.notify('leave', id);
      return unreachable;
    }
    if (!Array.isArray(answer)) return answer;
    let left = false;
    return {
      kind: 'entered',
      states: statesOf(answer, 0),
      leave() {
        if (left) return;
        left = true;
        if (places.length > 0) books.notify('leave', id);
      },
    };
  }

  async function hold({ requestId, account, scopes, costMilli, limits, row }: Hold) {
    if (books.pending >= callsInFlightMax) return tooMany;
    const sent = [requestId, account, costMilli, lists.sent(scopes), lists.sent(limits), row ?? null] as const;
    const answer: Reserved | null = await inTime(books.ask('reserve', ...sent));
    if (answer === null) {
      books.notify('abandon', requestId);
      return unreachable;
    }
    const states = heldStates(answer);
    if (states === null) return answer as Full | Unavailable;
    if (row !== undefined) reserved.set(requestId, { failure: Array.isArray(answer) ? null : failureIn(answer) });
    const quotaMs = states[0] ?? 0;
    return { kind: 'held' as const, requestId, account, scopes, costMilli, quotaMs, states: statesOf(states, 1) };
  }

  return {
    enter,
    hold,
    settle: ({ requestId }, spent) => {
      reserved.take(requestId);
      books.notify('settle', requestId, spent);
    },
    giveBack: (returned) => books.notify('giveBack', returned),
    ...remotePort('counters', books),
    trouble: () => standing()?.counters ?? null,
    async close() {},
  };
}

function createRemoteLedger(
  { books, given }: Seat,
  standing: () => BooksStanding | null,
  reserved: Opened,
  order: RecordOrder | undefined,
): Ledger {
  const open = new BriefMap<true>();
  const remote = remotePort('ledger', books);
  return {
    ...remote,
    async open(row) {
      const { requestId } = row;
      const opened = reserved.take(requestId);
      if (opened === undefined) {
        const answer = await inTime(books.ask('open', row).then(() => true));
        if (answer === null) {
          books.notify('abandon', requestId);
          throw new FailureError({ kind: 'quota-unavailable', message: `Nothing was run: ${unreachable.reason}.` });
        }
      } else if (opened.failure !== null) throw new FailureError(opened.failure);
      open.set(requestId, true);
    },
    close(event) {
      // As the port says: only what is open, and once.
      if (open.take(event.requestId)) books.notify('close', event, order?.bodiesOf(event.requestId) ?? null);
    },
    began: (requestId, endpoint) => books.notify('began', requestId, endpoint),
    note: (refused) => books.notify('note', refused),
    // The books charge a dead worker's reservations when it dies, and those of an earlier start before any worker.
    recover: async () => 0,
    livingBoots: async () => 1,
    records: remotePort('records', books),
    experiments: remotePort('experiments', books),
    statements: remotePort('statements', books),
    trouble: () => standing()?.ledger ?? null,
    gauges() {
      // Those of the books are shown once.
      const { queued, dropped } = (given.number === 1 ? standing() : null) ?? { queued: 0, dropped: 0 };
      return { queued, dropped, open: open.size };
    },
    async shutdown() {
      await remote.flush();
    },
  };
}

function heldStates(answer: Reserved): SentStates | null {
  if (Array.isArray(answer)) return answer;
  return answer.kind === 'unbooked' ? answer.states : null;
}

function failureIn(answer: Exclude<Reserved, SentStates>): Failure | null {
  return answer.kind === 'unbooked' ? answer.failure : null;
}

function statesOf(sent: SentStates, from: number): LimitState[] {
  const states: LimitState[] = [];
  for (let at = from; at < sent.length; at += 2) {
    const leavesAtMs = sent[at + 1] ?? 0;
    states.push({ used: sent[at] ?? 0, leavesAtMs: leavesAtMs === 0 ? null : leavesAtMs });
  }
  return states;
}

/** Null: no answer came in time, or none will. Rejects with a FailureError that was the answer. */
async function inTime<T>(pending: Promise<T>): Promise<T | null> {
  try {
    return await withinMs(answerMaxMs, pending, null);
  } catch (error) {
    if (error instanceof FailureError) throw error;
    return null;
  }
}

/** Numbers of lists that were sent. */
function createLists(forget: () => void) {
  let numbers = new WeakMap<readonly unknown[], number>();
  let last = 0;
  let known = 0;
  return {
    sent(list: readonly unknown[]): SentList {
      const number = numbers.get(list);
      if (number !== undefined) return [number, null];
      if (known >= listsMax) {
        numbers = new WeakMap();
        known = 0;
        forget();
      }
      known += 1;
      last += 1;
      numbers.set(list, last);
      return [last, list];
    },
  };
}
