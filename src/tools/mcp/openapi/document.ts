import { parse } from 'yaml';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { uriText } from '../../../kernel/web/uri-text.ts';

/** Size of a document. YAML takes ten times as long to read as JSON. */
export const documentBytesMax = 4 * 1024 * 1024;
const yamlBytesMax = 512 * 1024;
/** References to references that are followed. */
const hopsMax = 20;

/** An OpenAPI document cannot be used; the message continues the sentence "It …". */
export class BadDocument extends Error {}

/** Reads an OpenAPI 3 document, JSON or YAML. Throws `BadDocument`. */
export function readDocument(text: string): JsonObject {
  const document = parsed(text);
  if (!isObject(document)) throw new BadDocument('is not an OpenAPI document');
  if (typeof document.swagger === 'string') throw new BadDocument('is Swagger 2; Culvert reads OpenAPI 3');
  if (typeof document.openapi !== 'string' || !/^3\.\d/.test(document.openapi)) {
    throw new BadDocument("has no member 'openapi' with a version 3");
  }
  return document;
}

function parsed(text: string): unknown {
  try {
    if (/^\s*\{/.test(text)) return JSON.parse(text);
  } catch {
    throw new BadDocument('is not valid JSON');
  }
  if (text.length > yamlBytesMax) throw new BadDocument('is YAML of more than 512 KB; give it as JSON');
  try {
    return parse(text, { maxAliasCount: 100, logLevel: 'silent' });
  } catch {
    throw new BadDocument('is not valid YAML');
  }
}

/** The object itself, or the one within the document that its `$ref` names; null: there is none. */
export function resolved(document: JsonObject, value: unknown): JsonObject | null {
  let at: unknown = value;
  for (let hops = 0; hops < hopsMax; hops++) {
    if (!isObject(at)) return null;
    if (typeof at.$ref !== 'string') return at;
    at = pointed(document, at.$ref);
  }
  return null;
}

/** A JSON pointer in a fragment (RFC 6901); other documents are not read. */
function pointed(document: JsonObject, reference: string): unknown {
  if (!reference.startsWith('#/')) return null;
  let at: unknown = document;
  for (const step of reference.slice(2).split('/')) {
    const name = uriText(step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return null;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}
