import type { JsonObject } from '../../../kernel/json.ts';
import type { MediaSource, NeutralPart } from '../../neutral/request.ts';
import { type Encoding, lose, refuse } from './encoding.ts';
import { toolInputOf } from './tool-input.ts';
import { type Block, type Source, type TextBlock, vendor } from './wire.ts';

/** The block for one part, or null when nothing of it can be sent. `path` names the part in the caller's body. */
export function encodePart(part: NeutralPart, path: string, encoding: Encoding): Block | null {
  switch (part.type) {
    case 'text':
      return textBlock(part.text, part.cache);
    case 'refusal':
      return textBlock(part.text, undefined);
    case 'image': {
      if (part.detail !== undefined) lose(encoding, `${path}.image_url.detail`, 'unsupported');
      const source = mediaSource(part.source, path, encoding);
      return source === null ? null : withCache({ type: 'image', source }, part.cache);
    }
    case 'document': {
      const source = documentSource(part.source, path, encoding);
      if (source === null) return null;
      const block = part.name === undefined ? { source } : { source, title: part.name };
      return withCache({ type: 'document', ...block }, part.cache);
    }
    case 'audio':
      refuse(encoding, path, 'Audio input is not supported by the provider of this model.');
      return null;
    case 'reasoning':
      // An unsigned or foreign thought is refused by Anthropic; the answer does not depend on it.
      if (part.vendor !== vendor || !part.signature) {
        lose(encoding, `${path}.reasoning_content`, 'unsupported');
        return null;
      }
      return { type: 'thinking', thinking: part.text, signature: part.signature };
    case 'redacted-reasoning':
      if (part.vendor === vendor) return { type: 'redacted_thinking', data: part.data };
      lose(encoding, `${path}.reasoning_content`, 'unsupported');
      return null;
    case 'tool-call':
      return withCache(
        {
          type: 'tool_use',
          id: toolUseId(part.id),
          name: part.name,
          input: toolInput(part.argumentsJson, path, encoding),
        },
        part.cache,
      );
    case 'tool-result':
      return toolResult(part, path, encoding);
    case 'vendor':
      if (part.vendor === vendor) return part.block;
      lose(encoding, path, 'unsupported');
      return null;
  }
}

/** Anthropic refuses text blocks without a visible character; nothing is said by leaving them out. */
function textBlock(text: string, cache: JsonObject | undefined): TextBlock | null {
  if (text.trim() === '') return null;
  return cache === undefined ? { type: 'text', text } : { type: 'text', text, cache_control: cache };
}

function withCache(block: JsonObject, cache: JsonObject | undefined): Block {
  if (cache !== undefined) block.cache_control = cache;
  return block;
}

function toolResult(part: NeutralPart & { type: 'tool-result' }, path: string, encoding: Encoding): Block {
  const block: JsonObject = { type: 'tool_result', tool_use_id: toolUseId(part.callId) };
  const content: Block[] = [];
  for (let i = 0; i < part.parts.length; i++) {
    const inner = encodePart(part.parts[i]!, `${path}.content[${i}]`, encoding);
    if (inner !== null) content.push(inner);
  }
  const only = content.length === 1 ? content[0]! : null;
  if (only !== null && only.type === 'text' && only.cache_control === undefined) block.content = only.text as string;
  else if (content.length > 0) block.content = content;
  if (part.isError) block.is_error = true;
  return withCache(block, part.cache);
}

function toolInput(argumentsJson: string, path: string, encoding: Encoding): JsonObject {
  const { input, as } = toolInputOf(argumentsJson);
  if (as === 'raw') lose(encoding, `${path}.function.arguments`, 'narrowed');
  return input;
}

/** Anthropic takes `^[a-zA-Z0-9_-]+$`; other vendors put dots and colons in ids. Call and result change alike. */
function toolUseId(id: string): string {
  if (id === '') return '_';
  return /[^\w-]/.test(id) ? id.replace(/[^\w-]/g, '_') : id;
}

function mediaSource(source: MediaSource, path: string, encoding: Encoding): Source | null {
  switch (source.kind) {
    case 'base64':
      return { type: 'base64', media_type: source.mediaType, data: source.base64 };
    case 'url':
      return { type: 'url', url: source.url };
    case 'file-id':
      // Files live with the provider they were uploaded to: only Anthropic's own ids mean something to it.
      if (source.fileId.startsWith('file_')) return { type: 'file', file_id: source.fileId };
      refuse(encoding, path, 'A file uploaded to another provider cannot be used with this model: send its content.');
      return null;
  }
}

function documentSource(source: MediaSource, path: string, encoding: Encoding): Source | null {
  if (source.kind !== 'base64' || source.mediaType === 'application/pdf') return mediaSource(source, path, encoding);
  const mediaType = source.mediaType.toLowerCase();
  if (mediaType.startsWith('text/') || mediaType === 'application/json') {
    const data = Buffer.from(source.base64, 'base64').toString('utf8');
    return { type: 'text', media_type: 'text/plain', data };
  }
  refuse(encoding, path, `Files of type ${mediaType.slice(0, 64)} are not supported by the provider of this model.`);
  return null;
}
