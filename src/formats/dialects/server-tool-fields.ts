import { allRead, type Failure, invalidField, isFailure } from '../../kernel/failure.ts';
import { isSortedId } from '../../kernel/ids.ts';
import { isObject, isWhole, type JsonObject, type JsonValue, jsonText, objectIn } from '../../kernel/json.ts';
import { type AddressSource, addAddresses } from '../neutral/known-addresses.ts';
import type {
  FileSearchTool,
  McpServerTool,
  McpToolFilter,
  RequestedServerTools,
  WebFetchTool,
  WebSearchTool,
} from '../neutral/server-tool.ts';

/** OpenAI's names of a search of the web, preview and dated ones among them. */
const webSearchTypes = /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/;
/** Anthropic's name of reading a page, with its date in Messages. */
const webFetchTypes = /^web_fetch(?:_\d{8})?$/;
const domainsMax = 50;
const collectionsMax = 10;
const mcpToolsMax = 512;
/** RFC 9110 §5.1 and §5.5. */
const headerName = /^[!#$%&'*+.^_`|~\w-]+$/;
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Source of a tool: its object, its path in the request, and the name of its loss. */
interface At {
  path: string;
  field: string;
}

/** Texts of a conversation, with their speakers: they contain the addresses that a model may fetch. */
export type AddressSources = Iterable<readonly [AddressSource, JsonValue | undefined]>;

/** True if a request's list may hold tools that the answering server runs. Most hold none: this allocates nothing. */
export function hasServerTools(tools: JsonValue | undefined): tools is JsonValue[] {
  if (!Array.isArray(tools)) return false;
  for (const tool of tools) {
    if (!isObject(tool)) continue;
    const { type } = tool;
    if (type != null && type !== 'function' && type !== 'custom') return true;
  }
  return false;
}

/**
 * A tool in OpenAI's words; null for one that this gateway has no counterpart for, such as code. A failure is that of a
 * target that must run the tool here.
 */
export function openAiServerTool(
  tool: JsonObject,
  at: At,
  addressSources: () => AddressSources,
): RequestedServerTools['tools'][number] | Failure | null {
  const { type } = tool;
  if (typeof type !== 'string') return null;
  // A search of what the provider has kept of the web: nobody else has that.
  if (webSearchTypes.test(type)) return tool.external_web_access === false ? null : webSearch(tool, at);
  if (webFetchTypes.test(type)) return webFetchTool(tool, at, { addressSources, cited: 'unless refused' });
  if (type === 'file_search') return fileSearch(tool, at);
  // A connector is a service that OpenAI alone reaches.
  if (type === 'mcp') return tool.connector_id == null ? mcpServer(tool, at) : null;
  return null;
}

function webSearch(tool: JsonObject, at: At): WebSearchTool | Failure {
  const filters = objectIn(tool.filters);
  return webSearchTool(at, {
    detail: tool.search_context_size,
    allowed: filters.allowed_domains,
    blocked: filters.blocked_domains,
    location: tool.user_location,
    callsMax: undefined,
  });
}

/** Members of a search of the web, wherever a format has them. */
export function webSearchTool(
  { path, field }: At,
  settings: Record<'detail' | 'allowed' | 'blocked' | 'location' | 'callsMax', JsonValue | undefined>,
): WebSearchTool | Failure {
  const { detail } = settings;
  if (detail != null && detail !== 'low' && detail !== 'medium' && detail !== 'high') {
    return invalidField(`${path}.search_context_size`, "must be 'low', 'medium' or 'high'");
  }
  const country = isObject(settings.location) ? settings.location.country : null;
  return allRead<WebSearchTool>({
    kind: 'web_search',
    field,
    callsMax: count(settings.callsMax, `${path}.max_uses`),
    detail: detail ?? 'medium',
    allowedDomains: texts(settings.allowed, `${path}.allowed_domains`, domainsMax),
    blockedDomains: texts(settings.blocked, `${path}.blocked_domains`, domainsMax),
    country: typeof country === 'string' && /^[a-z]{2}$/i.test(country) ? country : null,
  });
}

/** Reading a page of the web, in Anthropic's words. */
export function webFetchTool(
  tool: JsonObject,
  { path, field }: At,
  { addressSources, cited }: { addressSources: () => AddressSources; cited: 'unless refused' | 'if asked' },
): WebFetchTool | Failure {
  const read = allRead<
    Pick<WebFetchTool, 'allowedDomains' | 'blockedDomains' | 'callsMax' | 'tokensMax'> & {
      sources: ReadonlySet<AddressSource>;
    }
  >({
    allowedDomains: texts(tool.allowed_domains, `${path}.allowed_domains`, domainsMax),
    blockedDomains: texts(tool.blocked_domains, `${path}.blocked_domains`, domainsMax),
    sources: urlSources(tool.url_sources, `${path}.url_sources`),
    callsMax: count(tool.max_uses, `${path}.max_uses`),
    tokensMax: count(tool.max_content_tokens, `${path}.max_content_tokens`),
  });
  if (isFailure(read)) return read;
  const { sources, ...settings } = read;
  if (settings.allowedDomains.length > 0 && settings.blockedDomains.length > 0) {
    return invalidField(`${path}.blocked_domains`, "and 'allowed_domains' exclude each other: send one of them");
  }
  const known = new Set<string>();
  for (const [source, value] of addressSources()) if (sources.has(source)) addAddresses(value, known);
  const { enabled } = objectIn(tool.citations);
  return {
    kind: 'web_fetch',
    field,
    ...settings,
    cited: typeof enabled === 'boolean' ? enabled : cited === 'unless refused',
    cache: tool.use_cache === false ? 'fresh' : 'used',
    known: [...known],
    followsFound: sources.has('server'),
  };
}

const urlSourceNames = { user_input: 'user', client_tool_results: 'client', server_tool_results: 'server' } as const;

/** Speakers whose addresses a model may fetch: all of them if nothing is set. */
function urlSources(setting: JsonValue | undefined, path: string): ReadonlySet<AddressSource> | Failure {
  const all = new Set<AddressSource>(Object.values(urlSourceNames));
  if (setting == null) return all;
  if (!isObject(setting)) return invalidField(path, 'must be an object');
  for (const [name, source] of Object.entries(urlSourceNames)) {
    const sourceSetting = setting[name];
    if (sourceSetting == null || (isObject(sourceSetting) && sourceSetting.type === 'all')) continue;
    if (!isObject(sourceSetting) || sourceSetting.type !== 'none')
      return invalidField(`${path}.${name}`, "must be of the type 'all' or 'none'");
    all.delete(source);
  }
  return all;
}

/** Null: its stores are a provider's. */
function fileSearch(tool: JsonObject, { path, field }: At): FileSearchTool | Failure | null {
  const collections = texts(tool.vector_store_ids, `${path}.vector_store_ids`, collectionsMax);
  if (isFailure(collections)) return collections;
  if (collections.length === 0)
    return invalidField(`${path}.vector_store_ids`, 'must name at least one vector store or collection');
  // Stores of OpenAI itself: here they have ids of another form, and collections the names of callers.
  if (collections.some((id) => id.startsWith('vs_') && !isSortedId('vs_', id))) return null;
  const most = tool.max_num_results;
  if (most != null && !isWhole(most, 1, 50)) {
    return invalidField(`${path}.max_num_results`, 'must be a whole number from 1 to 50');
  }
  const { filters, ranking_options: ranking } = tool;
  if (filters != null && !isObject(filters)) return invalidField(`${path}.filters`, 'must be an object');
  const least = isObject(ranking) ? ranking.score_threshold : null;
  return {
    kind: 'file_search',
    field,
    callsMax: null,
    collections,
    resultsMax: (most as number | null | undefined) ?? 10,
    filters: isObject(filters) ? filters : null,
    scoreMin: typeof least === 'number' && least > 0 ? least : null,
  };
}

function mcpServer(tool: JsonObject, { path, field }: At): McpServerTool | Failure {
  const { server_label: label, server_url: url, authorization } = tool;
  const bounds = allRead<Pick<McpServerTool, 'allowed' | 'approval'>>({
    allowed: toolFilter(tool.allowed_tools, `${path}.allowed_tools`),
    approval: approvalOf(tool.require_approval, `${path}.require_approval`),
  });
  if (isFailure(bounds)) return bounds;
  const headers = isObject(tool.headers) ? Object.entries(tool.headers) : [];
  return mcpServerTool(
    { path, field },
    {
      label,
      url,
      description: tool.server_description,
      headers: [
        ...(typeof authorization === 'string' ? [['authorization', `Bearer ${authorization}`] as const] : []),
        ...headers.map(([name, value]) => [name, jsonText(value)] as const),
      ],
      ...bounds,
    },
  );
}

/** The same for an MCP server. */
export function mcpServerTool(
  { path, field }: At,
  settings: Record<'label' | 'url' | 'description', JsonValue | undefined> & {
    headers: readonly (readonly [string, string])[];
    allowed: McpServerTool['allowed'];
    approval: McpServerTool['approval'];
  },
): McpServerTool | Failure {
  const { label, url } = settings;
  if (typeof label !== 'string' || !/^[A-Za-z][\w-]{0,63}$/.test(label)) {
    return invalidField(`${path}.server_label`, 'must be a letter and up to 63 letters, digits, _ or -');
  }
  if (url != null && (typeof url !== 'string' || !/^https?:$/.test(URL.parse(url)?.protocol ?? ''))) {
    return invalidField(`${path}.server_url`, 'must be an http: or https: URL');
  }
  if (!settings.headers.every(([name, value]) => headerName.test(name) && headerValue.test(value))) {
    return invalidField(`${path}.headers`, 'and the authorization must be names and values that HTTP takes');
  }
  return {
    kind: 'mcp',
    field,
    callsMax: null,
    label,
    url: (url as string | null | undefined) ?? null,
    description: typeof settings.description === 'string' ? settings.description : '',
    headers: Object.fromEntries(settings.headers.map(([name, value]) => [name.toLowerCase(), value])),
    allowed: settings.allowed,
    approval: settings.approval,
    isListed: false,
  };
}

/** Reads a list of names, or OpenAI's filter; null: none is given. */
export function toolFilter(value: JsonValue | undefined, path: string): McpToolFilter | Failure | null {
  if (value == null) return null;
  const { tool_names: names, read_only: readOnly } = isObject(value) ? value : { tool_names: value };
  if (readOnly != null && typeof readOnly !== 'boolean')
    return invalidField(`${path}.read_only`, 'must be true or false');
  const namesPath = isObject(value) ? `${path}.tool_names` : path;
  return allRead<McpToolFilter>({
    names: names == null ? null : texts(names, namesPath, mcpToolsMax),
    except: [],
    readOnly: readOnly ?? null,
  });
}

/** OpenAI asks for every call, where nothing else is said. */
function approvalOf(setting: JsonValue | undefined, path: string): McpServerTool['approval'] | Failure {
  if (setting == null || setting === 'always') return 'always';
  if (setting === 'never') return 'never';
  if (!isObject(setting)) return invalidField(path, "must be 'always', 'never' or an object with tool names");
  const { never } = setting;
  const filter = isObject(never) ? toolFilter(never, `${path}.never`) : null;
  if (isFailure(filter)) return filter;
  // A filter without a condition frees no tool.
  return filter === null || (filter.names === null && filter.readOnly === null) ? 'always' : { never: filter };
}

/** A bound on calls; null: there is none. */
export function count(value: JsonValue | undefined, path: string): number | Failure | null {
  if (value == null) return null;
  if (Number.isInteger(value) && (value as number) >= 1) return value as number;
  return invalidField(path, 'must be a whole number of at least 1');
}

function texts(value: JsonValue | undefined, path: string, most: number): string[] | Failure {
  if (value == null) return [];
  const fits = Array.isArray(value) && value.length <= most && value.every((one) => typeof one === 'string' && one);
  if (fits) return value as string[];
  return invalidField(path, `must be a list of at most ${most} strings`);
}
