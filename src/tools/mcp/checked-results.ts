import type {
  CallToolResult,
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplate,
  Result,
  Tool,
} from '@modelcontextprotocol/sdk/types.js';
import { isObject, type JsonObject, objectIn } from '../../kernel/json.ts';
import { McpFault, McpFaultError } from './mcp-fault.ts';

/*
 * The members of results that we and the formats of models read. The first wrong one ends the look: the schemas of the
 * SDK list all faults of all elements, for which an answer of 1 MB took minutes. Other members pass as they came, but
 * not as null, and schemas are schemas of objects: clients refuse a whole list for one of its tools, and our list has
 * the tools of all servers.
 */

interface Page<T> {
  items: readonly T[];
  nextCursor: string | undefined;
}

export function toolsOf(result: Result): Page<Tool> {
  const { items, nextCursor } = pageOf<Tool>(result, 'tools', (one) => isText(one.name) && isDescribed(one));
  return { items: items.map(withSchemas), nextCursor };
}

function withSchemas(tool: Tool): Tool {
  const { inputSchema, outputSchema, ...others }: Record<string, unknown> = tool;
  const input = objectSchema(objectIn(inputSchema));
  // Nothing is checked against a schema that is none.
  const output = isObject(outputSchema) && outputSchema.type === 'object' ? objectSchema(outputSchema) : undefined;
  if (input === inputSchema && output === outputSchema) return tool;
  const members: Record<string, unknown> = { ...others, inputSchema: input };
  if (output !== undefined) members.outputSchema = output;
  return members as Tool;
}

function objectSchema(schema: JsonObject): JsonObject {
  const { type, properties, required, ...others } = schema;
  const known = isObject(properties) ? Object.entries(properties) : [];
  const isRight =
    type === 'object' &&
    (properties === undefined || isObject(properties)) &&
    known.every(([, value]) => isObject(value)) &&
    (required === undefined || (Array.isArray(required) && required.every(isText)));
  if (isRight) return schema;
  return {
    ...others,
    type: 'object',
    properties: Object.fromEntries(known.map(([name, value]) => [name, objectIn(value)])),
    ...(Array.isArray(required) && { required: required.filter(isText) }),
  };
}

/** Optional members that a server writes as null. */
function withoutNulls<T extends JsonObject>(one: T): T {
  if (!Object.values(one).includes(null)) return one;
  return Object.fromEntries(Object.entries(one).filter(([, value]) => value !== null)) as T;
}

export function promptsOf(result: Result): Page<Prompt> {
  return pageOf<Prompt>(result, 'prompts', (one) => isText(one.name) && isDescribed(one));
}

export function resourcesOf(result: Result): Page<Resource> {
  return pageOf<Resource>(result, 'resources', (one) => isText(one.name) && isText(one.uri));
}

export function templatesOf(result: Result): Page<ResourceTemplate> {
  return pageOf<ResourceTemplate>(result, 'resourceTemplates', (one) => isText(one.name) && isText(one.uriTemplate));
}

export function toolResultOf(result: Result): CallToolResult {
  const members = withoutNulls(result as JsonObject);
  const { content = [], structuredContent, isError } = members;
  const isRight =
    isListOf(content, isPart) &&
    (structuredContent === undefined || isObject(structuredContent)) &&
    (isError === undefined || typeof isError === 'boolean');
  if (!isRight) return refuse();
  const checked: Record<string, unknown> = { ...members, content: (content as JsonObject[]).map(withoutNulls) };
  return checked as CallToolResult;
}

export function promptOf(result: Result): GetPromptResult {
  const isMessage = ({ role, content }: JsonObject) => isText(role) && isObject(content) && isPart(content);
  return isListOf((result as JsonObject).messages, isMessage) ? (result as GetPromptResult) : refuse();
}

export function contentsOf(result: Result): ReadResourceResult {
  return isListOf((result as JsonObject).contents, isContents) ? (result as ReadResourceResult) : refuse();
}

/** MCP allows 100 values; more of a careless server are left out, since clients refuse them. */
const completedMax = 100;

export function completionOf(result: Result): JsonObject {
  const { values, total, hasMore } = objectIn((result as JsonObject).completion);
  if (!Array.isArray(values) || !values.every(isText)) return refuse();
  const isCut = values.length > completedMax;
  return {
    completion: {
      values: values.slice(0, completedMax),
      ...(Number.isInteger(total) && { total: total as number }),
      ...((isCut || typeof hasMore === 'boolean') && { hasMore: isCut || hasMore === true }),
    },
  };
}

function pageOf<T>(result: Result, member: string, is: (one: JsonObject) => boolean): Page<T> {
  const { [member]: items, nextCursor } = result as JsonObject;
  if (!Array.isArray(items) || !items.every(isObject) || !isTextOrNone(nextCursor)) return refuse();
  const listed = items.map(withoutNulls);
  if (!listed.every(is)) return refuse();
  const checked: unknown[] = listed;
  return { items: checked as T[], nextCursor: nextCursor ?? undefined };
}

/** A part of a result or a prompt. Kinds that are newer than this code pass. */
function isPart({ type, text, name, uri, resource }: JsonObject): boolean {
  if (type === 'text') return isText(text);
  if (type === 'resource') return isObject(resource) && isContents(resource);
  if (type === 'resource_link') return isText(name) && isText(uri);
  return isText(type);
}

function isContents({ uri, text }: JsonObject): boolean {
  return isText(uri) && (text === undefined || isText(text));
}

function isDescribed({ description, annotations }: JsonObject): boolean {
  return isTextOrNone(description) && (annotations === undefined || isObject(annotations));
}

function isListOf(value: unknown, is: (one: JsonObject) => boolean): boolean {
  return Array.isArray(value) && value.every((one) => isObject(one) && is(one));
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTextOrNone(value: unknown): value is string | null | undefined {
  return value === undefined || value === null || isText(value);
}

function refuse(): never {
  throw new McpFaultError(new McpFault('broken', 'answered with something that is not an MCP message'));
}
