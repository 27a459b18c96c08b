import { numberOf } from '../../../parts/forms/typed.ts';
import { errorMessage, type Json, moreOf, type Settings, stopsOf, type Turn, toolsOf } from '../conversation.ts';
import { type Format, failureOf, numberIn, objectOf, textOf } from './format.ts';

export const chat: Format = {
  id: 'chat',
  title: 'Chat completions',
  path: '/v1/chat/completions',
  body(model, turns, settings) {
    return {
      model,
      messages: messagesOf(turns, settings),
      ...errorMessage({
        temperature: numberOf(settings.temperature, 'temperature'),
        top_p: numberOf(settings.topP, 'top_p'),
        max_completion_tokens: numberOf(settings.maxTokens, 'max_tokens'),
        reasoning_effort: settings.reasoning || undefined,
        stop: stopsOf(settings.stop),
        tools:
          settings.tools === ''
            ? undefined
            : toolsOf(settings.tools).map((tool) => ({ type: 'function', function: tool })),
      }),
      stream: true,
      stream_options: { include_usage: true },
      ...(settings.more === '' ? {} : moreOf(settings.more)),
    };
  },
  read(event) {
    if (event === null) return [{ type: 'end' }];
    if (event.error !== undefined) return [failureOf(event)];
    const choice = objectOf((event.choices as unknown[] | undefined)?.[0]);
    const delta = objectOf(choice.delta);
    const steps = [];
    const reasoning = textOf(delta.reasoning_content) || textOf(delta.reasoning);
    if (reasoning !== '') steps.push({ type: 'reasoning', text: reasoning } as const);
    const text = textOf(delta.content) || textOf(delta.refusal);
    if (text !== '') steps.push({ type: 'text', text } as const);
    for (const call of (delta.tool_calls as Json[] | undefined) ?? []) {
      const { name, arguments: args } = objectOf(call.function);
      steps.push({
        type: 'call',
        at: numberIn(call.index) ?? 0,
        argumentsJson: textOf(args),
        ...(typeof call.id === 'string' && { id: call.id }),
        ...(typeof name === 'string' && { name }),
      } as const);
    }
    if (typeof choice.finish_reason === 'string') steps.push({ type: 'finish', reason: choice.finish_reason } as const);
    const usage = objectOf(event.usage);
    if (event.usage != null) {
      const counts = { inputTokens: numberIn(usage.prompt_tokens), outputTokens: numberIn(usage.completion_tokens) };
      steps.push({ type: 'usage', ...counts } as const);
    }
    return steps;
  },
};

function messagesOf(turns: readonly Turn[], { system }: Settings): Json[] {
  const messages: Json[] = system === '' ? [] : [{ role: 'system', content: system }];
  for (const turn of turns) {
    if (turn.role === 'user') {
      const images = turn.pictures.map(({ dataUrl }) => ({ type: 'image_url', image_url: { url: dataUrl } }));
      const content = images.length === 0 ? turn.text : [{ type: 'text', text: turn.text }, ...images];
      messages.push({ role: 'user', content });
      continue;
    }
    const calls = turn.calls.map(({ id, name, argumentsJson }) => ({
      id,
      type: 'function',
      function: { name, arguments: argumentsJson },
    }));
    messages.push({
      role: 'assistant',
      content: turn.text === '' && calls.length > 0 ? null : turn.text,
      ...(calls.length > 0 && { tool_calls: calls }),
    });
    for (const { id, result } of turn.calls) messages.push({ role: 'tool', tool_call_id: id, content: result ?? '' });
  }
  return messages;
}
