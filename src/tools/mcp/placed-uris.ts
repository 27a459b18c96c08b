import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { prefixedUri, withoutUriPrefix } from './offered.ts';

/** The address of a resource in another form. `link`: a result only names it. `content`: its content follows. */
type UriForm = (uri: string, role: 'link' | 'content') => string;

/**
 * The result of a tool, a prompt or a reading, with each address of a resource as the lists of all servers have it, so that
 * a client can read it. Links into the web stay: clients load them there.
 */
export function withPlacedUris(result: object, server: string): object {
  return withUris(result as JsonObject, (uri, role) =>
    role === 'link' && /^https?:/i.test(uri) ? uri : prefixedUri(server, uri),
  );
}

/** The same result with the server's own addresses again. */
export function withPlainUris(result: JsonObject, server: string): JsonObject {
  return withUris(result, (uri) => {
    const placed = withoutUriPrefix(uri);
    return placed?.server === server ? placed.uri : uri;
  });
}

function withUris(result: JsonObject, form: UriForm): JsonObject {
  const { content, contents, messages } = result;
  const changed = withView(result, (uri) => form(uri, 'content'));
  if (content !== undefined) changed.content = eachIn(content, (part) => partWith(part, form));
  if (contents !== undefined) changed.contents = eachIn(contents, (one) => placed(one, (uri) => form(uri, 'content')));
  if (messages !== undefined) changed.messages = eachIn(messages, (one) => messageWith(one, form));
  return changed;
}

function partWith(part: JsonObject, form: UriForm): JsonObject {
  const link = (uri: string) => form(uri, 'link');
  if (part.type === 'resource_link') return placed(part, link);
  if (part.type !== 'resource' || !isObject(part.resource)) return part;
  return { ...part, resource: placed(part.resource, link) };
}

function messageWith(message: JsonObject, form: UriForm): JsonObject {
  return isObject(message.content) ? { ...message, content: partWith(message.content, form) } : message;
}

/** Members of `_meta` by which tools and their results name the resource that shows them (MCP Apps, ChatGPT's apps). */
const viewMembers = ['ui/resourceUri', 'openai/outputTemplate'];

/** A tool with the address of its view as the lists of all servers have it. */
export function withPlacedView<T extends { _meta?: object | undefined }>(tool: T, server: string): T {
  return withView(tool, (uri) => prefixedUri(server, uri));
}

function withView<T extends { _meta?: unknown }>(one: T, form: (uri: string) => string): T {
  if (!isObject(one._meta)) return one;
  const meta: JsonObject = { ...one._meta };
  for (const name of viewMembers) {
    const uri = meta[name];
    if (typeof uri === 'string') meta[name] = form(uri);
  }
  const { ui } = meta;
  if (isObject(ui) && typeof ui.resourceUri === 'string') meta.ui = { ...ui, resourceUri: form(ui.resourceUri) };
  return { ...one, _meta: meta };
}

function placed(one: JsonObject, uriOf: (uri: string) => string): JsonObject {
  return typeof one.uri === 'string' ? { ...one, uri: uriOf(one.uri) } : one;
}

function eachIn(list: JsonValue, change: (one: JsonObject) => JsonObject): JsonValue {
  return Array.isArray(list) ? list.map((one) => (isObject(one) ? change(one) : one)) : list;
}
