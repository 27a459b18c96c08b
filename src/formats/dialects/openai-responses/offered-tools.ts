import { isObject, type JsonObject, type JsonValue, jsonText, objectsIn } from '../../../kernel/json.ts';
import { asFunction, clientKind } from './client-tools.ts';
import type { InputItem, ResponsesRequest, WireTool } from './wire.ts';

export type CallableTool = WireTool & { type: 'function' | 'custom' };

/** A tool that the caller runs. `path` is its place in the body. */
export interface OfferedTool {
  tool: CallableTool;
  namespace: string | null;
  path: string;
}

/** The name of a tool of a namespace in formats without namespaces. MCP servers of coding agents have long been named so. */
export function flatName(name: string, namespace: JsonValue | undefined): string {
  return typeof namespace === 'string' && namespace !== '' ? prefixOf(namespace) + name : name;
}

/** The reverse of `flatName`; a name without the namespace stays. */
export function nameWithin(flat: string, namespace: string): string {
  const prefix = prefixOf(namespace);
  return flat.startsWith(prefix) ? flat.slice(prefix.length) : flat;
}

function prefixOf(namespace: string): string {
  return namespace.endsWith('__') ? namespace : `${namespace}__`;
}

/**
 * The caller's tools in their order, with those of namespaces and those that its search found. The first of a flat name
 * counts: providers refuse two.
 */
export function offeredTools(body: JsonObject): OfferedTool[] {
  const offered = new Map<string, OfferedTool>();
  const add = (tools: JsonValue | undefined, path: string, namespace: string | null): void => {
    for (const [index, given] of (Array.isArray(tools) ? tools : []).entries()) {
      const tool = isObject(given) && typeof given.name !== 'string' ? asFunction(given) : given;
      if (!isObject(tool) || typeof tool.name !== 'string') continue;
      const at = `${path}[${index}]`;
      if (tool.type === 'namespace') add(tool.tools, `${at}.tools`, tool.name);
      else if (tool.type === 'function' || tool.type === 'custom') {
        const flat = flatName(tool.name, namespace);
        if (!offered.has(flat)) offered.set(flat, { tool: tool as CallableTool, namespace, path: at });
      }
    }
  };
  add(body.tools, 'tools', null);
  for (const [index, item] of (Array.isArray(body.input) ? body.input : []).entries()) {
    if (isObject(item) && bringsTools(item)) add(item.tools, `input[${index}].tools`, null);
  }
  return [...offered.values()];
}

const callable: ReadonlySet<JsonValue | undefined> = new Set(['function', 'custom', 'namespace']);

/** Whether the request or an item of it has tools of the caller, by a look at their types alone. */
export function offersTools({ tools, input }: JsonObject): boolean {
  const isCallable = (tool: JsonValue) =>
    isObject(tool) && (callable.has(tool.type) || isCallersSearch(tool) || clientKind(tool) !== null);
  const found = Array.isArray(tools) && tools.some(isCallable);
  return found || (Array.isArray(input) && input.some((item) => isObject(item) && bringsTools(item)));
}

/** True for items that add tools to those of the request. */
function bringsTools({ type }: JsonObject): boolean {
  return type === 'tool_search_output' || type === 'additional_tools';
}

const searchName = 'tool_search';

/** The search of tools that the caller runs itself; null: there is none. One that the provider runs is not offered elsewhere. */
export function callersSearch({ tools }: JsonObject): JsonObject | null {
  const found = Array.isArray(tools) ? tools.find((tool) => isObject(tool) && isCallersSearch(tool)) : undefined;
  return isObject(found) ? { ...found, name: searchName } : null;
}

export function isCallersSearch({ type, execution }: JsonObject): boolean {
  return type === searchName && execution === 'client';
}

/** Facts by which the answer's calls get the caller's form, as a part of `CallerRequest.echo`. */
export function callsEcho(body: ResponsesRequest): JsonObject {
  const offered = offeredTools(body);
  const called = namesCalled(offered);
  const customTools = called.filter(([, { tool }]) => tool.type === 'custom').map(([name]) => name);
  const within = called.filter(([, { namespace }]) => namespace !== null);
  const given = objectsIn(body.tools);
  const clientTools = given
    .flatMap((tool) => clientKind(tool) ?? [])
    .filter((kind) => given.every(({ name }) => name !== kind));
  return {
    ...(customTools.length > 0 && { customTools }),
    ...(clientTools.length > 0 && { clientTools }),
    ...(within.length > 0 && { namespaces: Object.fromEntries(within.map(([name, one]) => [name, one.namespace])) }),
    ...(callersSearch(body) !== null && { searchTool: searchName }),
  };
}

/**
 * Names by which a model calls each tool: the flat one, and without its namespace, which models leave out, where that
 * means one tool alone.
 */
function namesCalled(offered: readonly OfferedTool[]): [name: string, tool: OfferedTool][] {
  const called = new Map(offered.map((one) => [flatName(one.tool.name, one.namespace), one]));
  const bare = new Map<string, OfferedTool | null>();
  for (const one of offered) {
    const { name } = one.tool;
    if (one.namespace !== null && !called.has(name)) bare.set(name, bare.has(name) ? null : one);
  }
  for (const [name, one] of bare) if (one !== null) called.set(name, one);
  return [...called];
}

/** The call of a search that the caller ran. */
export function searchCall({ call_id: id, arguments: values }: JsonObject) {
  return { id: jsonText(id), name: searchName, argumentsJson: JSON.stringify(isObject(values) ? values : {}) };
}

/** The text for a model that can call the tools that were found from now on. */
export function foundText(item: InputItem): string {
  const names = offeredTools({ input: [item] }).map(({ tool, namespace }) => flatName(tool.name, namespace));
  return names.length === 0 ? 'No tools were found.' : `These tools can be called now: ${names.join(', ')}`;
}
