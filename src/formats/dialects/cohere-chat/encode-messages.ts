import { type Failure, invalid } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { type Loss, lose } from '../../neutral/loss.ts';
import { mediaTypeShownMax } from '../../neutral/media-type.ts';
import type { NeutralMessage, NeutralPart } from '../../neutral/request.ts';
import { encodeMessages as encodeForOpenAi, plainText } from '../openai-chat/encode-messages.ts';
import type { ModelRules } from './model-rules.ts';
import { documentId, vendor } from './wire.ts';

/** State of one encoding run. The first failure found is the one that is reported. */
export interface Encoding {
  readonly rules: ModelRules;
  /** Place of documents that the caller wants cited: a separate member of the body, or text in the messages. */
  readonly documents: 'beside' | 'as-text';
  readonly losses: Loss[];
  failure: Failure | null;
}

export interface EncodedMessages {
  messages: JsonObject[];
  /** Documents to be cited. */
  documents: JsonObject[];
}

/**
 * Cohere's messages: OpenAI's, with thoughts as content or as the plan of the calls they led to. Cohere takes turns of
 * any order, but wants each call with its result.
 */
export function encodeMessages(messages: readonly NeutralMessage[], encoding: Encoding): EncodedMessages {
  const documents: JsonObject[] = [];
  let documentsSeen = 0;
  const sayable = messages.map(({ name, ...message }, i): NeutralMessage => {
    if (name !== undefined) lose(encoding, `messages[${message.place ?? i}].name`, 'unsupported');
    const parts = message.parts.flatMap((part) => sayablePart(part, `messages[${message.place ?? i}].content`));
    return { ...message, role: message.role === 'developer' ? 'system' : message.role, parts };
  });
  const encoded = encodeForOpenAi(sayable, 'send');
  for (const { field, why } of encoded.losses) lose(encoding, field, why);
  if (encoded.unsayable !== null) {
    const { message, what } = encoded.unsayable;
    refuse(`messages[${message}].content`, `${what} cannot be used`);
  }
  return { messages: encoded.messages.map((message) => withThoughts(message, encoding)), documents };

  function sayablePart(part: NeutralPart, path: string): NeutralPart[] {
    switch (part.type) {
      case 'refusal':
        return [{ type: 'text', text: part.text }];
      case 'audio':
        refuse(path, 'audio cannot be used');
        return [];
      case 'document':
        return sayableDocument(part, path);
      case 'tool-result':
        return [{ ...part, parts: part.parts.flatMap((inner) => sayablePart(inner, path)) }];
      case 'reasoning':
        // No thought of Cohere's is signed. One that is belongs to another vendor.
        if (part.signature === undefined || part.vendor === vendor) return [{ type: 'reasoning', text: part.text }];
        lose(encoding, `${path}.reasoning_content`, 'unsupported');
        return [];
      case 'redacted-reasoning':
      case 'vendor':
        lose(encoding, path, 'unsupported');
        return [];
      default:
        return [part];
    }
  }

  function sayableDocument(part: NeutralPart & { type: 'document' }, path: string): NeutralPart[] {
    const index = documentsSeen++;
    const { source, name, cited } = part;
    const text = plainText(source);
    if (text === null) {
      if (source.kind === 'base64')
        refuse(path, `a file of type ${source.mediaType.slice(0, mediaTypeShownMax)} cannot be used`);
      return [part];
    }
    if (cited !== true || encoding.documents === 'as-text') return [part];
    documents.push({ id: documentId(index), data: { ...(name !== undefined && { title: name }), text } });
    return [];
  }

  /**
   * Refuses a part whose omission would change the result: another target may take it, else the caller gets an error
   * that names the field.
   */
  function refuse(field: string, what: string): void {
    encoding.failure ??= invalid(field, `At '${field}', ${what} with this model. Send text or pictures.`);
  }
}

function withThoughts({ reasoning_content: thought, ...message }: JsonObject, encoding: Encoding): JsonObject {
  // Without a text, a message with calls has no content.
  if (message.content === null) delete message.content;
  if (typeof thought !== 'string') return message;
  if (encoding.rules.thinks) {
    const { content } = message;
    const texts = typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : content || [];
    return { ...message, content: [{ type: 'thinking', thinking: thought }, ...(texts as JsonObject[])] };
  }
  if (message.tool_calls !== undefined) return { ...message, tool_plan: thought };
  lose(encoding, 'reasoning_content', 'unsupported');
  return message;
}
