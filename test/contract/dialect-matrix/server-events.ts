import { createParser } from 'eventsource-parser';
import type { ServerEvent } from './formats.ts';

/** A body of server-sent events by an independent parser. */
export function serverEvents(text: string): ServerEvent[] {
  const events: ServerEvent[] = [];
  const parser = createParser({ onEvent: ({ event, data }) => events.push({ event: event ?? '', data }) });
  parser.feed(text);
  return events;
}
