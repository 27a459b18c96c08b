import { type AnswerHead, readAnswerHead } from './answer-head.ts';
import { type BodySink, ChunkedBody } from './chunked-body.ts';
import { WireFailure } from './wire-failure.ts';

/** Told of one answer: its head once, then its bytes. What comes before it by way of hints (1xx) is not told. */
export interface AnswerSink extends BodySink {
  head(head: AnswerHead): void;
}

/** First lines of an answer; also of each hint before it. */
export const answerHeadBytesMax = 16 * 1024;

const headEndMark = Buffer.from('\r\n\r\n');
const beginning = Buffer.from('HTTP/1.');

/**
 * Reads one HTTP/1.1 answer from bytes as they come (RFC 9112), and stops behind it: what follows was not asked for.
 * Strict: what two readers could read differently is a WireFailure.
 */
export class AnswerParser {
  private readonly sink: AnswerSink;
  private stage: 'head' | AnswerHead['bodyEnds'] = 'head';
  private over = false;
  /** Of a head that has not come whole. */
  private held: Buffer | null = null;
  private leftBytes = 0;
  private chunks: ChunkedBody | null = null;

  constructor(sink: AnswerSink) {
    this.sink = sink;
  }

  get isOver(): boolean {
    return this.over;
  }

  /** Ready for the next answer. */
  begin(): void {
    this.stage = 'head';
    this.over = false;
    this.held = null;
    this.chunks = null;
  }

  /** Reads on from `at` and gives back where it stopped: behind the answer, at a pause, or at the end of the input. */
  read(input: Buffer, at: number): number {
    for (;;) {
      switch (this.stage) {
        case 'head':
          at = this.readHead(input, at);
          if (this.stage === 'head' ? at === input.length : this.sink.paused && this.stage !== 'at once') return at;
          continue;
        case 'at once':
          this.over = true;
          return at;
        case 'by length': {
          if (this.leftBytes > 0) {
            if (at === input.length) return at;
            const end = Math.min(input.length, at + this.leftBytes);
            const piece = at === 0 && end === input.length ? input : input.subarray(at, end);
            this.leftBytes -= piece.length;
            at = end;
            this.sink.bytes(piece);
          }
          if (this.leftBytes === 0 && !this.sink.paused) this.over = true;
          return at;
        }
        case 'by chunks':
          at = this.chunks!.read(input, at, this.sink);
          if (this.chunks!.isOver) this.over = true;
          return at;
        case 'by close':
          if (at < input.length) this.sink.bytes(at === 0 ? input : input.subarray(at));
          return input.length;
      }
    }
  }

  /** The peer has closed the connection: the end of an answer that ends so; a WireFailure for any other. */
  close(): void {
    if (this.stage === 'by close') this.over = true;
    else throw new WireFailure(this.stage === 'head' && this.held === null ? 'closed' : 'cut');
  }

  private readHead(input: Buffer, from: number): number {
    const before = this.held?.length ?? 0;
    const bytes = this.held === null ? input : Buffer.concat([this.held, input.subarray(from)]);
    const start = this.held === null ? from : 0;
    if (!beginsWell(bytes, start)) throw new WireFailure('not-http');
    const end = bytes.indexOf(headEndMark, start);
    if ((end < 0 ? bytes.length : end) - start > answerHeadBytesMax) throw new WireFailure('head-too-large');
    if (end < 0) {
      if (start < bytes.length) this.held = this.held === null ? Buffer.from(bytes.subarray(start)) : bytes;
      return input.length;
    }
    this.held = null;
    const head = readAnswerHead(bytes.toString('latin1', start, end + 2));
    const at = end + headEndMark.length - before + (before > 0 ? from : 0);
    // We never ask to change the protocol.
    if (head.status === 101) throw new WireFailure('not-http');
    if (head.status < 200) {
      // Behind a hint that ends the connection nothing can come.
      if (!head.keptAlive) throw new WireFailure('not-http');
      return at;
    }
    this.stage = head.bodyEnds;
    this.leftBytes = head.bodyBytes;
    if (head.bodyEnds === 'by chunks') this.chunks = new ChunkedBody();
    this.sink.head(head);
    return at;
  }
}

/** Of what has come so far: who speaks another protocol is not waited for. */
function beginsWell(bytes: Buffer, from: number): boolean {
  const end = Math.min(bytes.length, from + beginning.length);
  for (let at = from; at < end; at += 1) if (bytes[at] !== beginning[at - from]) return false;
  return true;
}
