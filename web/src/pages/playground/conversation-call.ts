import type { Json, Settings, Turn } from './conversation.ts';
import type { Format } from './formats/format.ts';
import type { ShownCall } from './snippets.ts';

const calls: Record<Format['id'], Omit<ShownCall, 'path' | 'body'>> = {
  chat: {
    sdk: 'openai',
    method: 'chat.completions.create',
    use: {
      curl: '-N',
      python:
        'for chunk in answer:\n    if chunk.choices:\n        print(chunk.choices[0].delta.content or "", end="")',
      typescript: "for await (const chunk of answer) process.stdout.write(chunk.choices[0]?.delta?.content ?? '');",
    },
  },
  messages: {
    sdk: 'anthropic',
    method: 'messages.create',
    use: {
      curl: '-N',
      python:
        'for event in answer:\n    if event.type == "content_block_delta" and event.delta.type == "text_delta":\n        print(event.delta.text, end="")',
      typescript:
        "for await (const event of answer) {\n  if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') process.stdout.write(event.delta.text);\n}",
    },
  },
  responses: {
    sdk: 'openai',
    method: 'responses.create',
    use: {
      curl: '-N',
      python:
        'for event in answer:\n    if event.type == "response.output_text.delta":\n        print(event.delta, end="")',
      typescript:
        "for await (const event of answer) {\n  if (event.type === 'response.output_text.delta') process.stdout.write(event.delta);\n}",
    },
  },
};

/** A turn of a conversation as a program would send it. */
export function conversationCall(format: Format, model: string, turns: readonly Turn[], settings: Settings): ShownCall {
  const { id, path } = format;
  const body: Json = format.body(model, turns, settings);
  const usual = format.body(model, turns, { ...settings, more: '' });
  return { ...calls[id], path, body, extra: Object.keys(body).filter((name) => !(name in usual)) };
}
