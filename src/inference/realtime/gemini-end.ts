import { isObject } from '../../kernel/json.ts';
import { eventIn, type Frame, type RealtimeEvent } from '../dialects/realtime/events.ts';
import { GeminiLive, type GeminiLiveFacts } from '../dialects/realtime/gemini-live.ts';
import type { Pace } from '../spine/sink.ts';
import type { EndListener, SessionEnd } from './socket-end.ts';

/** The end of a session at Gemini's Live API: OpenAI's events on this side, its messages on the other. */
export class GeminiEnd implements SessionEnd {
  readonly #next: SessionEnd;
  readonly #live: GeminiLive;
  #listener: EndListener | null = null;
  /** Of the last message that went up. */
  #pace: Pace = 'ready';
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
      drained: () => listener.drained(),
      closed: (code, reason) => listener.closed(code, reason),
    });
  }

  send(frame: Frame): Pace {
    const event = eventIn(frame);
    if (event === null) return 'ready';
    this.#pace = 'ready';
    this.#live.fromCaller(event);
    return this.#pace;
  }

  pause(): void {
    this.#next.pause();
  }

  resume(): void {
    this.#next.resume();
  }

  close(code: number, reason: string): void {
    this.#next.close(code, reason);
  }

  terminate(): void {
    this.#next.terminate();
  }
}

function messageIn(frame: Frame) {
  try {
    const message: unknown = JSON.parse(frame.toString());
    return isObject(message) ? message : null;
  } catch {
    return null;
  }
}
