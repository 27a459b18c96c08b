import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { failureIn, statusOf } from '../../kernel/failure.ts';
import { factsOf } from '../../kernel/failure-facts.ts';
import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { inputFieldsOf } from './input-rounds.ts';
import type { McpMessage, McpOffer } from './mcp-message.ts';
import { type ApiCall, mcpTools } from './mcp-tools.ts';
import { prefixed } from './offered.ts';
import { withPlainUris } from './placed-uris.ts';

/** The first description of the offer that a client gets. */
export async function describedOffer(offer: McpOffer) {
  return { ...capabilitiesOf(offer), instructions: await instructionsOf(offer) };
}

export function capabilitiesOf({ lists }: McpOffer) {
  // Our own tools log nothing.
  const more = lists === null ? {} : { prompts: {}, resources: {}, completions: {}, logging: {} };
  return { capabilities: { tools: {}, ...more } };
}

const ours =
  'Web search, reading of pages and sites, a vector store, and the list of models, of one Culvert gateway. Calls count against the quota of the key.';
/** Characters of one server's instructions where it is alone. Assistants keep all of it in each conversation. */
const aloneCharsMax = 16_000;
/** The same among those of others, and all of them together. */
const besideCharsMax = 2_000;
const allCharsMax = 16_000;

async function instructionsOf({ only, lists, instructions }: McpOffer): Promise<string> {
  const given = lists === null ? [] : await instructions();
  if (only !== null) {
    const [alone] = given;
    if (alone === undefined) return `The MCP server '${only}', through a Culvert gateway.`;
    return shortened(alone.text, aloneCharsMax);
  }
  let all = ours;
  for (const { server, text } of given) {
    const heading = `The MCP server '${server}', whose tools begin with '${prefixed(server, '')}':`;
    const more = `\n\n${heading}\n${shortened(text, besideCharsMax)}`;
    if (all.length + more.length <= allCharsMax) all += more;
  }
  return all;
}

