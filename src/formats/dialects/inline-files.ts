import { FailureError, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';

/** Content of a file that a caller uploaded here, as bodies hold it. */
export type InlineFile = { name: string; field: string } & (
  | { kind: 'text'; text: string }
  /** `pdf`: a document. */
  | { kind: 'image' | 'pdf'; mediaType: string; base64: string }
  /** A sound or a video, by the type that its owner gave. Only formats that take one as a file know what to do with it. */
  | { kind: 'media'; mediaType: string; base64: string }
);

/** File of an id in a body; undefined: it is none of those that were uploaded here. */
export type FileOf = (id: JsonValue | undefined) => InlineFile | undefined;

/** The value with `inlined` parts in place of those that name files, however deep. Null: the part names none. */
export function withParts(value: JsonValue, inlined: (part: JsonObject) => JsonObject | null): JsonValue {
  if (Array.isArray(value)) return value.map((one) => withParts(one, inlined));
  if (!isObject(value)) return value;
  const part = inlined(value);
  if (part !== null) return part;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withParts(one ?? null, inlined)]));
}

export function dataUrlOf({ mediaType, base64 }: { mediaType: string; base64: string }): string {
  return `data:${mediaType};base64,${base64}`;
}

/** A text as a part of formats that have no place for text files, with the name that people know it by. */
export function namedText({ name, text }: { name: string; text: string }): string {
  return `${name}\n\n${text}`;
}

/** Throws a FailureError where a sound or a video cannot be. */
export function noMedia({ field, name }: InlineFile): never {
  const shown = JSON.stringify(name.slice(0, 60));
  throw new FailureError(invalid(field, `The file ${shown} is neither a picture nor a PDF nor a text ('${field}').`));
}

/** Throws a FailureError where a picture is wanted. */
export function noPicture({ field, name }: InlineFile): never {
  const shown = JSON.stringify(name.slice(0, 60));
  throw new FailureError(invalid(field, `'${field}' names the file ${shown}, which is no picture. Send it as a file.`));
}
