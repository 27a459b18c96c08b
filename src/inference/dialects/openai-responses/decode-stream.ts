import type { NeutralEvent } from '../../neutral/event.ts';
import { fault } from '../../neutral/outcome.ts';
import type { StreamDecoder } from '../dialect.ts';
import { parsedData } from '../event-data.ts';
import { createOutputReader } from './output-reader.ts';

/**
 * A Responses stream as neutral events. What is no JSON of this format is skipped and counted, never thrown: one bad
 * line must not cost the caller the answer around it. `event:` names are not needed; a last `[DONE]` is let pass.
 */
export function decodeStream(): StreamDecoder {
  const reader = createOutputReader();
  let malformed = 0;
  return {
    step({ data }) {
      const events: NeutralEvent[] = [];
      if (reader.over || data === '' || data === '[DONE]') return events;
      const event = parsedData(data);
      if (event === null || reader.read(event, events) === 'unreadable') malformed += 1;
      return events;
    },
    finish() {
      if (reader.over) return [];
      return [
        {
          type: 'failed',
          fault: reader.hasStarted()
            ? fault('truncated', 'the stream ended without response.completed')
            : fault('malformed', 'the stream ended without an answer'),
        },
      ];
    },
    malformedLines: () => malformed,
  };
}
