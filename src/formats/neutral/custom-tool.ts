import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import type { Loss } from './loss.ts';
import type { NeutralRequest, NeutralTool } from './request.ts';

interface CustomTool {
  name: string;
  description?: string | null;
  format?: JsonValue;
}

/** One text, as the argument of a function. */
const oneText: JsonObject = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
};

/** A tool that takes text, as both formats of OpenAI have it, and as a function for all others. */
export function customTool({ name, description: callers, format }: CustomTool): NeutralTool {
  const described = [
    callers ?? '',
    // A target that cannot hold the model to a grammar can still show it.
    isGrammar(format) && typeof format.definition === 'string'
      ? `The input must follow this ${typeof format.syntax === 'string' ? format.syntax : 'formal'} grammar:\n${format.definition}`
      : '',
  ].filter((text) => text !== '');
  return {
    name,
    ...(described.length > 0 && { description: described.join('\n\n') }),
    parameters: oneText,
    custom: { ...(isObject(format) && { format }), ...(callers && { description: callers }) },
  };
}

/** The same request for a target that knows functions alone. */
export function withoutCustomTools(request: NeutralRequest): NeutralRequest {
  return {
    ...request,
    ...(request.tools && { tools: request.tools.map(({ custom: _, ...tool }) => tool) }),
    lost: [...(request.lost ?? []), ...grammarsIn(request.tools ?? [])],
    messages: request.messages.map((message) => ({
      ...message,
      parts: message.parts.map((part) => (part.type === 'tool-call' && part.custom ? { ...part, custom: true } : part)),
    })),
  };
}

function grammarsIn(tools: readonly NeutralTool[]): Loss[] {
  return tools.flatMap(({ custom }) =>
    isGrammar(custom?.format) ? [{ field: `${custom.path}.format`, why: 'unsupported' }] : [],
  );
}

export function isGrammar(format: JsonValue | undefined): format is JsonObject {
  return isObject(format) && format.type === 'grammar';
}
