import { eventIn, type Frame, mayBe, type RealtimeEvent } from '../../../formats/media/realtime/events.ts';
import { transcriptionModelIn, withTranscriptionModel } from '../../../formats/media/realtime/session-settings.ts';
import { type Failure, invalid } from '../../../kernel/failure.ts';
import { isObject } from '../../../kernel/json.ts';
import type { Pace } from '../../spine/sink.ts';
import type { EndListener, SessionEnd } from './socket-end.ts';

export interface TranscriptionFacts {
  /** The model in the caller's name for it, and in the transcriber's. */
  model: { named: string; there: string };
  /** Whether the caller has its `session.created` already. */
  created: 'told' | 'untold';
  errorEvent(failure: Failure): RealtimeEvent;
}

/** The end that transcribes. Callers name its model in their updates, which a session keeps. */
export class TranscriptionEnd implements SessionEnd {
  readonly #next: SessionEnd;
  readonly #facts: TranscriptionFacts;
  #listener: EndListener | null = null;
  #created: TranscriptionFacts['created'];

  constructor(next: SessionEnd, facts: TranscriptionFacts) {
    this.#next = next;
    this.#facts = facts;
    this.#created = facts.created;
  }

  listen(listener: EndListener): void {
    this.#listener = listener;
    this.#next.listen({
      frame: (frame, binary) => {
        if (this.#created === 'told' && mayBe(frame, 'session.created')) this.#created = 'untold';
        else listener.frame(frame, binary);
      },
      drained: () => listener.drained(),
      closed: (code, reason) => listener.closed(code, reason),
    });
  }

  send(frame: Frame, binary?: boolean): Pace {
    const event = mayBe(frame, 'session.update') ? eventIn(frame) : null;
    const named = event?.type === 'session.update' ? transcriptionModelIn(event.session) : null;
    if (event === null || named === null || !isObject(event.session)) return this.#next.send(frame, binary);
    const { model, errorEvent } = this.#facts;
    if (named !== model.named) {
      const message = `The session transcribes with the model '${model.named}'. Open a new session for another one.`;
      const failure = invalid('session.audio.input.transcription.model', message);
      this.#listener?.frame(JSON.stringify(errorEvent(failure)), false);
      return 'ready';
    }
    const session = withTranscriptionModel(event.session, model.there);
    return this.#next.send(JSON.stringify({ ...event, session }), binary);
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
