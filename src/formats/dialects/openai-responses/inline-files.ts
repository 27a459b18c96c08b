import type { JsonObject } from '../../../kernel/json.ts';
import { dataUrlOf, type FileOf, namedText, noMedia, noPicture, withParts } from '../inline-files.ts';

/** The body with the content of files in place of their ids. Texts become text: few servers take files of text. */
export function inlineFiles(body: JsonObject, fileOf: FileOf): JsonObject {
  return { ...body, input: withParts(body.input ?? null, (part) => inlined(part, fileOf)) };
}

function inlined({ type, file_id: id, ...rest }: JsonObject, fileOf: FileOf): JsonObject | null {
  if (type !== 'input_file' && type !== 'input_image') return null;
  const file = fileOf(id);
  if (file === undefined) return null;
  if (type === 'input_image' && file.kind !== 'image') return noPicture(file);
  switch (file.kind) {
    case 'text':
      return { type: 'input_text', text: namedText(file) };
    case 'image':
      return { type: 'input_image', image_url: dataUrlOf(file), detail: rest.detail ?? 'auto' };
    case 'media':
      return noMedia(file);
    case 'pdf':
      return { type: 'input_file', filename: file.name, file_data: dataUrlOf(file) };
  }
}
