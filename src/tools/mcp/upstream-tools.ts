import type { Prompt, Resource, ResourceTemplate, Tool } from '@modelcontextprotocol/sdk/types.js';
import type { Principal } from '../../books/auth/principal.ts';
import { type Failure, forbidden, invalid, refuse } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { didYouMean } from '../../kernel/nearest.ts';
import type { Signer } from '../../kernel/sign.ts';
import type { CalledMcp } from '../../routing/route.ts';
import type { ToolFields } from '../tool-fields.ts';
import type { CallNews } from './call-news.ts';
import { completionRequestOf } from './completion-request.ts';
import { boundStates, type CallerInput, callerInputOf, isQuestion } from './input-rounds.ts';
import { McpFault, type McpFaultReason } from './mcp-fault.ts';
import { isOffered, prefixed, prefixedUri, withoutPrefix, withoutUriPrefix } from './offered.ts';
import { paramHeaders } from './param-headers.ts';
import { withPlacedView } from './placed-uris.ts';
import type { CallBounds, McpSession } from './session.ts';
import type { UpstreamServer } from './upstream-server.ts';
import type { UpstreamServers } from './upstream-servers.ts';

/** Tools of the MCP servers elsewhere that a caller may use. */
export interface UpstreamTools {
  /** No server is configured. */
  readonly none: boolean;
  /** Whether there is such a server, and the caller may use anything of it. */
  has(principal: Principal, server: string): boolean;
  /** Why data rules keep the caller's calls from a server that is there; null: they do not, or there is none. */
  barred(principal: Principal, server: string): Failure | null;
  /**
   * Lists of all servers, with prefixed names; of `only` one, with its own names. Servers that are down keep their
   * lists. A FailureError: `only` is down, and has never listed anything.
   */
  lists(principal: Principal, only: string | null): Promise<UpstreamLists>;
  /** Words of these servers about themselves to assistants, where there are any. */
  instructions(principal: Principal, only: string | null): Promise<readonly ServerInstructions[]>;
  /**
   * Values for an argument, as MCP's `completion/complete` asks for them, with names as in `lists`. A wrong field, what the
   * caller may not use, and a server that fails throw a FailureError.
   */
  complete(params: JsonObject, principal: Principal, only: string | null, signal: AbortSignal): Promise<JsonObject>;
  /** Checks a request: a wrong field, or what the caller may not use, throws a FailureError. */
  prepare(fields: ToolFields, principal: Principal): Promise<UpstreamCall>;
}

export interface ServerInstructions {
  server: string;
  text: string;
}

export interface UpstreamLists {
  tools: Tool[];
  prompts: Prompt[];
  resources: Resource[];
  templates: ResourceTemplate[];
}

/** A request whose fields were found right. */
export interface UpstreamCall {
  /** For the ledger: the prefixed name of the tool or prompt, the name of the server for a resource. */
  about: string;
  called: CalledMcp;
  run(signal: AbortSignal, news?: CallNews): Promise<McpEnd>;
}

/** The server's result, as MCP has it, or why there is none. */
export type McpEnd = { kind: 'result'; result: object } | { kind: 'failed'; failure: Failure; reason: McpFaultReason };

/** For the ledger: how a call went. */
export function outcomeOf(end: McpEnd): string {
  if (end.kind === 'failed') return end.reason;
  if (isQuestion(end.result)) return 'input-required';
  return (end.result as { isError?: unknown }).isError === true ? 'tool-error' : 'ok';
}

export interface UpstreamToolsParts {
  servers: UpstreamServers;
  signer: Signer;
  /** Whether plan and key allow it. `name`: the prefixed one of a tool or prompt; absent: anything of the server. */
  mayUse(principal: Principal, server: string, name?: string): boolean;
  /** Why data rules keep the caller's calls from a server; null: they do not. */
  barred(principal: Principal, server: string): Failure | null;
}

/** How long a request for one server waits where nobody has looked at it yet. */
const firstLookMaxMs = 10_000;
/** The same of lists of all servers. Codex waits ten seconds for its first two requests together. */
const allLookMaxMs = 3_000;
const nameChars = { min: 1, max: 256 };
const uriChars = { min: 1, max: 8_192 };

