import { mcpServerName } from '../../config/schema/schema-mcp.ts';
import { isObject, type JsonObject, objectIn } from '../../kernel/json.ts';
import { type FieldTable, noteUnknown, type Reader, readFields } from './import-fields.ts';
import { text } from './litellm-clouds.ts';
import type { Path } from './notes.ts';
import { listOfTexts, plain, secondsOf, textOf, textOr, type Values } from './plain-values.ts';

const texts: Reader = (value, path, values) =>
  (Array.isArray(value) ? value : [value]).flatMap((one, at) => textOf(values, one, [...path, at], 'text') ?? []);

const textsByName: Reader = (value, path, values) => {
  const read = Object.entries(objectIn(value)).flatMap(([name, one]) => {
    const found = textOf(values, one, [...path, name], 'text');
    return found === null ? [] : [[name, found] as const];
  });
  return Object.fromEntries(read);
};

const access = 'limits.mcp of keys and mcp of plans say which servers a caller may use';
const tokens = 'write mcp.servers.NAME.oauth, and log in with culvert mcp-servers login NAME';

/** Members of a server of https://docs.litellm.ai/docs/mcp that have a place here. */
const fields: FieldTable = {
  url: ['url', text('url')],
  command: ['command', text('text')],
  args: ['args', texts],
  env: ['env', textsByName],
  static_headers: ['headers', textsByName],
  timeout: ['timeout', (value, path, values) => secondsOf(values, value, path)],
  extra_headers: 'headers of callers do not go to MCP servers',
  spec_path: 'write the address of the document into mcp.servers.NAME.openapi',
  access_groups: access,
  allow_all_keys: access,
  client_id: tokens,
  client_secret: tokens,
  scopes: tokens,
  authorization_url: tokens,
  token_url: tokens,
};
const others =
  /^(?:transport|auth_type|auth_value|authentication_token|allowed_tools|disallowed_tools|alias|description|spec_version|mcp_info|server_name)$/;

/** Headers that its kinds of authentication send. */
const headerOf: Readonly<Record<string, (secret: string) => [name: string, value: string]>> = {
  api_key: (secret) => ['X-API-Key', secret],
  bearer_token: (secret) => ['Authorization', `Bearer ${secret}`],
  token: (secret) => ['Authorization', `token ${secret}`],
  authorization: (secret) => ['Authorization', secret],
};

/** Converts `mcp_servers` to servers of `mcp`, by name. What speaks the older transport over SSE is left out and noted. */
export function importMcpServers(values: Values, root: JsonObject): Record<string, JsonObject> {
  const servers: Record<string, JsonObject> = {};
  for (const [given, server] of Object.entries(objectIn(root.mcp_servers))) {
    const path = ['mcp_servers', given];
    const note = (message: string, ...place: string[]) => values.notes.add([...path, ...place], message);
    const name = (isObject(server) ? textOr(server.alias, given) : given).toLowerCase().replace(/[^a-z0-9]+/g, '-');
    if (!isObject(server) || !mcpServerName.safeParse(name).success || Object.hasOwn(servers, name)) {
      note('not carried over: a server needs a name of small letters, digits and hyphens, which no other has');
      continue;
    }
    const members = readFields(server, fields, path, values);
    noteUnknown(server, fields, others, path, values.notes);
    if (server.transport === 'sse') note('not carried over: it speaks SSE, and Culvert Streamable HTTP', 'transport');
    else if (members.url === undefined && members.command === undefined)
      note('not carried over: it has neither a url nor a command');
    else {
      servers[name] = { ...members, ...credentialOf(values, server, members, path), ...toolsOf(server) };
      note(`its tools are ${name}__TOOL here, where LiteLLM has ${textOr(server.alias, given)}-TOOL`);
    }
  }
  return servers;
}

function credentialOf(values: Values, server: JsonObject, { headers }: JsonObject, path: Path): JsonObject {
  const kind = textOr(server.auth_type, 'none');
  const member = server.auth_value === undefined ? 'authentication_token' : 'auth_value';
  if (kind === 'none') return {};
  const header = Object.hasOwn(headerOf, kind) ? headerOf[kind] : undefined;
  if (header === undefined) {
    const why = kind === 'oauth2' ? tokens : 'write the header into mcp.servers.NAME.headers';
    values.notes.add([...path, 'auth_type'], `not carried over: ${why}`);
    return {};
  }
  const secret = textOf(values, server[member], [...path, member], 'secret');
  if (secret === null) return {};
  const [name, value] = header(secret);
  return { headers: { ...objectIn(headers), [name]: value } };
}

function toolsOf({ allowed_tools: allowed, disallowed_tools: denied }: JsonObject): JsonObject {
  const [allow, deny] = [listOfTexts(allowed).map(plain), listOfTexts(denied).map(plain)];
  if (allow.length === 0 && deny.length === 0) return {};
  return { tools: { ...(allow.length > 0 && { allow }), ...(deny.length > 0 && { deny }) } };
}
