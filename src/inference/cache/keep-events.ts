import type { NeutralEvent } from '../../formats/neutral/event.ts';
import type { Fault } from '../../formats/neutral/outcome.ts';
import type { KeepingSteps } from '../spine/steps/after.ts';
import { CollectedEvents, entryOf, eventsOf, type KeepingEvents, liveFrom, passing } from './collected-events.ts';
import { PassedKeeping } from './keep-passed.ts';
import type { LiveAnswer } from './live-answer.ts';

/**
 * Collects the events of an answer, and keeps them once the answer is complete. What a turn or a choice in a separate
 * call says is a part of an answer, which is not kept.
 */
export function keepingSteps(keeping: KeepingEvents): KeepingSteps {
  const { toolCalls, keep, lost, begin = null, repaired } = keeping;
  /** The attempts whose answer a guard ended. */
  const ended: object[] = [];
  return {
    passed: (next, place, reading) => new PassedKeeping(keeping, next, place, reading),
    first: {
      over(next, place) {
        if (place.job.attemptsMade !== null) return next;
        const collected = new CollectedEvents(toolCalls);
        let live: LiveAnswer | null = null;
        let isAwaited = false;
        return {
          ...passing(next),
          content() {
            const isFirst = next.content();
            isAwaited = isFirst;
            const events = isFirst && begin !== null ? collected.soFar() : null;
            if (events !== null) {
              live = liveFrom(place, events);
              begin?.(live);
            }
            return isFirst;
          },
          chunk(chunk) {
            collected.add(chunk);
            if (isAwaited && collected.soFar() === null) {
              isAwaited = false;
              if (live !== null) live.takesMore = false;
              lost();
            }
            live?.add(eventsOf(chunk));
            return next.chunk(chunk);
          },
          end(found, mark) {
            const ending = next.end(found, mark);
            // An answer that failed its checks comes when its trial is over, because no better one came.
            const isPassed = found === null && place.answer.trial !== null;
            const outcome = (missed: Fault | null) => {
              if (missed !== null || !isPassed || ended.includes(place.answer)) return missed;
              const events = collected.complete();
              if (events !== null) keep(entryOf(withText(events, repaired?.() ?? null), place));
              return missed;
            };
            return ending instanceof Promise ? ending.then(outcome) : outcome(ending);
          },
        };
      },
    },
    last: {
      over(next, { answer }) {
        return {
          ...passing(next),
          chunk(chunk) {
            if (eventsOf(chunk).some((event) => event.type === 'finish' && event.reason === 'content-filter')) {
              ended.push(answer);
            }
            return next.chunk(chunk);
          },
        };
      },
    },
  };
}

/** Events that say something of a text, which is not there any more. */
const ofText: readonly NeutralEvent['type'][] = ['text-delta', 'text-signature', 'citation', 'logprobs'];

/** The events with this text as the only one: a hit does not pay for a repair again. Null: as they are. */
function withText(events: readonly NeutralEvent[], text: string | null): readonly NeutralEvent[] {
  if (text === null) return events;
  const first = events.findIndex(({ type }) => type === 'text-delta' || type === 'finish');
  return events.flatMap((event, at): NeutralEvent[] => [
    ...(at === first ? [{ type: 'text-delta', choice: 0, text } as const] : []),
    ...(ofText.includes(event.type) ? [] : [event]),
  ]);
}
