import type { NeutralEvent } from '../../neutral/event.ts';
import { fault } from '../../neutral/outcome.ts';
import type { DecodeOptions, StreamDecoder } from '../dialect.ts';
import { parsedData } from '../event-data.ts';
import { createAnswerState } from './answer-state.ts';

/**
 * Anthropic's stream → neutral events. Bytes that are no JSON of this format are skipped and counted, never thrown:
 * one bad line must not cost the caller the answer around it.
 */
export function decodeStream(options?: DecodeOptions): StreamDecoder {
  const state = createAnswerState(options);
  let malformed = 0;
  return {
    step(event) {
      const events: NeutralEvent[] = [];
      // The type stands in the data too: servers that leave out `event:` are read as well.
      if (state.over || event.data === '') return events;
      const data = parsedData(event.data);
      if (data === null || state.read(data, events) === 'unreadable') malformed += 1;
      return events;
    },
    finish() {
      if (state.over) return [];
      return [{ type: 'failed', fault: fault('truncated', 'the stream ended without message_stop') }];
    },
    malformedLines: () => malformed,
  };
}
