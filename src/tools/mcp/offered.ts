import type { Prompt, Resource, ResourceTemplate, Tool } from '@modelcontextprotocol/sdk/types.js';
import { matchesGlob } from '../../books/auth/model-glob.ts';
import { mcpSeparator } from '../../config/schema/schema-mcp.ts';
import type { McpServerConfig } from '../../config/schema.ts';

/** The lists of a server, under its own names. */
export interface Offered {
  /** Its words for assistants about itself, from its `initialize`; null: none. */
  instructions: string | null;
  tools: readonly Tool[];
  prompts: readonly Prompt[];
  resources: readonly Resource[];
  templates: readonly ResourceTemplate[];
}

/** Whether the configuration offers a tool or prompt of this name. */
export function isOffered({ tools: { allow, deny } }: McpServerConfig, name: string): boolean {
  const matchesAny = (globs: readonly string[]) => globs.some((glob) => matchesGlob(glob, name));
  return (allow === undefined || matchesAny(allow)) && !matchesAny(deny);
}

/** The name of a tool or prompt among those of all servers. */
export function prefixed(server: string, name: string): string {
  return server + mcpSeparator + name;
}

/** Null: the name has no prefix. No server has the separator in its name. */
export function withoutPrefix(name: string): { server: string; name: string } | null {
  const at = name.indexOf(mcpSeparator);
  return at <= 0 ? null : { server: name.slice(0, at), name: name.slice(at + mcpSeparator.length) };
}

const viewScheme = 'ui://';

/**
 * A resource's address among those of all servers. Names of servers fit into a scheme, and before a path. MCP Apps show
 * nothing whose address does not begin with `ui://`, so that scheme stays.
 */
export function prefixedUri(server: string, uri: string): string {
  if (uri.startsWith(viewScheme)) return `${viewScheme}${server}/${uri.slice(viewScheme.length)}`;
  return `${server}+${uri}`;
}

/** Null: the address has no prefix. */
export function withoutUriPrefix(uri: string): { server: string; uri: string } | null {
  const [, view, viewPath] = /^ui:\/\/([a-z][a-z0-9-]*)\/(.+)$/s.exec(uri) ?? [];
  if (view !== undefined && viewPath !== undefined) return { server: view, uri: viewScheme + viewPath };
  const [, server, rest] = /^([a-z][a-z0-9-]*)\+(.+)$/s.exec(uri) ?? [];
  return server === undefined || rest === undefined ? null : { server, uri: rest };
}
