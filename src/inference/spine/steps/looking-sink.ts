import type { StreamMark } from '../../../formats/dialects/dialect.ts';
import type { Loss } from '../../../formats/neutral/loss.ts';
import type { Fault } from '../../../formats/neutral/outcome.ts';
import type { AttemptSink, AttemptSource, Chunk, Pace } from '../sink.ts';

/** A sink that looks at the events of an answer before the next one gets them. It has first content when it gets it. */
export abstract class LookingSink<Timed extends { noteFirst(): void }> implements AttemptSink {
  protected readonly next: AttemptSink;
  protected readonly answer: Timed;
  protected source: AttemptSource | null = null;

  constructor(next: AttemptSink, answer: Timed) {
    this.next = next;
    this.answer = answer;
  }

  start(source: AttemptSource): void {
    this.source = source;
    this.next.start(source);
  }

  content(): boolean {
    this.answer.noteFirst();
    return true;
  }

  abstract chunk(chunk: Chunk): Pace;

  lose(losses: readonly Loss[]): void {
    this.next.lose?.(losses);
  }

  end(found: Fault | null, mark?: StreamMark): ReturnType<AttemptSink['end']> {
    return this.next.end(found, mark);
  }
}
