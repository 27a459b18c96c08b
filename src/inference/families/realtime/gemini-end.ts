import {
  eventIn,
  type Frame,
  messageIn,
  notAnEvent,
  type RealtimeEvent,
} from '../../../formats/media/realtime/events.ts';
import { GeminiLive, type GeminiLiveFacts } from '../../../formats/media/realtime/gemini-live.ts';
import type { Pace } from '../../spine/sink.ts';
import type { EndListener, SessionEnd } from './socket-end.ts';

/** The end of a session at Gemini's Live API: OpenAI's events on this side, its messages on the other. */
export class GeminiEnd implements SessionEnd {
  readonly #next: SessionEnd;
  readonly #live: GeminiLive;
  #listener: EndListener | null = null;
  /** Pace after the last message that went up. */
  #pace: Pace = 'ready';
  #isPaused = false;
  /** For a listener that is not there yet. */
  readonly #early: RealtimeEvent[] = [];

  constructor(next: SessionEnd, facts: GeminiLiveFacts) {
    this.#next = next;
    this.#live = new GeminiLive(facts, {
      up: (message) => {
        this.#pace = next.send(JSON.stringify(message));
      },
      down: (event) => {
        if (this.#listener === null) this.#early.push(event);
        else this.#listener.frame(JSON.stringify(event), false);
      },
    });
    this.#live.begin();
  }

  listen(listener: EndListener): void {
    this.#listener = listener;
    for (const event of this.#early) listener.frame(JSON.stringify(event), false);
    this.#next.listen({
      frame: (frame) => {
        const message = messageIn(frame);
        if (message !== null) this.#live.fromGemini(message);
      },
      drained: () => {
        this.#pace = 'ready';
        if (!this.#isPaused) listener.drained();
      },
      closed: (code, reason) => listener.closed(code, reason),
    });
  }

  send(frame: Frame): Pace {
    const event = eventIn(frame);
    this.#pace = 'ready';
    if (event === null) this.#live.refuse(notAnEvent);
    else this.#live.fromCaller(event);
    return this.#isPaused ? 'behind' : this.#pace;
  }

  /** Events of the caller are answered by events here, so it is to send no more of them. */
  pause(): void {
    this.#isPaused = true;
    this.#next.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#next.resume();
    if (this.#pace === 'ready') this.#listener?.drained();
  }

  close(code: number, reason: string): void {
    this.#next.close(code, reason);
  }

  terminate(): void {
    this.#next.terminate();
  }
}
