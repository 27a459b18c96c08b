import { isContent, type NeutralEvent } from '../neutral/event.ts';
import { fault } from '../neutral/outcome.ts';
import type { Usage } from '../neutral/usage.ts';

/** An answer that ends as usual and says nothing, for which the provider counted nothing either. */
export const emptyAnswer = Object.freeze(fault('malformed', 'the answer is empty'));

/**
 * Whether the provider counted no output. Where it did, an answer without content is the model's own: after results of
 * tools some say nothing more.
 */
export function countsNoOutput(usage: Usage | null): boolean {
  return usage === null || usage.outputTokens === 0;
}

/** Whether these are all events of an empty answer. Withheld, cut off or paused ones say why, and are none. */
export function saysNothing(events: readonly NeutralEvent[]): boolean {
  return (
    events.at(-1)?.type === 'end' &&
    events.every((event) => !isContent(event) && event.type !== 'citation' && !endsOtherwise(event))
  );
}

export function endsOtherwise(event: NeutralEvent): boolean {
  return event.type === 'finish' && event.reason !== 'stop';
}
