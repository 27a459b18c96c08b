import type { JsonObject } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import { fault } from '../../neutral/outcome.ts';
import type { DecodeOptions } from '../dialect.ts';
import { createAnswerState } from './answer-state.ts';
import { faultOfError, readError } from './errors.ts';

/** A whole Messages answer as the events of its stream: told by the same state, so that the two cannot differ. */
export function decodeWhole(body: JsonObject, options?: DecodeOptions): NeutralEvent[] {
  if (readError(body) !== null) return [{ type: 'failed', fault: faultOfError(body) }];
  if (!Array.isArray(body.content)) {
    return [{ type: 'failed', fault: fault('malformed', 'the answer has no content') }];
  }
  const events: NeutralEvent[] = [];
  const state = createAnswerState(options);
  state.read({ type: 'message_start', message: body }, events);
  state.read({ type: 'message_stop' }, events);
  return events;
}