export function createUpstreamTools(parts: UpstreamToolsParts): UpstreamTools {
  const { servers, mayUse, barred } = parts;

  return {
    get none() {
      return servers.all().length === 0;
    },
    has: (principal, name) => {
      const server = servers.get(name);
      return server !== undefined && (mayUse(principal, name) || used(mayUse, principal, server).tools.length > 0);
    },
    barred: (principal, name) => (servers.get(name) === undefined ? null : barred(principal, name)),
    async lists(principal, only) {
      await servers.known(only === null ? allLookMaxMs : firstLookMaxMs, only);
      if (only !== null && mayUse(principal, only)) refuseUnlisted(servers.get(only));
      const lists: UpstreamLists = { tools: [], prompts: [], resources: [], templates: [] };
      for (const server of servers.all().filter(({ name }) => only === null || name === only)) {
        const { tools, prompts, resources, templates } = used(mayUse, principal, server);
        const name = only === null ? named(server.name) : same;
        const uri = only === null ? (uri: string) => prefixedUri(server.name, uri) : same;
        lists.tools.push(...tools.map(name));
        lists.prompts.push(...prompts.map(name));
        lists.resources.push(...resources.map((one) => ({ ...name(one), uri: uri(one.uri) })));
        lists.templates.push(...templates.map((one) => ({ ...name(one), uriTemplate: uri(one.uriTemplate) })));
      }
      return lists;
    },
    instructions: (principal, only) => instructionsOf(parts, principal, only),
    async complete(params, principal, only, signal) {
      const { kind, of, rest } = completionRequestOf(params);
      const isPrompt = kind === 'prompt';
      const { server, name } = isPrompt
        ? await find(parts, principal, kind, only === null ? of : prefixed(only, of))
        : placeOf(parts, principal, only === null ? of : `${only}+${of}`);
      const ref = isPrompt ? { type: 'ref/prompt', name } : { type: 'ref/resource', uri: name };
      const done = await server.ask(
        principal.tenant,
        (session, bounds) => session.complete({ ref, ...rest }, bounds),
        signal,
      );
      return done instanceof McpFault ? refuse(failureOf(server.name, done)) : done;
    },
    async prepare(fields, principal) {
      const tool = fields.text('tool', nameChars);
      const prompt = fields.text('prompt', nameChars);
      const resource = fields.text('resource', uriChars);
      const args = fields.value('arguments') ?? {};
      const input = callerInputOf(fields);
      const oneOfThem = invalid('tool', "Give one of 'tool', 'prompt' and 'resource'.");
      if ([tool, prompt, resource].filter((one) => one !== null).length !== 1) refuse(oneOfThem);
      if (typeof args !== 'object' || args === null || Array.isArray(args))
        return fields.refuse('arguments', 'an object');
      if (tool !== null) {
        const { server, name } = await find(parts, principal, 'tool', tool);
        return toolCallOf(parts, server, principal, { name, about: tool, input }, args);
      }
      if (prompt !== null) {
        const { server, name } = await find(parts, principal, 'prompt', prompt);
        const texts = Object.entries(args).map(([key, value]) =>
          typeof value === 'string' ? ([key, value] as const) : fields.refuse('arguments', 'an object of strings'),
        );
        return callOf(parts, server, principal, { kind: 'prompt', name, about: prompt, input }, (session, bounds) =>
          session.getPrompt(name, Object.fromEntries(texts), bounds),
        );
      }
      return resource === null ? refuse(oneOfThem) : readingOf(parts, principal, resource, input);
    },
  };
}

/** A tool or prompt by its prefixed name. */
async function find(
  { servers, mayUse, barred }: UpstreamToolsParts,
  principal: Principal,
  what: 'tool' | 'prompt',
  text: string,
) {
  const place = withoutPrefix(text);
  const server = place === null ? undefined : servers.get(place.server);
  // A new server that hangs keeps nobody from the others.
  if (place !== null) await servers.known(firstLookMaxMs, place.server);
  const isUnknown = place !== null && server !== undefined && !isListed(server, what, place.name);
  if (isUnknown && mayUse(principal, server.name, text)) await server.lookForNew();
  if (place === null || server === undefined || !isListed(server, what, place.name)) {
    const known = servers.all().flatMap((one) => used(mayUse, principal, one)[`${what}s`].map(named(one.name)));
    const names = known.map(({ name }) => name);
    return refuse({ kind: 'not-found', param: what, message: unknownName(what, text, names) });
  }
  if (!mayUse(principal, server.name, text)) refuse(barred(principal, server.name) ?? notAllowed(what, text));
  return { server, name: place.name };
}

function toolCallOf(
  parts: UpstreamToolsParts,
  server: UpstreamServer,
  principal: Principal,
  called: { name: string; about: string; input: CallerInput | undefined },
  args: JsonObject,
): UpstreamCall {
  const { name } = called;
  const params = paramHeaders(server.offered.tools.find((one) => one.name === name)?.inputSchema ?? {}, args);
  return callOf(parts, server, principal, { kind: 'tool', ...called }, (session, bounds) =>
    session.callTool(name, args, { ...bounds, params }),
  );
}

/** An empty list would look like that of a server without tools. */
function refuseUnlisted(server: UpstreamServer | undefined): void {
  const fault = server?.unlisted ?? null;
  if (server !== undefined && fault !== null) refuse(failureOf(server.name, fault));
}

