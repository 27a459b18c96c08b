import type { UsageEvent } from '../ledger/columns.ts';

/**
 * The port of records that go to sinks: the order in which the ledger committed them, and how far each sink has them.
 * It is written in the commit of the event itself, so nothing is recorded and not sent. Drivers: stores/sqlite
 * (ledger.db), stores/postgres.
 */
export interface RecordStore {
  /** Makes the sinks known. A new one begins after the newest record; one unserved for a week is forgotten. */
  begin(sinks: readonly string[]): Promise<void>;
  /**
   * Takes the sink for this process alone for `leaseMs`. Resolves to the position of the last record that arrived;
   * null while another process has the sink.
   */
  take(sink: string, leaseMs: number): Promise<number | null>;
  /** Tells the other processes why the sink of this one accepts nothing; null: it does again. */
  failed(sink: string, failure: SinkFailure | null): Promise<void>;
  /** The newest that `failed` got from the process that has the sink; null where no other process can have it. */
  failure(sink: string): Promise<SinkFailure | null>;
  /** Leaves it to another process. */
  letGo(sink: string): Promise<void>;
  /** Up to `limit` records behind a position, in their order. Refused requests are none. */
  read(after: number, limit: number): Promise<readonly OrderedRecord[]>;
  /** The sink has every record up to `position`; what all sinks have is forgotten. Again changes nothing. */
  arrived(sink: string, position: number): Promise<void>;
}

export interface SinkFailure {
  /** Its answer to the newest try. */
  why: string;
  /** Wall-clock ms at which the oldest record that has not arrived was settled; null if that is unknown. */
  sinceMs: number | null;
}

/** A process that may send records has this in the options of its ledger; others write no order. */
export interface RecordOrder {
  /** JSON of a request and its answer, if a sink gets them; null otherwise. */
  bodiesOf(requestId: string): string | null;
}

export interface OrderedRecord {
  /** Above every position that was committed before; not without gaps. */
  position: number;
  event: UsageEvent;
  bodies: string | null;
}
