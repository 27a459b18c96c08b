import { WireFailure } from './wire-failure.ts';

/** Who takes the bytes, and may want no more of them for now. */
export interface BodySink {
  readonly paused: boolean;
  bytes(piece: Buffer): void;
}

/** Hexadecimal digits of a chunk's size: up to 4 petabytes. */
const sizeDigitsMax = 13;
/** Extensions of a chunk and trailers mean nothing here; what they may take is bounded. */
const lineBytesMax = 4_096;
const trailerBytesMax = 16_384;

const cr = 0x0d;
const lf = 0x0a;

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
  private lineBytes = 0;

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
        this.count(lineBytesMax);
        if (byte === cr) this.place = 'size-lf';
        else if (byte === lf) throw new WireFailure('not-http');
        return;
      case 'size-lf':
        this.expect(byte, lf, this.left === 0 ? 'trailer-start' : 'data');
        this.lineBytes = 0;
        return;
      case 'data-cr':
        return this.expect(byte, cr, 'data-lf');
      case 'data-lf':
        this.digits = 0;
        return this.expect(byte, lf, 'size');
      case 'trailer-start':
        this.place = byte === cr ? 'last-lf' : 'trailer';
        return;
      case 'trailer':
        this.count(trailerBytesMax);
        if (byte === lf) this.place = 'trailer-start';
        return;
      case 'last-lf':
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
    else if (byte === 0x3b || byte === 0x20 || byte === 0x09) this.place = 'extension';
    else throw new WireFailure('not-http');
  }

  private expect(byte: number, wanted: number, next: Place): void {
    if (byte !== wanted) throw new WireFailure('not-http');
    this.place = next;
  }

  private count(max: number): void {
    this.lineBytes += 1;
    if (this.lineBytes > max) throw new WireFailure('not-http');
  }
}

function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
