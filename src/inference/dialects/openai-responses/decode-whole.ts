import type { JsonObject } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import { createOutputReader, faultInWhole } from './output-reader.ts';

/** A whole response as the events of its stream: told by the same reader, so that the two cannot differ. */
export function decodeWhole(body: JsonObject): NeutralEvent[] {
  const wrong = faultInWhole(body);
  if (wrong !== null) return [{ type: 'failed', fault: wrong }];
  const events: NeutralEvent[] = [];
  createOutputReader().read({ type: 'response.completed', response: body }, events);
  return events;
}
