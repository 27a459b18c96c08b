import type { SseEvent, StreamDecoder, StreamEncoder } from '../../formats/dialects/dialect.ts';
import { lossesOf } from '../../formats/neutral/loss.ts';
import { createSplitter } from '../../upstream/transport/sse-reader.ts';
import { decodingOf, headOf, ShownEvents } from './handed-facts.ts';
import { callerFormat, providerFormat, refusedBy } from './known-formats.ts';
import type { CallerFormat, Dropped, ProviderFormat, StreamConverter, StreamOptions } from './types.ts';

/** A converter for one streamed answer: of a provider's format, cut anywhere, to a caller's. */
export function convertStream(from: ProviderFormat, to: CallerFormat, options: StreamOptions = {}): StreamConverter {
  return new StreamOfEvents(from, to, options);
}

/** A converter as a stream between streams: `response.body.pipeThrough(asTransformStream(converter))`. */
export function asTransformStream(converter: StreamConverter): TransformStream<Uint8Array, Uint8Array> {
  const encoder = new TextEncoder();
  const send = (text: string, controller: TransformStreamDefaultController<Uint8Array>) => {
    if (text !== '') controller.enqueue(encoder.encode(text));
  };
  return new TransformStream({
    transform: (chunk, controller) => send(converter.push(chunk), controller),
    flush: (controller) => send(converter.end(), controller),
  });
}

const binaryFrames = 'application/vnd.amazon.eventstream';

class StreamOfEvents implements StreamConverter {
  readonly contentType: string;
  failed: string | null = null;
  readonly #splitter: ReturnType<typeof createSplitter>;
  readonly #decoder: StreamDecoder;
  readonly #encoder: StreamEncoder;
  readonly #errorFrame: (message: string) => string;
  readonly #shown: ShownEvents;
  #over = false;

  constructor(from: ProviderFormat, to: CallerFormat, options: StreamOptions) {
    const provider = providerFormat(from);
    const caller = callerFormat(to);
    const framing = options.contentType ?? (from === 'bedrock-converse' ? binaryFrames : 'text/event-stream');
    this.contentType = caller.wire?.type.replace(/;.*/, '') ?? 'text/event-stream';
    this.#splitter = createSplitter(framing, provider);
    this.#decoder = provider.decodeStream(decodingOf(options));
    this.#encoder = caller.encodeStream(headOf(options));
    this.#shown = new ShownEvents(options);
    const context = { requestId: options.id ?? 'converted', nowMs: 0 };
    this.#errorFrame = (message) => caller.errorFrame(refusedBy(from, message), context, this.#encoder.mark?.());
  }

  get dropped(): readonly Dropped[] {
    return lossesOf(new Set(this.#encoder.lost ?? []));
  }

  push(chunk: Uint8Array | string): string {
    if (this.#over) return '';
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : asBuffer(chunk);
    const written = this.#write(this.#splitter.push(bytes));
    if (this.#over || !this.#splitter.tooLarge) return written;
    return written + this.#fail('sent an event that is too large');
  }

  end(): string {
    if (this.#over) return '';
    const written = this.#write(this.#splitter.end());
    return this.#over ? written : written + this.#encode(this.#decoder.finish());
  }

  #write(events: readonly SseEvent[]): string {
    let written = '';
    for (const event of events) {
      if (this.#over) break;
      written += this.#encode(this.#decoder.step(event));
    }
    return written;
  }

  #encode(events: ReturnType<StreamDecoder['step']>): string {
    let written = '';
    for (const event of events) {
      if (event.type === 'failed') return written + this.#fail(event.fault.message);
      for (const one of this.#shown.of(event)) written += this.#encoder.step(one);
      if (event.type === 'end') {
        this.#over = true;
        break;
      }
    }
    return written;
  }

  #fail(message: string): string {
    this.#over = true;
    this.failed = message;
    return this.#errorFrame(message);
  }
}

function asBuffer(chunk: Uint8Array): Buffer {
  return Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}
