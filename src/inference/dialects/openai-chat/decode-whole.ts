import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import { type Fault, fault } from '../../neutral/outcome.ts';
import type { DecodeOptions } from '../dialect.ts';
import { faultInside } from '../fault-inside.ts';
import { createChunkReader } from './chunk-reader.ts';
import { classOfError } from './error-class.ts';
import { readError } from './read-error.ts';

/** A whole answer as the events that a stream would have given; an error body or no answer gives one `failed`. */
export function decodeWhole(body: JsonObject, { usageOf }: DecodeOptions = {}): NeutralEvent[] {
  const wrong = faultInWhole(body);
  if (wrong !== null) return [{ type: 'failed', fault: wrong }];
  const events: NeutralEvent[] = [];
  const reader = createChunkReader(usageOf);
  reader.read(body, events);
  if (events.at(-1)?.type === 'failed') return events;
  // Usage is last in a stream, after the finish reasons, so it is here.
  const usage = events.at(-1)?.type === 'usage' ? events.pop() : undefined;
  reader.finishAll(events);
  if (usage !== undefined) events.push(usage);
  events.push({ type: 'end' });
  return events;
}

/** Why a 2xx body is no answer: an error inside it, or nothing to show. Null for an answer. */
export function faultInWhole(body: unknown): Fault | null {
  const error = readError(body);
  if (error !== null) return faultInside(body, error, classOfError);
  if (!isObject(body)) return fault('malformed', 'the answer is not a JSON object');
  const { choices } = body;
  if (!Array.isArray(choices)) return fault('malformed', "the answer has no 'choices'");
  if (choices.length === 0) return fault('malformed', 'the answer is empty');
  for (const choice of choices) {
    if (!isObject(choice) || !isObject(choice.message))
      return fault('malformed', 'the answer has a choice without a message');
  }
  return null;
}
