import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { dataUrlOf, type FileOf, namedText, noMedia, withParts } from '../inline-files.ts';

/** The body with the content of files in place of their ids. Texts become text: the format takes PDFs alone. */
export function inlineFiles(body: JsonObject, fileOf: FileOf): JsonObject {
  return { ...body, messages: withParts(body.messages!, (part) => inlined(part, fileOf)) };
}

function inlined({ type, file: named, ...rest }: JsonObject, fileOf: FileOf): JsonObject | null {
  if (type !== 'file' || !isObject(named)) return null;
  const file = fileOf(named.file_id);
  switch (file?.kind) {
    case undefined:
      return null;
    case 'text':
      return { ...rest, type: 'text', text: namedText(file) };
    case 'image':
      return { ...rest, type: 'image_url', image_url: { url: dataUrlOf(file) } };
    case 'media':
      return noMedia(file);
    case 'pdf':
      return { ...rest, type: 'file', file: { filename: file.name, file_data: dataUrlOf(file) } };
  }
}
