import {
  eventIn,
  type Frame,
  messageIn,
  notAnEvent,
  type RealtimeEvent,
} from '../../../formats/media/realtime/events.ts';
import { GeminiLive, type GeminiLiveFacts } from '../../../formats/media/realtime/gemini-live.ts';
import { minuteMs } from '../../../kernel/clock.ts';
import { readerBufferBytesMax } from '../../../kernel/limits.ts';
import type { Pace } from '../../spine/sink.ts';
import type { EndListener, SessionEnd } from './socket-end.ts';

/** Opens another connection to the same model, with the same credential; null: it could not. */
export type Reopen = (signal: AbortSignal) => Promise<SessionEnd | null>;

/** Pauses before the tries to open another connection, in ms. */
const reopenPausesMs = [0, 500, 2_000];
/** More connections within a minute than a session ever needs: a provider that closes each at once is left. */
const opensAMinuteMax = 30;
/** How long the usage of a turn may come after its end. */
const soonMs = 300;
/** RFC 6455 §7.4.1: the connection broke. */
const broken = 1006;

/** The end of a session at Gemini's Live API: OpenAI's events on this side, its messages on the other. */
export class GeminiEnd implements SessionEnd {
  /** Null while one connection is left for the next. */
  #next: SessionEnd | null = null;
  readonly #live: GeminiLive;
  readonly #reopen: Reopen;
  readonly #ending = new AbortController();
  /** When the latest connections were opened, oldest first. */
  #opened: number[] = [];
  #listener: EndListener | null = null;
  /** Pace after the last message that went up. */
  #pace: Pace = 'ready';
  #isPaused = false;
  /** For a listener that is not there yet. */
  readonly #early: RealtimeEvent[] = [];

  constructor(next: SessionEnd, facts: GeminiLiveFacts, reopen: Reopen) {
    this.#next = next;
    this.#reopen = reopen;
    this.#live = new GeminiLive(facts, {
      up: (message) => {
        this.#pace = this.#next?.send(JSON.stringify(message)) ?? 'ready';
      },
      down: (event) => {
        if (this.#listener === null) this.#early.push(event);
        else this.#listener.frame(JSON.stringify(event), false);
      },
      soon: (call) => void setTimeout(call, soonMs).unref(),
      reopen: () => this.#leave(),
    });
    this.#live.begin();
  }

  listen(listener: EndListener): void {
    this.#listener = listener;
    for (const event of this.#early) listener.frame(JSON.stringify(event), false);
    if (this.#next !== null) this.#listenTo(this.#next);
  }

  #listenTo(next: SessionEnd): void {
    next.listen({
      frame: (frame) => {
        const message = messageIn(frame);
        if (message === null) return;
        const waited = this.#live.waitingChars;
        this.#live.fromGemini(message);
        if (waited > 0 && this.#live.waitingChars === 0) this.#drained();
      },
      drained: () => {
        this.#pace = 'ready';
        this.#drained();
      },
      closed: (code, reason) => {
        this.#next = null;
        // It says 1011 when its time is over, and nobody asked for this.
        if (this.#ending.signal.aborted || !this.#live.broken()) this.#closed(code, reason);
      },
    });
    if (this.#isPaused) next.pause();
  }

  #drained(): void {
    if (!this.#isPaused && this.#pace === 'ready') this.#listener?.drained();
  }

  /** Gemini refuses a session whose earlier connection is still open. */
  #leave(): void {
    const left = this.#next;
    this.#next = null;
    if (left === null) return void this.#goOn();
    left.listen({ frame: () => undefined, drained: () => undefined, closed: () => void this.#goOn() });
    left.close(1000, '');
  }

  async #goOn(): Promise<void> {
    const { signal } = this.#ending;
    const nowMs = performance.now();
    this.#opened = [...this.#opened.filter((atMs) => atMs > nowMs - minuteMs), nowMs];
    const pausesMs = this.#opened.length > opensAMinuteMax ? [] : reopenPausesMs;
    for (const pauseMs of pausesMs) {
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
      const next = signal.aborted ? null : await this.#reopen(signal).catch(() => null);
      if (next === null) continue;
      if (signal.aborted) next.terminate();
      else {
        this.#next = next;
        this.#live.opened();
        this.#listenTo(next);
        return;
      }
    }
    this.#closed(signal.aborted ? 1000 : broken, '');
  }

  #closed(code: number, reason: string): void {
    this.#listener?.closed(code, reason);
  }

  send(frame: Frame): Pace {
    const event = eventIn(frame);
    this.#pace = 'ready';
    if (event === null) this.#live.refuse(notAnEvent);
    else this.#live.fromCaller(event);
    return this.#isPaused || this.#live.waitingChars > readerBufferBytesMax ? 'behind' : this.#pace;
  }

  /** Events of the caller are answered by events here, so it is to send no more of them. */
  pause(): void {
    this.#isPaused = true;
    this.#next?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#next?.resume();
    this.#drained();
  }

  close(code: number, reason: string): void {
    this.#ending.abort();
    this.#next?.close(code, reason);
  }

  terminate(): void {
    this.#ending.abort();
    this.#next?.terminate();
  }
}
