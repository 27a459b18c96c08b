import type { NeutralEvent } from '../../neutral/event.ts';
import type { StreamDecoder } from '../dialect.ts';
import { parsedData } from '../event-data.ts';
import { createAnswerState } from './answer-state.ts';

/**
 * Google's stream (`alt=sse`) → neutral events. Bytes that are no JSON of this format are skipped and counted, never
 * thrown: one bad line must not cost the caller the answer around it.
 */
export function decodeStream(): StreamDecoder {
  const state = createAnswerState();
  let malformed = 0;
  return {
    step(event) {
      const events: NeutralEvent[] = [];
      // Some servers of this format close with OpenAI's mark.
      if (state.over || event.data === '' || event.data === '[DONE]') return events;
      const data = parsedData(event.data);
      if (data === null || state.read(data, events) === 'unreadable') malformed += 1;
      return events;
    },
    finish() {
      const events: NeutralEvent[] = [];
      state.finish(events);
      return events;
    },
    malformedLines: () => malformed,
  };
}
