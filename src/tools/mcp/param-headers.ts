import { isObject, type JsonObject, objectIn } from '../../kernel/json.ts';

const prefix = 'mcp-param-';

/**
 * Headers that repeat arguments of a call where the schema of its tool wants that (`x-mcp-header`), so that proxies need
 * not read its body. Without a name that fits into a header there is none.
 */
export function paramHeaders(schema: object, args: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, property] of Object.entries(objectIn((schema as JsonObject).properties))) {
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    if (!isObject(property) || value === undefined || value === null) continue;
    const { 'x-mcp-header': header } = property;
    if (isObject(value)) Object.assign(headers, paramHeaders(property, value));
    else if (typeof header === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(header) && !Array.isArray(value))
      headers[prefix + header.toLowerCase()] = headerValue(typeof value === 'string' ? value : JSON.stringify(value));
  }
  return headers;
}

/** True for headers that repeat what is in the body, so that they are no credentials. */
export function repeatsBody(header: string): boolean {
  return header === 'mcp-method' || header === 'mcp-name' || header.startsWith(prefix);
}

/** The text as the value of a header: in Base64 where it would not arrive as it is, or would be taken for Base64. */
export function headerValue(text: string): string {
  const isPlain = /^[!-~](?:[ -~]*[!-~])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}
