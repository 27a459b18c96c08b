import { numberOf } from '../../../parts/forms/typed.ts';
import { type AssistantTurn, errorMessage, type Json, moreOf, stopsOf, type Turn, toolsOf } from '../conversation.ts';
import { type Format, failureOf, numberIn, objectOf, textOf } from './format.ts';

/** The format has no answer without a bound. */
const tokensUnlessTyped = 4_096;
const thinkingTokens = { low: 1_024, medium: 4_096, high: 16_384 };

export const messages: Format = {
  id: 'messages',
  title: 'Messages',
  path: '/v1/messages',
  body(model, turns, settings) {
    const budget = settings.reasoning === '' ? 0 : thinkingTokens[settings.reasoning];
    const tokens = numberOf(settings.maxTokens, 'max_tokens') ?? tokensUnlessTyped + budget;
    return {
      model,
      max_tokens: tokens,
      ...errorMessage({
        system: settings.system || undefined,
        temperature: numberOf(settings.temperature, 'temperature'),
        top_p: numberOf(settings.topP, 'top_p'),
        thinking: budget === 0 ? undefined : { type: 'enabled', budget_tokens: budget },
        stop_sequences: stopsOf(settings.stop),
        tools:
          settings.tools === ''
            ? undefined
            : toolsOf(settings.tools).map(({ name, description, parameters }) => ({
                name,
                description,
                input_schema: parameters,
              })),
      }),
      messages: turns.flatMap(messagesOf),
      stream: true,
      ...(settings.more === '' ? {} : moreOf(settings.more)),
    };
  },
  read(event) {
    if (event === null) return [];
    switch (event.type) {
      case 'message_start':
        return [{ type: 'usage', inputTokens: numberIn(objectOf(objectOf(event.message).usage).input_tokens) }];
      case 'content_block_start': {
        const block = objectOf(event.content_block);
        if (block.type !== 'tool_use') return [];
        return [
          { type: 'call', at: blockPlace(event), id: textOf(block.id), name: textOf(block.name), argumentsJson: '' },
        ];
      }
      case 'content_block_delta': {
        const delta = objectOf(event.delta);
        if (delta.type === 'text_delta') return [{ type: 'text', text: textOf(delta.text) }];
        if (delta.type === 'thinking_delta') return [{ type: 'reasoning', text: textOf(delta.thinking) }];
        if (delta.type === 'signature_delta') return [{ type: 'signature', text: textOf(delta.signature) }];
        if (delta.type !== 'input_json_delta') return [];
        return [{ type: 'call', at: blockPlace(event), argumentsJson: textOf(delta.partial_json) }];
      }
      case 'message_delta': {
        const usage = objectOf(event.usage);
        const reason = textOf(objectOf(event.delta).stop_reason);
        return [
          { type: 'usage', inputTokens: numberIn(usage.input_tokens), outputTokens: numberIn(usage.output_tokens) },
          ...(reason === '' ? [] : [{ type: 'finish', reason } as const]),
        ];
      }
      case 'message_stop':
        return [{ type: 'end' }];
      case 'error':
        return [failureOf(event)];
      default:
        return [];
    }
  },
};

/** Blocks of all kinds are counted together. */
function blockPlace(event: Json): number {
  return numberIn(event.index) ?? 0;
}

function messagesOf(turn: Turn): Json[] {
  if (turn.role === 'user') {
    const images = turn.pictures.map(({ dataUrl }) => {
      const [, mediaType, data] = /^data:([^;]+);base64,(.*)$/s.exec(dataUrl) ?? [];
      return { type: 'image', source: { type: 'base64', media_type: mediaType, data } };
    });
    const content = images.length === 0 ? turn.text : [...images, { type: 'text', text: turn.text }];
    return [{ role: 'user', content }];
  }
  const results = turn.calls.map(({ id, result }) => ({ type: 'tool_result', tool_use_id: id, content: result ?? '' }));
  const blocks = blocksOf(turn);
  return [
    ...(blocks.length === 0 ? [] : [{ role: 'assistant', content: blocks }]),
    ...(results.length === 0 ? [] : [{ role: 'user', content: results }]),
  ];
}

function blocksOf({ text, reasoning, signature, calls }: AssistantTurn): Json[] {
  return [
    ...(signature === null ? [] : [{ type: 'thinking', thinking: reasoning, signature }]),
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...calls.map(({ id, name, argumentsJson }) => ({ type: 'tool_use', id, name, input: inputOf(argumentsJson) })),
  ];
}

function inputOf(argumentsJson: string): Json {
  try {
    return objectOf(JSON.parse(argumentsJson || '{}'));
  } catch {
    return {};
  }
}
