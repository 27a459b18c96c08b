import type { JsonObject } from '../../../kernel/json.ts';
import type { FinishReason, NeutralEvent } from '../../neutral/event.ts';
import type { Usage } from '../../neutral/usage.ts';
import type { AnswerHead, StreamEncoder } from '../dialect.ts';
import { annotationOf } from './annotation.ts';
import { wireFinishReason } from './finish-reason.ts';
import { extraContentOf } from './thought-signature.ts';
import { wireUsage } from './token-usage.ts';
import { doneFrame } from './wire.ts';

interface ChoiceState {
  finished: boolean;
  textLength: number;
  /** One entry a tool call: whether any of its arguments were sent. */
  callHasArguments: boolean[];
}

/**
 * Events as OpenAI's chunks. Every choice begins with its role and ends with a finish reason (the SDK's helper wants
 * both), all chunks share id, time and model, usage is a chunk of its own if asked, and `[DONE]` follows only `end`:
 * after `failed` the caller of this writes the error frame.
 */
export function encodeStream(head: AnswerHead): StreamEncoder {
  const choices = new Map<number, ChoiceState>();
  // Everything up to the value of `choices`, the same in every chunk.
  let opening = openingOf(head.fallbackId, head.createdS, head.model);
  let usage: Usage | null = null;
  let closed = false;

  function chunk(choice: number, delta: string): string {
    return `${opening}[{"index":${choice},"delta":${delta},"logprobs":null,"finish_reason":null}]}\n\n`;
  }

  /** `delta`, after the role if this is the first thing the choice says. */
  function say(choice: number, delta: string): string {
    return choices.has(choice) ? chunk(choice, delta) : begin(choice) + chunk(choice, delta);
  }

  function begin(choice: number): string {
    if (choices.has(choice)) return '';
    choices.set(choice, { finished: false, textLength: 0, callHasArguments: [] });
    return chunk(choice, '{"role":"assistant","content":"","refusal":null}');
  }

  function finish(choice: number, reason: FinishReason): string {
    const opened = begin(choice);
    const state = choices.get(choice)!;
    if (state.finished) return opened;
    state.finished = true;
    let frames = opened;
    state.callHasArguments.forEach((has, call) => {
      // Clients parse the arguments, and an empty string is no JSON.
      if (!has) frames += chunk(choice, `{"tool_calls":[{"index":${call},"function":{"arguments":"{}"}}]}`);
    });
    const word = wireFinishReason(reason);
    return `${frames}${opening}[{"index":${choice},"delta":{},"logprobs":null,"finish_reason":"${word}"}]}\n\n`;
  }

  function end(): string {
    closed = true;
    let frames = choices.size === 0 ? finish(0, 'stop') : '';
    for (const [index, state] of choices) {
      if (!state.finished) frames += finish(index, state.callHasArguments.length > 0 ? 'tool-calls' : 'stop');
    }
    if (head.includeUsage) frames += `${opening}[],"usage":${JSON.stringify(wireUsage(usage))}}\n\n`;
    return frames + doneFrame;
  }

  function annotation(choice: number, citation: JsonObject): string {
    const wire = annotationOf(citation, choices.get(choice)?.textLength ?? 0);
    return wire === null ? '' : say(choice, `{"annotations":[${JSON.stringify(wire)}]}`);
  }

  function step(event: NeutralEvent): string {
    if (closed) return '';
    switch (event.type) {
      case 'start':
        opening = openingOf(event.id ?? head.fallbackId, event.createdS ?? head.createdS, event.model ?? head.model);
        return '';
      case 'text-delta': {
        const frames = say(event.choice, `{"content":${JSON.stringify(event.text)}}`);
        choices.get(event.choice)!.textLength += event.text.length;
        return frames;
      }
      case 'reasoning-delta':
        return say(event.choice, `{"reasoning_content":${JSON.stringify(event.text)}}`);
      case 'refusal-delta':
        return say(event.choice, `{"refusal":${JSON.stringify(event.text)}}`);
      case 'tool-call-start': {
        const call = {
          index: event.call,
          id: event.id,
          type: 'function',
          function: { name: event.name, arguments: '' },
          ...extraContentOf(event),
        };
        const frames = say(event.choice, `{"tool_calls":[${JSON.stringify(call)}]}`);
        choices.get(event.choice)!.callHasArguments[event.call] = false;
        return frames;
      }
      case 'tool-call-delta': {
        if (event.argumentsJson === '') return '';
        const text = JSON.stringify(event.argumentsJson);
        const frames = say(event.choice, `{"tool_calls":[{"index":${event.call},"function":{"arguments":${text}}}]}`);
        choices.get(event.choice)!.callHasArguments[event.call] = true;
        return frames;
      }
      case 'audio-delta':
        return say(event.choice, `{"audio":${JSON.stringify(event.audio)}}`);
      case 'citation':
        return annotation(event.choice, event.citation);
      case 'logprobs':
        return `${begin(event.choice)}${opening}[{"index":${event.choice},"delta":{},"logprobs":${JSON.stringify(event.logprobs)},"finish_reason":null}]}\n\n`;
      case 'usage':
        usage = event.usage;
        return '';
      case 'finish':
        return finish(event.choice, event.reason);
      case 'end':
        return end();
      case 'failed':
        closed = true;
        return '';
      // What this format has no word for.
      case 'reasoning-signature':
      case 'redacted-reasoning':
      case 'part-end':
        return '';
    }
  }
  return { step };
}

function openingOf(id: string, createdS: number, model: string): string {
  return `data: {"id":${JSON.stringify(id)},"object":"chat.completion.chunk","created":${createdS},"model":${JSON.stringify(model)},"choices":`;
}
