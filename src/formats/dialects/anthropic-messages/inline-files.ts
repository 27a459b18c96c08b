import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { type FileOf, noMedia, noPicture, withParts } from '../inline-files.ts';

/** The body with the content of files in place of their ids. */
export function inlineFiles(body: JsonObject, fileOf: FileOf): JsonObject {
  return { ...body, messages: withParts(body.messages!, (block) => inlined(block, fileOf)) };
}

function inlined(block: JsonObject, fileOf: FileOf): JsonObject | null {
  const { type, source, cache_control: cache } = block;
  // Arguments of a model's call of a tool are not changed.
  if (typeof type === 'string' && type.endsWith('tool_use')) return block;
  if ((type !== 'image' && type !== 'document') || !isObject(source) || source.type !== 'file') return null;
  const file = fileOf(source.file_id);
  if (file === undefined) return null;
  if (type === 'image' && file.kind !== 'image') return noPicture(file);
  if (file.kind === 'text') {
    const text = { type: 'text', media_type: 'text/plain', data: file.text };
    return { ...block, source: text, title: block.title ?? file.name };
  }
  if (file.kind === 'media') return noMedia(file);
  const bytes = { type: 'base64', media_type: file.mediaType, data: file.base64 };
  if (file.kind === 'image') return { type: 'image', source: bytes, ...(cache != null && { cache_control: cache }) };
  return { ...block, source: bytes, title: block.title ?? file.name };
}
