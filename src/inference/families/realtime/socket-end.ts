import type { WebSocket } from 'ws';
import type { Frame } from '../../../formats/media/realtime/events.ts';
import { every } from '../../../kernel/every.ts';
import { readerBufferBytesMax, readerStallTimeoutMs } from '../../../kernel/limits.ts';
import type { Pace } from '../../spine/sink.ts';

/** Listens to one end of a session. */
export interface EndListener {
  frame(frame: Frame, binary: boolean): void;
  /** It was behind, and takes more again. */
  drained(): void;
  /** Called once, also after our own close. 1006: the connection broke. */
  closed(code: number, reason: string): void;
}

/** One end of a session: the caller, or the upstream. */
export interface SessionEnd {
  /** `behind`: it holds more than it should; `drained` follows. */
  send(frame: Frame, binary?: boolean): Pace;
  /** No frame comes until `resume`. */
  pause(): void;
  resume(): void;
  /** A code that must not be sent, such as 1006, is left out. */
  close(code: number, reason: string): void;
  /** Without a close frame. */
  terminate(): void;
  /** From now on. */
  listen(listener: EndListener): void;
}

const pingIntervalMs = 30_000;
/** Pings in a row that a peer may leave unanswered. Gemini's Live API takes up to 30 s for an answer. */
const unansweredMax = 2;
/** A peer that does not answer a close frame is cut after this. */
const closeTimeoutMs = 5_000;
/** Bytes of a close frame's reason (RFC 6455 §5.5.1). */
const reasonBytesMax = 123;

/** The end of a session at a WebSocket. It is cut when its peer answers no pings, or takes nothing of what waits. */
export class SocketEnd implements SessionEnd {
  readonly #socket: WebSocket;
  readonly #written: (frame: Frame) => Frame;
  readonly #stopPing: () => void;
  #listener: EndListener | null = null;
  /** For the next listener: frames of a piece that was read already, and a close. */
  #early: ((listener: EndListener) => void)[] = [];
  #stall: NodeJS.Timeout | null = null;
  /** Pings since something came. */
  #unanswered = 0;

  /** The socket is open and paused. `written`: changes what goes out. */
  constructor(socket: WebSocket, written: (frame: Frame) => Frame = (frame) => frame) {
    this.#socket = socket;
    this.#written = written;
    this.#stopPing = every(pingIntervalMs, () => this.#look());
    socket.on('pong', () => {
      this.#unanswered = 0;
    });
    // A close follows each error.
    socket.on('error', () => undefined);
    socket.on('message', (data, binary) => {
      this.#unanswered = 0;
      this.#receive(data as Buffer, binary);
    });
    socket.on('close', (code, reason) => {
      this.#stopPing();
      if (this.#stall !== null) clearTimeout(this.#stall);
      if (this.#listener === null) this.#early.push((next) => next.closed(code, reason.toString()));
      else this.#listener.closed(code, reason.toString());
    });
  }

  listen(listener: EndListener): void {
    this.#listener = listener;
    for (const deliver of this.#early.splice(0)) deliver(listener);
    this.#socket.resume();
  }

  /** Nobody listens until the next `listen`, which gets this frame again, and everything after it. */
  leaveAt(frame: Frame, binary: boolean): void {
    this.#socket.pause();
    this.#listener = null;
    this.#receive(frame, binary);
  }

  #receive(frame: Frame, binary: boolean): void {
    if (this.#listener === null) this.#early.push((next) => next.frame(frame, binary));
    else this.#listener.frame(frame, binary);
  }

  send(frame: Frame, binary = false): Pace {
    const socket = this.#socket;
    socket.send(this.#written(frame), { binary }, this.#sent);
    if (socket.bufferedAmount <= readerBufferBytesMax) return 'ready';
    this.#stall ??= setTimeout(() => socket.terminate(), readerStallTimeoutMs);
    return 'behind';
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(code: number, reason: string): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    // Its close frame is to be read.
    socket.resume();
    socket.close(isSendable(code) ? code : undefined, fitting(reason));
    setTimeout(() => socket.terminate(), closeTimeoutMs).unref();
  }

  terminate(): void {
    this.#socket.terminate();
  }

  readonly #sent = (): void => {
    if (this.#stall === null || this.#socket.bufferedAmount > readerBufferBytesMax / 2) return;
    clearTimeout(this.#stall);
    this.#stall = null;
    this.#listener?.drained();
  };

  #look(): void {
    // Of a paused one the answer is not read.
    if (this.#socket.isPaused) return;
    if (this.#unanswered >= unansweredMax) return this.#socket.terminate();
    this.#unanswered += 1;
    this.#socket.ping();
  }
}

function isSendable(code: number): boolean {
  return (code >= 3000 && code <= 4999) || (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code));
}

function fitting(reason: string): string {
  let text = reason.slice(0, reasonBytesMax);
  while (Buffer.byteLength(text) > reasonBytesMax) text = text.slice(0, -1);
  return text;
}
