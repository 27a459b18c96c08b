import { areTrailerLines } from './field-lines.ts';
import { WireFailure } from './wire-failure.ts';

/** Who takes the bytes, and may want no more of them for now. */
export interface BodySink {
  readonly paused: boolean;
  bytes(piece: Buffer): void;
}

/** Hexadecimal digits of a chunk's size: up to 4 petabytes. */
const sizeDigitsMax = 13;
/** Extensions of a chunk and trailers mean nothing here, but they must be what they say; what they may take is bounded. */
const extensionBytesMax = 4_096;
const trailerBytesMax = 16_384;
/** RFC 9112 §7.1.1, without the blanks around it that node's parser does not know either. */
const extensions =
  /^(?:;[\w!#$%&'*+.^`|~-]+(?:=(?:[\w!#$%&'*+.^`|~-]+|"(?:[\t\x20-\x21\x23-\x5b\x5d-\x7e]|\\[\t\x20-\x7e])*"))?)*$/;

const cr = 0x0d;
const lf = 0x0a;
const semicolon = 0x3b;

type Place =
  | 'size'
  | 'extension'
  | 'size-lf'
  | 'data'
  | 'data-cr'
  | 'data-lf'
  | 'trailer-start'
  | 'trailer'
  | 'last-lf'
  | 'over';

/** A body in chunks (RFC 9112 §7.1), read as it comes; trailers are passed over. */
export class ChunkedBody {
  private place: Place = 'size';
  private digits = 0;
  private left = 0;
  /** An extension or the trailers as far as they have come, one character a byte. */
  private text = '';

  get isOver(): boolean {
    return this.place === 'over';
  }

  /** Reads on from `at` and gives back where it stopped: behind the body, at a pause, or at the end. Throws WireFailure. */
  read(input: Buffer, at: number, sink: BodySink): number {
    while (at < input.length && this.place !== 'over') {
      if (this.place !== 'data') {
        this.step(input[at]!);
        at += 1;
        continue;
      }
      const end = Math.min(input.length, at + this.left);
      const piece = at === 0 && end === input.length ? input : input.subarray(at, end);
      this.left -= piece.length;
      at = end;
      if (this.left === 0) this.place = 'data-cr';
      sink.bytes(piece);
      if (sink.paused) return at;
    }
    return at;
  }

  /** One byte of what is not data. */
  private step(byte: number): void {
    switch (this.place) {
      case 'size':
        return this.readSize(byte);
      case 'extension':
        if (byte !== cr) return this.gather(byte, extensionBytesMax);
        if (!extensions.test(this.text)) throw new WireFailure('not-http');
        this.place = 'size-lf';
        return;
      case 'size-lf':
        this.text = '';
        return this.expect(byte, lf, this.left === 0 ? 'trailer-start' : 'data');
      case 'data-cr':
        return this.expect(byte, cr, 'data-lf');
      case 'data-lf':
        this.digits = 0;
        return this.expect(byte, lf, 'size');
      case 'trailer-start':
        this.place = byte === cr ? 'last-lf' : 'trailer';
        if (byte !== cr) this.gather(byte, trailerBytesMax);
        return;
      case 'trailer':
        this.gather(byte, trailerBytesMax);
        if (byte === lf) this.place = 'trailer-start';
        return;
      case 'last-lf':
        if (!areTrailerLines(this.text)) throw new WireFailure('not-http');
        return this.expect(byte, lf, 'over');
    }
  }

  private readSize(byte: number): void {
    const digit = hexValue(byte);
    if (digit >= 0) {
      this.digits += 1;
      if (this.digits > sizeDigitsMax) throw new WireFailure('not-http');
      this.left = this.left * 16 + digit;
    } else if (this.digits === 0) throw new WireFailure('not-http');
    else if (byte === cr) this.place = 'size-lf';
    else if (byte === semicolon) {
      this.place = 'extension';
      this.gather(byte, extensionBytesMax);
    } else throw new WireFailure('not-http');
  }

  private expect(byte: number, wanted: number, next: Place): void {
    if (byte !== wanted) throw new WireFailure('not-http');
    this.place = next;
  }

  private gather(byte: number, bytesMax: number): void {
    if (this.text.length === bytesMax) throw new WireFailure('not-http');
    this.text += String.fromCharCode(byte);
  }
}

function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
