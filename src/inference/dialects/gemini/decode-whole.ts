import type { JsonObject } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import { fault } from '../../neutral/outcome.ts';
import { createAnswerState } from './answer-state.ts';

/** A whole answer as the events of its stream: told by the same state, so that the two cannot differ. */
export function decodeWhole(body: JsonObject): NeutralEvent[] {
  const events: NeutralEvent[] = [];
  const state = createAnswerState();
  if (state.read(body, events) === 'unreadable') {
    return [{ type: 'failed', fault: fault('malformed', 'the answer has no candidates') }];
  }
  state.finish(events);
  return events;
}