function shortened(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 1).toWellFormed()}…`;
}

/** An error of the protocol. */
export class RpcFault extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const invalidParams = -32_602;
const resourceNotFound = -32_002;
const internalError = -32_603;

/** A method by its name: from the parameters of a message to the members of its result. */
export type McpMethods = Readonly<Record<string, (params: JsonObject) => Promise<McpResult>>>;

export function methodsFor(message: Pick<McpMessage, 'offer' | 'call' | 'signal'>): McpMethods {
  const { only, complete } = message.offer;
  const lists = withFaults(message.offer.lists);
  const tools = { 'tools/list': listTools, 'tools/call': callTool };
  if (lists === null) return tools;
  return {
    ...tools,
    'prompts/list': async () => listed({ prompts: (await lists()).prompts }),
    'prompts/get': async ({ name, arguments: args = {}, ...rest }) => {
      if (typeof name !== 'string') throw new RpcFault(invalidParams, "'params.name' must be the name of a prompt.");
      return unplaced(whole(await ask({ prompt: full(name), arguments: args, ...inputFieldsOf(rest) })));
    },
    'resources/list': async () => listed({ resources: (await lists()).resources }),
    'resources/templates/list': async () => listed({ resourceTemplates: (await lists()).templates }),
    'resources/read': async ({ uri, ...rest }) => {
      if (typeof uri !== 'string') throw new RpcFault(invalidParams, "'params.uri' must be the address of a resource.");
      return unplaced(whole(await ask({ resource: only === null ? uri : `${only}+${uri}`, ...inputFieldsOf(rest) })));
    },
    'completion/complete': (params) => complete(params).catch(throwAsFault),
  };

  function full(name: string): string {
    return only === null ? name : `${only}__${name}`;
  }

  /** A result with the addresses of the one server that is offered. */
  function unplaced(result: JsonObject): JsonObject {
    return only === null ? result : withPlainUris(result, only);
  }

  async function listTools(): Promise<JsonObject> {
    const others = lists === null ? [] : (await lists()).tools;
    return listed({ tools: only === null ? [...gatewayTools, ...others] : others });
  }

  async function callTool({ name, arguments: args = {}, ...rest }: JsonObject): Promise<McpResult> {
    if (typeof name !== 'string') throw new RpcFault(invalidParams, "'params.name' must be the name of a tool.");
    if (!isObject(args)) throw new RpcFault(invalidParams, "'params.arguments' must be an object.");
    const work = only === null ? gatewayToolWork(name, args) : null;
    if (typeof work === 'string') return failedResult(work);
    if (work === null && lists === null) return failedResult(unknownTool(name));
    const { call, resultOf } = work ?? ofUpstream({ tool: full(name), arguments: args, ...inputFieldsOf(rest) });
    const answer = await message.call(call, message.signal);
    if (answer === null) return failedResult('The caller left.');
    const { status, body } = answer;
    if (!isObject(body)) return failedResult(`The answer could not be read (${status}).`);
    if (status < 400) return unplaced(resultOf(body) as JsonObject);
    const failed = failedResult(messageIn(body, status));
    // Clients check structured content against the schema that a server gave its tool, also in a failed result.
    return work === null ? failed : { ...failed, structuredContent: body };
  }

  function ask(body: JsonObject): Promise<{ status: number; body: JsonValue } | null> {
    return message.call(ofUpstream(body).call, message.signal);
  }
}

/** The same lists. A server that has never said what it offers is a fault of the protocol. */
function withFaults(lists: McpOffer['lists']): McpOffer['lists'] {
  if (lists === null) return null;
  return () =>
    lists().catch((error: unknown) => {
      throw new RpcFault(internalError, factsOf(failureIn(error), 0).message);
    });
}

function throwAsFault(error: unknown): never {
  const failure = failureIn(error);
  throw new RpcFault(statusOf(failure) < 500 ? invalidParams : internalError, factsOf(failure, 0).message);
}

/** The call of our API that asks another server, whose result is the answer as it is. */
function ofUpstream(body: JsonObject) {
  const call: ApiCall = { method: 'POST', path: '/v1/mcp/call', params: {}, search: '', body };
  return { call /** The result of an answer that is no error. */, resultOf: (result: JsonObject): McpResult => result };
}

/** The result of a call, or an error of the protocol. */
function whole(answer: { status: number; body: JsonValue } | null): JsonObject {
  if (answer === null) throw new RpcFault(internalError, 'The caller left.');
  const { status, body } = answer;
  if (!isObject(body)) throw new RpcFault(internalError, `The answer could not be read (${status}).`);
  if (status < 400) return body;
  const code = status === 404 ? resourceNotFound : status === 400 ? invalidParams : internalError;
  throw new RpcFault(code, messageIn(body, status));
}

function listed(lists: object): JsonObject {
  return lists as JsonObject;
}

function unknownTool(name: string): string {
  return `There is no tool '${name.slice(0, 100)}'. Tools: ${gatewayTools.map((one) => one.name).join(', ')}.`;
}

/** Our own tools, as an assistant sees them. */
const gatewayTools: readonly Tool[] = mcpTools.map(({ name, title, description, input, annotations }) => ({
  name,
  title,
  description,
  inputSchema: {
    ...z.toJSONSchema(input, { override: withoutSafeBounds }),
    type: 'object' as const,
  } as Tool['inputSchema'],
  annotations: { title, ...annotations },
}));

/** Zod writes the bounds of its whole numbers down, which say nothing to an assistant and overflow some clients' types. */
function withoutSafeBounds({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

/** Members of a method's result: ours, or another server's as they are. */
type McpResult = CallToolResult | JsonObject;

/** A call of our API, and its result for the assistant. */
type ToolWork = ReturnType<typeof ofUpstream>;

/** A string says what is wrong with the arguments. Null: we have no such tool. */
function gatewayToolWork(name: string, args: JsonObject): ToolWork | string | null {
  const tool = mcpTools.find((one) => one.name === name);
  if (tool === undefined) return null;
  const call = tool.callOf(args);
  if (typeof call === 'string') return call;
  return {
    call,
    resultOf(body) {
      const picture = tool.pictureOf?.(body) ?? null;
      const rest = picture?.rest ?? body;
      return {
        content: [
          { type: 'text', text: tool.textOf(rest) },
          ...(picture === null ? [] : [{ type: 'image' as const, data: picture.png, mimeType: 'image/png' }]),
        ],
        structuredContent: rest,
      };
    },
  };
}

/** A failed call is for the assistant to read: a result that is an error, not an error of the protocol. */
function failedResult(message: string): CallToolResult {
  return { content: [{ type: 'text', text: message }], isError: true };
}

/** OpenAI's `error.message`, and Qdrant's `status.error`. */
function messageIn({ error, status: inEnvelope }: JsonObject, status: number): string {
  const message = isObject(error) ? error.message : isObject(inEnvelope) ? inEnvelope.error : null;
  return typeof message === 'string' ? message : `The call failed (${status}).`;
}