/** Lists the part of a server that this caller may use. */
function used(mayUse: UpstreamToolsParts['mayUse'], principal: Principal, { name, config, offered }: UpstreamServer) {
  const may = (one: { name: string }) =>
    isOffered(config, one.name) && mayUse(principal, name, prefixed(name, one.name));
  const reads = mayUse(principal, name);
  return {
    tools: offered.tools.filter(may),
    prompts: offered.prompts.filter(may),
    resources: reads ? offered.resources : [],
    templates: reads ? offered.templates : [],
  };
}

async function instructionsOf({ servers, mayUse }: UpstreamToolsParts, principal: Principal, only: string | null) {
  await servers.known(only === null ? allLookMaxMs : firstLookMaxMs, only);
  return servers.all().flatMap((server) => {
    const { name, offered } = server;
    if ((only !== null && name !== only) || offered.instructions === null) return [];
    const { tools, prompts } = used(mayUse, principal, server);
    const isUsed = mayUse(principal, name) || tools.length > 0 || prompts.length > 0;
    return isUsed ? [{ server: name, text: offered.instructions }] : [];
  });
}

/** Prepares the call that reads a resource, by its prefixed address. */
function readingOf(
  parts: UpstreamToolsParts,
  principal: Principal,
  resource: string,
  input: CallerInput | undefined,
): UpstreamCall {
  const { server, name } = placeOf(parts, principal, resource);
  const called = { kind: 'resource', name: null, about: server.name, input } as const;
  return callOf(parts, server, principal, called, (session, bounds) => session.readResource(name, bounds));
}

/** A resource, or a template of some, by its prefixed address: its server, and its address there. */
function placeOf({ servers, mayUse, barred }: UpstreamToolsParts, principal: Principal, resource: string) {
  const place = withoutUriPrefix(resource);
  const server = place === null ? undefined : servers.get(place.server);
  if (place === null || server === undefined) {
    const message = `No MCP server has the resource '${resource.slice(0, 200)}'. Its address begins with the name of its server and '+', or has the name behind 'ui://'.`;
    return refuse({ kind: 'not-found', param: 'resource', message });
  }
  if (!mayUse(principal, server.name)) refuse(barred(principal, server.name) ?? notAllowed('resource', resource));
  return { server, name: place.uri };
}

function callOf(
  { signer }: UpstreamToolsParts,
  server: UpstreamServer,
  { tenant }: Principal,
  {
    about,
    input: given,
    ...called
  }: Pick<UpstreamCall, 'about'> & Pick<CalledMcp, 'kind' | 'name'> & Pick<CallBounds, 'input'>,
  work: (session: McpSession, bounds: CallBounds) => Promise<object | McpFault>,
): UpstreamCall {
  const states = boundStates(signer, tenant, server.name);
  const input = states.taken(given);
  return {
    about,
    called: { ...called, server: server.name, host: null },
    async run(signal, news) {
      const done = await server.ask(tenant, (session, bounds) => work(session, { ...bounds, news, input }), signal);
      if (!(done instanceof McpFault)) return { kind: 'result', result: states.given(done) };
      return { kind: 'failed', failure: failureOf(server.name, done), reason: done.reason };
    },
  };
}

/** While a server has never been heard, it decides itself what it knows. */
function isListed({ config, offered, standing }: UpstreamServer, what: 'tool' | 'prompt', name: string): boolean {
  if (!isOffered(config, name)) return false;
  const list = what === 'tool' ? offered.tools : offered.prompts;
  return list.some((one) => one.name === name) || (standing.at !== 'up' && list.length === 0);
}

function failureOf(server: string, { reason, message, retryAfterMs }: McpFault): Failure {
  if (reason === 'refused' || reason === 'bad-request') {
    return { kind: 'upstream-refused', status: 400, provider: server, message, param: null };
  }
  const text = `The MCP server '${server}' ${message}.`;
  if (retryAfterMs !== null) return { kind: 'no-target', model: server, retryAfterMs, message: text };
  return { kind: 'mcp-failed', server, message: text };
}

function named(server: string) {
  return <T extends { name: string; _meta?: object | undefined }>(one: T): T =>
    withPlacedView({ ...one, name: prefixed(server, one.name) }, server);
}

function same<T>(one: T): T {
  return one;
}

function unknownName(what: 'tool' | 'prompt', text: string, names: readonly string[]): string {
  const shown = text.slice(0, 100);
  return `No MCP server that this key may use has a ${what} '${shown}'${didYouMean(shown, names)}. GET /v1/mcp/tools lists them.`;
}

function notAllowed(what: string, text: string): Failure {
  const message = `The plan or the key does not allow the ${what} '${text.slice(0, 200)}'. An operator can add it to \`mcp\` of the plan or the key.`;
  return forbidden(message);
}
