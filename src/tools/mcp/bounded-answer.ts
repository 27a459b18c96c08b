import type { Transformer } from 'node:stream/web';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type JsonScan, type JsonWidth, memberValue, scanJson } from '../../kernel/json.ts';
import { jsonDepthMax } from '../../kernel/limits.ts';
import { createSseReader } from '../../upstream/transport/sse-reader.ts';
import { McpFault } from './mcp-fault.ts';

/** Bounds of all answers to one request. */
export interface AnswerBounds {
  /** Size of all of them, decompressed: pages of a list count together. */
  bytesMax: number;
  /** Bound of each message, which the SDK parses on the main thread. */
  width: JsonWidth;
}

/** Size of the answers to one request so far. */
export interface Received {
  /** Decompressed. */
  bytes: number;
  events: number;
}

/** Events in the streams for one request: progress and other notices, and its answer. */
const eventsMax = 4_096;
/** The SDK reads a message in some 20 µs: others come between these. */
const eventsATurn = 64;
/** Lines of one event. JSON needs one; each takes as long to read as a long one. */
const linesMax = 1_024;

export interface AnswerOrder extends AnswerBounds {
  contentType: string;
  /** Id of the request; null: nobody waits for a result. */
  id: string | null;
  received: Received;
  /** Ends the call. */
  fail(fault: McpFault): void;
}

/**
 * Passes the body of an answer on in whole messages, each of which was scanned before: a body of JSON at its end, and a
 * stream of events by event. What holds more than it may goes to `fail`, and errors the stream. So does a body that ends
 * without the result, where the server does not let us go on: the SDK would wait for it.
 */
export function boundedAnswer(order: AnswerOrder): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream(new AnswerTransformer(order));
}

type Controller = TransformStreamDefaultController<Uint8Array>;

class AnswerTransformer implements Transformer<Uint8Array, Uint8Array> {
  readonly #order: AnswerOrder;
  readonly #isStream: boolean;
  readonly #blocks = new Blocks();
  readonly #whole: Uint8Array[] = [];
  /** Nothing more has to come. */
  #isDone: boolean;

  constructor(order: AnswerOrder) {
    this.#order = order;
    this.#isStream = order.contentType.startsWith('text/event-stream');
    this.#isDone = order.id === null || !/json|event-stream/.test(order.contentType);
  }

  async transform(chunk: Uint8Array, controller: Controller): Promise<void> {
    const { received, bytesMax } = this.#order;
    received.bytes += chunk.length;
    if (received.bytes > bytesMax) return this.#refuse(controller, 'too-large', `more than ${bytesMax} bytes`);
    if (!this.#isStream) return void this.#whole.push(chunk);
    const blocks = this.#blocks;
    for (const block of blocks.ended(chunk)) {
      received.events += 1;
      if (blocks.lines > linesMax) break;
      if (received.events > eventsMax) return this.#refuse(controller, 'too-large', `more than ${eventsMax} events`);
      if (!this.#passBlock(controller, block)) return;
      if (received.events % eventsATurn === 0) await nextTurn();
    }
    if (blocks.lines > linesMax) this.#refuse(controller, 'broken', `an event of more than ${linesMax} lines`);
  }

  flush(controller: Controller): void {
    const rest = this.#isStream ? this.#blocks.rest() : Buffer.concat(this.#whole);
    const isPassed = this.#isStream ? this.#passBlock(controller, rest) : this.#pass(controller, rest, rest);
    if (isPassed) this.#end();
  }

  /** The server broke off, or nobody reads any more. Node calls it, and the types do not know it yet. */
  cancel(): void {
    // The SDK sees a body of JSON that breaks off, and does not see a stream that does.
    if (this.#isStream) this.#end();
  }

  #end(): void {
    if (this.#isDone) return;
    const why = 'answered with something that is not an MCP message for this call';
    this.#order.fail(new McpFault('broken', this.#isStream ? 'ended its answer without a result' : why));
  }

  #refuse(controller: Controller, reason: 'broken' | 'too-large', what: string): void {
    const fault = new McpFault(reason, `answered with ${what}`);
    this.#order.fail(fault);
    controller.error(new Error(fault.message));
  }

  /** False: it was refused. */
  #pass(controller: Controller, message: Buffer, json: Buffer): boolean {
    const { id, width } = this.#order;
    const scan = scanJson(json, jsonDepthMax, width);
    this.#isDone ||= id !== null && isAnswerTo(id, json, scan);
    if (scan.tooDeep) this.#refuse(controller, 'broken', `more than ${jsonDepthMax} levels of JSON`);
    else if (scan.tooWide) this.#refuse(controller, 'too-large', wordsOfWidth(width));
    else if (message.length > 0) controller.enqueue(message);
    return !scan.tooDeep && !scan.tooWide;
  }

  /** A block without its empty line is none for the SDK, too. */
  #passBlock(controller: Controller, block: Buffer): boolean {
    const data = createSseReader({ eventBytesMax: this.#order.bytesMax })
      .push(block)
      .map((event) => event.data);
    this.#isDone ||= hasEventId(block);
    return this.#pass(controller, block, Buffer.from(data.join('')));
  }
}

/** Text that is no object may be several messages: the SDK looks at them. */
function isAnswerTo(id: string, json: Buffer, { afterBrace, members }: JsonScan): boolean {
  if (afterBrace < 0) return json.length > 0;
  const answerId = memberValue(json, members, 'id');
  const isOfIt = answerId !== null && json.toString('latin1', answerId.start, answerId.end).replaceAll('"', '') === id;
  return isOfIt && (memberValue(json, members, 'result') ?? memberValue(json, members, 'error')) !== null;
}

/** With an id the client may ask for the rest of a stream that has ended. */
function hasEventId(block: Buffer): boolean {
  return block.subarray(0, 3).toString('latin1') === 'id:' || block.includes('\nid:') || block.includes('\rid:');
}

function wordsOfWidth({ structure, commas }: JsonWidth): string {
  return `more than ${structure} objects, arrays and members, or ${commas} values, in one message`;
}

const LF = 0x0a;
const CR = 0x0d;
const lineFeed = Buffer.of(LF);

/** Cuts a stream of events, however it comes, behind the empty line of each block. Reads each byte once. */
class Blocks {
  #held: Uint8Array[] = [];
  #isLineEmpty = true;
  /** Number of lines of the block that ended last, or of the one that has begun. */
  lines = 0;
  /** The LF that comes next belongs to it. */
  #afterCr = false;

  *ended(chunk: Uint8Array): Generator<Buffer> {
    let start = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte === LF && this.#afterCr) {
        this.#afterCr = false;
        // The block that ended with the CR has it already.
        if (at === start && this.#held.length === 0) start = at + 1;
        continue;
      }
      this.#afterCr = byte === CR;
      if (byte !== LF && byte !== CR) {
        this.#isLineEmpty = false;
        continue;
      }
      this.lines += 1;
      if (this.#isLineEmpty) {
        // The SDK waits behind a CR for the LF of the same line, which comes with the next event only where we cut it off.
        const end = byte === CR ? [lineFeed] : [];
        const block = Buffer.concat([...this.#held, chunk.subarray(start, at + 1), ...end]);
        this.#held = [];
        start = at + 1;
        yield block;
        this.lines = 0;
      }
      this.#isLineEmpty = true;
    }
    if (start < chunk.length) this.#held.push(chunk.subarray(start));
  }

  rest(): Buffer {
    return Buffer.concat(this.#held);
  }
}
