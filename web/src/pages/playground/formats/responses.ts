import { numberOf } from '../../../parts/forms/typed.ts';
import { errorMessage, type Json, moreOf, type Turn, toolsOf } from '../conversation.ts';
import { type Format, failureOf, numberIn, objectOf, textOf } from './format.ts';

export const responses: Format = {
  id: 'responses',
  title: 'Responses',
  path: '/v1/responses',
  body(model, turns, settings) {
    return {
      model,
      ...errorMessage({
        instructions: settings.system || undefined,
        temperature: numberOf(settings.temperature, 'temperature'),
        top_p: numberOf(settings.topP, 'top_p'),
        max_output_tokens: numberOf(settings.maxTokens, 'max_tokens'),
        reasoning: settings.reasoning === '' ? undefined : { effort: settings.reasoning, summary: 'auto' },
        tools:
          settings.tools === ''
            ? undefined
            : toolsOf(settings.tools).map((tool) => ({ type: 'function', ...tool, strict: false })),
      }),
      input: turns.flatMap(itemsOf),
      store: false,
      stream: true,
      ...(settings.more === '' ? {} : moreOf(settings.more)),
    };
  },
  read(event) {
    if (event === null) return [];
    const place = numberIn(event.output_index) ?? 0;
    switch (event.type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        return [{ type: 'text', text: textOf(event.delta) }];
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return [{ type: 'reasoning', text: textOf(event.delta) }];
      case 'response.output_item.added': {
        const item = objectOf(event.item);
        if (item.type !== 'function_call') return [];
        return [{ type: 'call', at: place, id: textOf(item.call_id), name: textOf(item.name), argumentsJson: '' }];
      }
      case 'response.function_call_arguments.delta':
        return [{ type: 'call', at: place, argumentsJson: textOf(event.delta) }];
      case 'response.completed':
      case 'response.incomplete': {
        const response = objectOf(event.response);
        const usage = objectOf(response.usage);
        const reason = textOf(objectOf(response.incomplete_details).reason) || textOf(response.status);
        return [
          { type: 'usage', inputTokens: numberIn(usage.input_tokens), outputTokens: numberIn(usage.output_tokens) },
          { type: 'finish', reason },
          { type: 'end' },
        ];
      }
      case 'response.failed':
      case 'error':
        return [failureOf(event)];
      default:
        return [];
    }
  },
};

function itemsOf(turn: Turn): Json[] {
  if (turn.role === 'user') {
    const images = turn.pictures.map(({ dataUrl }) => ({ type: 'input_image', image_url: dataUrl }));
    const content = images.length === 0 ? turn.text : [{ type: 'input_text', text: turn.text }, ...images];
    return [{ role: 'user', content }];
  }
  const messages = turn.text === '' ? [] : [{ role: 'assistant', content: turn.text }];
  const calls = turn.calls.map(({ id, name, argumentsJson }) => ({
    type: 'function_call',
    call_id: id,
    name,
    arguments: argumentsJson,
  }));
  const results = turn.calls.map(({ id, result }) => ({
    type: 'function_call_output',
    call_id: id,
    output: result ?? '',
  }));
  return [...messages, ...calls, ...results];
}
