import { isObject, type JsonObject, type JsonValue, listIn } from '../../kernel/json.ts';
import type { FormPart } from './transcription/form-body.ts';

/** `a[b][]`: OpenAI's SDKs write the members of objects and the items of lists so. */
const bracketed = /^([^[\]]+)((?:\[[^[\]]*\]){1,8})$/;

/** The members that the fields of a form mean: `input_reference[image_url]` is a member of an object. The last of one name counts. */
export function membersOfForm(fields: readonly FormPart[]): JsonObject {
  const members: JsonObject = Object.create(null);
  for (const { name, value } of fields) {
    const [, first = name, rest = ''] = bracketed.exec(name) ?? [];
    put(members, [first, ...[...rest.matchAll(/\[([^[\]]*)\]/g)].map(([, part = '']) => part)], value);
  }
  return members;
}

function put(holder: JsonObject, [name = '', ...rest]: readonly string[], value: string): void {
  const [next] = rest;
  const known = holder[name];
  if (next === undefined) holder[name] = value;
  else if (next === '') holder[name] = [...listIn(known), value];
  else {
    const inner: JsonObject = isObject(known) ? known : Object.create(null);
    holder[name] = inner;
    put(inner, rest, value);
  }
}

/** The fields of a form for members of a body. */
export function formOfMembers(members: JsonObject): FormPart[] {
  return Object.entries(members).flatMap(([name, value = null]) => fieldsOf(name, value));
}

function fieldsOf(name: string, value: JsonValue): FormPart[] {
  if (Array.isArray(value)) return value.flatMap((item) => fieldsOf(`${name}[]`, item));
  if (isObject(value))
    return Object.entries(value).flatMap(([inner, one = null]) => fieldsOf(`${name}[${inner}]`, one));
  return [{ name, value: typeof value === 'string' ? value : JSON.stringify(value) }];
}
