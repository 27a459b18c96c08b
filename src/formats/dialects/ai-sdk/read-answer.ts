import { isObject, type JsonObject, parsedData, stringOr } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';

/** An answer as it went out, whole or streamed, for those who record it. */
export function eventsOf(answer: Buffer): NeutralEvent[] {
  const text = answer.toString('utf8');
  const whole = parsedData(text);
  const parts =
    whole !== null && Array.isArray(whole.content) ? [...whole.content.filter(isObject), whole] : partsIn(text);
  let calls = 0;
  return parts.flatMap((part): NeutralEvent[] => {
    const delta = stringOr(part.delta ?? part.text, '');
    switch (part.type) {
      case 'text':
      case 'text-delta':
        return [{ type: 'text-delta', choice: 0, text: delta }];
      case 'reasoning':
      case 'reasoning-delta':
        return [{ type: 'reasoning-delta', choice: 0, text: delta }];
      case 'tool-call': {
        const call = calls++;
        const [id, name, argumentsJson] = [part.toolCallId, part.toolName, part.input].map((one) => stringOr(one, ''));
        return [
          { type: 'tool-call-start', choice: 0, call, id: id ?? '', name: name ?? '' },
          { type: 'tool-call-delta', choice: 0, call, argumentsJson: argumentsJson ?? '' },
        ];
      }
      default:
        return part.finishReason === undefined ? [] : [finishOf(part)];
    }
  });
}

function finishOf({ finishReason }: JsonObject): NeutralEvent {
  const word = isObject(finishReason) ? finishReason.unified : finishReason;
  const reason = word === 'length' || word === 'tool-calls' || word === 'content-filter' ? word : 'stop';
  return { type: 'finish', choice: 0, reason, stopSequence: null };
}

function partsIn(text: string): JsonObject[] {
  return text.split('\n').flatMap((line) => {
    const part = line.startsWith('data: ') ? parsedData(line.slice('data: '.length)) : null;
    return part === null ? [] : [part];
  });
}
