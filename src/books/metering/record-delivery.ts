import { setTimeout as rest } from 'node:timers/promises';
import { backoffMs } from '../../kernel/backoff.ts';
import type { Clock } from '../../kernel/clock.ts';
import { withinMs } from '../../kernel/within-ms.ts';
import type { OrderedRecord, RecordStore, SinkFailure } from './record-store.ts';
import { recordLine } from './request-record.ts';

/** Receiver of records; `send` resolves when they have arrived. */
export interface Sink {
  name: string;
  /** True if its records hold bodies, if there are any. */
  bodies: boolean;
  batchRecordsMax: number;
  /** Bytes of a batch; a longer record goes alone. */
  batchBytesMax: number;
  /** Pause between batches; none while batches are full. */
  everyMs: number;
  send(batch: Batch): Promise<void>;
}

export interface Batch {
  /** JSON lines, each with its line end. */
  lines: string;
  records: number;
  /** Id of the first request. A batch that is sent again after a crash begins with the same one. */
  firstId: string;
  /** Time when it came, in wall-clock ms. */
  atMs: number;
}

export interface SinkStanding {
  name: string;
  /** `elsewhere`: another process sends, and has not said that it fails. */
  at: 'sending' | 'elsewhere' | 'failing';
  /** Its answer to the newest try; null unless it fails. */
  why: string | null;
  /** Age of the oldest record that has not arrived; 0 if all have, or another process sends and does not fail. */
  lagMs: number;
}

/** Sends what the ledger has to sinks until it is received, by one process at a time, and survives the process. */
export type RecordDelivery = ReturnType<typeof createRecordDelivery>;

/** Longer than a batch takes: a process that dies leaves its sinks to another after this. */
const leaseMs = 30_000;
const takeAgainMs = 5_000;
/** Rows that are read, and made into lines, in one turn. */
const readRows = 200;
const retryPauses = { firstMs: 250, maxMs: 60_000 };
/** Maximum time that a stop waits for a running batch. If it is cut, the next process sends it again. */
const stopWaitMs = 3_000;

export function createRecordDelivery(parts: {
  store: RecordStore;
  sinks: readonly Sink[];
  clock: Clock;
  onTrouble(message: string, level?: 'info'): void;
}) {
  const stopping = new AbortController();
  const loops = parts.sinks.map((sink) => new SinkLoop(sink, parts));
  let running: Promise<unknown> = Promise.resolve();
  return {
    start(): void {
      running = Promise.all(loops.map((loop) => loop.run(stopping.signal)));
    },
    standing: (): readonly SinkStanding[] => loops.map((loop) => loop.standing()),
    /** Nothing is begun any more; resolves when no batch is under way, or after three seconds. */
    async stop(): Promise<void> {
      stopping.abort();
      await withinMs(stopWaitMs, running, null);
    },
  };
}

/** The next batch after a position: as many whole records as the sink takes at once. */
async function gather(sink: Sink, store: RecordStore, position: number) {
  const records: OrderedRecord[] = [];
  let lines = '';
  let bytes = 0;
  let isFull = false;
  for (let after = position; !isFull; ) {
    const limit = Math.min(readRows, sink.batchRecordsMax - records.length);
    const rows = await store.read(after, limit);
    for (const record of rows) {
      const line = recordLine(record.event, sink.bodies ? record.bodies : null);
      bytes += Buffer.byteLength(line);
      isFull = records.length > 0 && bytes > sink.batchBytesMax;
      if (isFull) break;
      lines += line;
      records.push(record);
    }
    if (records.length === sink.batchRecordsMax) isFull = true;
    const last = rows.at(-1);
    if (rows.length < limit || last === undefined) break;
    after = last.position;
  }
  const first = records[0]?.event;
  const last = records.at(-1);
  if (first === undefined || last === undefined) return { batch: null, last: position, isFull: false, settledMs: null };
  const batch: Batch = { lines, records: records.length, firstId: first.requestId, atMs: first.atMs };
  return { batch, last: last.position, isFull, settledMs: first.settledMs };
}

interface LoopParts {
  store: RecordStore;
  clock: Clock;
  onTrouble(message: string, level?: 'info'): void;
}

class SinkLoop {
  readonly #sink: Sink;
  readonly #parts: LoopParts;
  #at: SinkStanding['at'] = 'elsewhere';
  #failure: SinkFailure | null = null;
  /** In a row. */
  #failures = 0;
  /** Time of the oldest record that has not arrived; null if all have. */
  #behindMs: number | null = null;

  constructor(sink: Sink, parts: LoopParts) {
    this.#sink = sink;
    this.#parts = parts;
  }

  async run(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      const pauseMs = await this.#turn().catch((error) => this.#failed(error));
      if (pauseMs > 0) await rest(pauseMs, undefined, { ref: false, signal: stopping }).catch(() => undefined);
    }
    if (this.#at !== 'elsewhere') await this.#parts.store.letGo(this.#sink.name).catch(() => undefined);
  }

  standing(): SinkStanding {
    return {
      name: this.#sink.name,
      at: this.#failure === null ? this.#at : 'failing',
      why: this.#failure?.why ?? null,
      lagMs: this.#behindMs === null ? 0 : Math.max(0, this.#parts.clock.wallMs() - this.#behindMs),
    };
  }

  /** Ms until the next turn. */
  async #turn(): Promise<number> {
    const sink = this.#sink;
    const { store, onTrouble } = this.#parts;
    const position = await store.take(sink.name, leaseMs);
    if (position === null) {
      this.#at = 'elsewhere';
      this.#failure = await store.failure(sink.name);
      this.#behindMs = this.#failure?.sinceMs ?? null;
      return takeAgainMs;
    }
    const { batch, last, isFull, settledMs } = await gather(sink, store, position);
    this.#behindMs = settledMs;
    if (batch !== null) {
      await sink.send(batch);
      await store.arrived(sink.name, last);
      this.#behindMs = isFull ? settledMs : null;
    }
    if (this.#at === 'failing') onTrouble(`the sink ${sink.name} accepts records again`, 'info');
    // The failure of a process that died is over, too.
    if (this.#at !== 'sending') await store.failed(sink.name, null);
    this.#at = 'sending';
    this.#failure = null;
    this.#failures = 0;
    return isFull ? 0 : sink.everyMs;
  }

  /** Ms until the next try. */
  async #failed(error: unknown): Promise<number> {
    const { name } = this.#sink;
    const why = error instanceof Error ? error.message : String(error);
    const wasFailing = this.#at === 'failing';
    const isNew = !wasFailing || this.#failure?.why !== why;
    this.#at = 'failing';
    this.#failure = { why, sinceMs: this.#behindMs };
    if (!wasFailing) this.#parts.onTrouble(`the sink ${name} accepts no records, so they wait in the ledger: ${why}`);
    if (isNew) await this.#parts.store.failed(name, this.#failure).catch(() => undefined);
    return backoffMs(++this.#failures, retryPauses);
  }
}
