import type { Full, Returned, Spent, Unavailable } from '../books/metering/counters.ts';
import type { ReservationRow, UsageEvent } from '../books/metering/ledger.ts';
import type { Failure } from '../kernel/failure.ts';

/**
 * A list that comes with every request of a caller: by its number, and with its items the first time. `forgetLists`
 * begins anew.
 */
export type SentList = [number: number, items: readonly unknown[] | null];

/**
 * Answers to what is asked for each request, as numbers alone: objects would carry the names of their members. For each
 * limit what is used, and when the oldest leaves (0: nothing is counted).
 */
export type SentStates = number[];

/**
 * Services of the process that has the books to a worker: counters and ledger of the embedded storage. Needs of every
 * request have a method each; the others are called by port and name.
 */
export interface BooksOffers {
  /** `entry` names it in `leave`. */
  enter(
    entry: number,
    account: string,
    callMilli: number,
    limits: SentList,
    places: SentList,
  ): SentStates | Full | Unavailable | Promise<SentStates | Full | Unavailable>;
  leave(entry: number): void;
  /** Holds and, with a row, opens the reservation: the instant of the hold, then its states. Null: only held. */
  reserve(
    requestId: string,
    account: string,
    costMilli: number,
    scopes: SentList,
    limits: SentList,
    row: ReservationRow | null,
  ): Reserved | Promise<Reserved>;
  settle(requestId: string, spent: Spent): void;
  /** The worker gave up waiting for `reserve` or `open`: what came of it is undone and charges nothing. */
  abandon(requestId: string): void;
  giveBack(returned: Returned): void;
  open(row: ReservationRow): Promise<void>;
  began(requestId: string, endpoint: string): void;
  /** `bodies`: for sinks; null: none are kept. */
  close(event: UsageEvent, bodies: string | null): void;
  /** The record of a refused request. */
  note(refused: UsageEvent): void;
  forgetLists(): void;
  call(port: string, name: string, args: unknown[]): unknown;
}

/** `unbooked`: the ledger did not take the row, and nothing stays held. */
export type Reserved = SentStates | Full | Unavailable | { kind: 'unbooked'; states: SentStates; failure: Failure };

/** The state of the books, which workers get when it changes. */
export interface BooksStanding {
  /** Why the ledger takes nothing, in words for the operator; null: it does. */
  ledger: string | null;
  counters: string | null;
  /** Why the ledger cannot be trusted; null while nothing is known. */
  damage: string | null;
  /** Why it holds the workers up; null: it does not. */
  overload: string | null;
  queued: number;
  dropped: number;
}
