import type { NeutralEvent } from '../../../formats/neutral/event.ts';
import type { Fault } from '../../../formats/neutral/outcome.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { Answer } from '../answer.ts';
import type { Job } from '../job.ts';
import type { PassedTaker } from '../pass-through.ts';
import type { PassedForm } from '../passed-form.ts';
import type { AttemptSink } from '../sink.ts';

/** The attempt whose answer passes the steps. */
export interface AnswerPlace<C> {
  answer: Answer<C>;
  job: Job<C>;
  /** JSON schema that the answer should meet; undefined: none, or no step wants it. */
  schema: JsonObject | undefined;
}

/**
 * A step over the neutral events of an answer, whole or streamed, before they are written for the caller. It is a sink
 * around the next one: it passes events on, changes them, holds them back, or ends the attempt, so that the next target
 * is asked. An answer with steps is always read, never forwarded as bytes.
 */
export interface AnswerStep {
  /** Needs the JSON schema that the request asks for. Absent: it does not. */
  needs?: 'schema';
  over<C>(next: AttemptSink, place: AnswerPlace<C>): AttemptSink;
}

/** Steps over the events of an answer that may be kept. */
export interface KeepingSteps {
  /** Sees what the model said, before the filters of guards: what they put in its place is for one caller alone. */
  first: AnswerStep;
  /** Sees what its caller gets: an answer that a guard ended is not kept. */
  last: AnswerStep;
  /** The sink for an answer without further steps, which goes on as the bytes that came, and what takes these. */
  passed<C>(next: AttemptSink, place: AnswerPlace<C>, reading: PassedReading): AttemptSink & PassedTaker;
}

/** An answer that passes as bytes, and how to read it. */
export interface PassedReading {
  /** Form of the answer. Its `Content-Type` is set once it comes. */
  form: Omit<PassedForm, 'id'>;
  stream(): PassedReader;
  /** Null: it is none. */
  whole(value: JsonObject): readonly NeutralEvent[] | null;
}

/** Reads the bytes of a stream in any cut, to events. */
export interface PassedReader {
  push(chunk: Buffer): readonly NeutralEvent[] | null;
  finish(): readonly NeutralEvent[] | null;
  readonly fault: Fault | null;
}

/** The sink for an attempt's events: the first step sees them first, `last` takes what all of them let through. */
export function throughSteps<C>(steps: readonly AnswerStep[], last: AttemptSink, place: AnswerPlace<C>): AttemptSink {
  return steps.reduceRight((next, step) => step.over(next, place), last);
}
