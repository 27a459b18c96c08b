import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { AnswerFold, AnswerHead, WholeGatherer } from '../dialect.ts';
import { parsedData } from '../event-data.ts';
import { createAnswer } from './answer.ts';

/** The response as the last event of its stream has it. Some servers leave its items out there, which came before. */
export function gatherWhole(): WholeGatherer {
  const items: JsonObject[] = [];
  let last: JsonObject | null = null;
  return {
    step({ event, data }) {
      if (event.endsWith('.delta')) return;
      const told = parsedData(data);
      if (told === null) return;
      if (told.type === 'response.output_item.done' && isObject(told.item)) items.push(told.item);
      else if (told.type === 'response.completed' || told.type === 'response.incomplete') {
        last = isObject(told.response) ? told.response : null;
      }
    },
    whole() {
      const isBare = last !== null && !(Array.isArray(last.output) && last.output.length > 0);
      return isBare ? { ...last, output: items } : last;
    },
  };
}

/** Events as one whole `response`: the object that a stream's last event carries. */
export function fold(head: AnswerHead): AnswerFold {
  const answer = createAnswer(head, null);
  return { add: (event) => answer.add(event), result: () => answer.response() };
}
