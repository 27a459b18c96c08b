import { every } from '../../kernel/every.ts';
import { withinMs } from '../../kernel/within-ms.ts';
import { lengthDelimited, type SharedPart, SpanWriter, tagged } from './span-writer.ts';

/** Bytes of one batch, and bytes that may wait for a receiver that is slow or gone: 8 MB. */
const batchBytes = 256 * 1024;
const waitingMax = 32;
/** How long a span waits for others. */
const gatherMs = 1_000;
/** Batches whose buffers are kept to be written again. */
const sparesMax = 2;

/** One request of OTLP/HTTP: its body, and how many spans are in it. */
export interface SpanBatch {
  body: Uint8Array;
  spans: number;
}

export interface SpanSenderParts {
  /** Resource and scope, encoded. */
  resource: Buffer;
  scope: Buffer;
  /** Resolves to null, or to why the batch was given up; with separate retries. Never rejects. */
  send(batch: SpanBatch): Promise<string | null>;
  /** Called once when spans begin to be lost, and once when they are sent again with how many were lost meanwhile. */
  onLost(why: string): void;
  onBack(lost: number): void;
}

/** Gathers spans and sends them in batches. Spans without room are lost and counted: nobody waits for a receiver. */
export class SpanSender {
  readonly #parts: SpanSenderParts;
  /** Bytes before the spans of a batch, where its head is written once their length is known. */
  readonly #headMax: number;
  #writer: SpanWriter;
  #spans = 0;
  readonly #waiting: { writer: SpanWriter; spans: number }[] = [];
  readonly #spares: SpanWriter[] = [];
  readonly #stopLooking: () => void;
  #sending: Promise<void> | null = null;
  #lost = 0;
  #inTrouble = false;

  constructor(parts: SpanSenderParts) {
    this.#parts = parts;
    this.#headMax = headOf(parts, batchBytes).length;
    this.#writer = new SpanWriter(batchBytes);
    this.#writer.at = this.#headMax;
    this.#stopLooking = every(gatherMs, () => this.#look());
  }

  /** Place of the next span, which has at most this many bytes in addition to its shared part; null: it is lost. */
  take(shared: SharedPart, spanBytes: number): SpanWriter | null {
    if (!this.#writer.hasRoom(shared, spanBytes) && !this.#next()) return this.#lose(1, 'the receiver is too slow');
    // One of a very long prompt is larger than any batch.
    if (!this.#writer.hasRoom(shared, spanBytes)) return this.#lose(1, 'a span is too large');
    this.#spans += 1;
    return this.#writer;
  }

  /** Sends the gathered spans. Resolves when none waits any more, or after `waitMs`. */
  async close(waitMs: number): Promise<void> {
    this.#stopLooking();
    this.#next();
    await withinMs(waitMs, this.#sending, null);
  }

  #lose(spans: number, why: string): null {
    this.#lost += spans;
    if (!this.#inTrouble) {
      this.#inTrouble = true;
      this.#parts.onLost(why);
    }
    return null;
  }

  /** While batches wait, this one is filled first. */
  #look(): void {
    if (this.#sending === null) this.#next();
  }

  /** Has the batch sent that was written, and begins another; false where too many wait. */
  #next(): boolean {
    if (this.#spans === 0) return true;
    if (this.#waiting.length >= waitingMax) return false;
    this.#waiting.push({ writer: this.#writer, spans: this.#spans });
    this.#writer = this.#spares.pop() ?? new SpanWriter(batchBytes);
    this.#writer.at = this.#headMax;
    this.#spans = 0;
    this.#sending ??= this.#send();
    return true;
  }

  async #send(): Promise<void> {
    for (let filled = this.#waiting[0]; filled !== undefined; filled = this.#waiting[0]) {
      const { writer, spans } = filled;
      const body = this.#bodyOf(writer);
      const why = await this.#parts.send({ body, spans });
      this.#waiting.shift();
      // The buffer of a batch that was given up may still be on its way.
      if (why === null && this.#spares.length < sparesMax) this.#spares.push(writer);
      if (why !== null) this.#lose(spans, why);
      else if (this.#inTrouble) {
        this.#inTrouble = false;
        this.#parts.onBack(this.#lost);
        this.#lost = 0;
      }
    }
    this.#sending = null;
  }

  /** In the batch's own buffer: copies of it would be garbage by the megabyte. */
  #bodyOf({ buffer, at }: SpanWriter): Buffer {
    const head = headOf(this.#parts, at - this.#headMax);
    const from = this.#headMax - head.length;
    buffer.set(head, from);
    return buffer.subarray(from, at);
  }
}

/** ExportTraceServiceRequest { ResourceSpans { Resource, ScopeSpans { Scope, Span… } } }: all before the spans. */
function headOf({ resource, scope }: Pick<SpanSenderParts, 'resource' | 'scope'>, spanBytes: number): Buffer {
  const scoped = lengthDelimited(0x0a, scope);
  const ofScope = Buffer.concat([tagged(0x12, scoped.length + spanBytes), scoped]);
  const ofResource = Buffer.concat([lengthDelimited(0x0a, resource), ofScope]);
  return Buffer.concat([tagged(0x0a, ofResource.length + spanBytes), ofResource]);
}
