import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { type FileOf, namedText, withParts } from '../inline-files.ts';
import { uploadOfUri } from '../named-objects.ts';

/** The body with the content of files in place of their addresses. Texts become text, which every model reads. */
export function inlineFiles(body: JsonObject, fileOf: FileOf): JsonObject {
  const inlined = (value: JsonValue | undefined) => withParts(value ?? null, (part) => withContent(part, fileOf));
  const { contents, systemInstruction, system_instruction: inSnakeCase } = body;
  return {
    ...body,
    contents: inlined(contents),
    ...(systemInstruction !== undefined && { systemInstruction: inlined(systemInstruction) }),
    ...(inSnakeCase !== undefined && { system_instruction: inlined(inSnakeCase) }),
  };
}

function withContent(part: JsonObject, fileOf: FileOf): JsonObject | null {
  const { fileData, file_data: inSnakeCase, ...rest } = part;
  const named = fileData ?? inSnakeCase;
  if (!isObject(named)) return isObject(part.functionCall) || isObject(part.functionResponse) ? part : null;
  const uri = named.fileUri ?? named.file_uri;
  const file = fileOf(typeof uri === 'string' ? (uploadOfUri(uri) ?? undefined) : undefined);
  if (file === undefined) return part;
  if (file.kind === 'text') return { ...rest, text: file.name === '' ? file.text : namedText(file) };
  return { ...rest, inlineData: { mimeType: file.mediaType, data: file.base64 } };
}
