import { isObject, jsonText, listIn, parsedData } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';

/** An answer as it went out, whole or in lines, for those who record it. */
export function eventsOf(answer: Buffer): NeutralEvent[] {
  return answer
    .toString('utf8')
    .split('\n')
    .flatMap((line): NeutralEvent[] => {
      const parsed = parsedData(line);
      if (parsed === null) return [];
      const message = isObject(parsed.message) ? parsed.message : parsed;
      const text = message.content ?? message.response;
      return [
        ...(typeof message.thinking === 'string'
          ? [{ type: 'reasoning-delta', choice: 0, text: message.thinking } as const]
          : []),
        ...(typeof text === 'string' ? [{ type: 'text-delta', choice: 0, text } as const] : []),
        ...listIn(message.tool_calls).flatMap((call, at): NeutralEvent[] => {
          if (!isObject(call) || !isObject(call.function)) return [];
          const { name, arguments: given } = call.function;
          return [
            { type: 'tool-call-start', choice: 0, call: at, id: jsonText(call.id ?? at), name: jsonText(name) },
            { type: 'tool-call-delta', choice: 0, call: at, argumentsJson: JSON.stringify(given ?? {}) },
          ];
        }),
        ...(parsed.done === true
          ? [
              {
                type: 'finish',
                choice: 0,
                reason: parsed.done_reason === 'length' ? 'length' : 'stop',
                stopSequence: null,
              } as const,
            ]
          : []),
      ];
    });
}
