import { randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  GetPromptRequestSchema,
  isInitializeRequest,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { trustingValidator } from '../src/tools/mcp/trusting-validator.ts';

/** A real MCP server over Streamable HTTP, made with the official SDK. */
export interface TestMcpServer {
  url: string;
  /** Host and port, for `fetch.allow_private`. */
  place: string;
  /** Headers of every request so far. */
  heard(): readonly IncomingHttpHeaders[];
  /** Calls of the tool `wait` that run now. */
  waiting(): number;
  /** Sessions that nobody has ended. */
  sessions(): number;
  /** It forgets its sessions, as after a restart. */
  forget(): void;
  close(): Promise<void>;
}

export interface TestMcpOptions {
  /** Default: a free one. */
  port?: number;
  /** `stateless`: no session, answers in JSON. Default: sessions, and answers as events. */
  form?: 'sessions' | 'stateless';
  /** Answers instead of the server; true: it has. */
  before?(request: IncomingMessage, response: ServerResponse): boolean;
  /** Status for a session that it does not know. MCP has 404, its examples 400. */
  lost?: 400 | 404;
  /** Names of further tools, which answer with their name. */
  tools?: readonly string[];
  /** Its words about itself, in the answer to `initialize`. */
  instructions?: string;
  /** `unknown`: it has resources, does not know the method for their templates, and completes nothing. */
  templates?: 'unknown';
}

const tools = [
  {
    name: 'add',
    title: 'Add',
    description: 'Adds two numbers.',
    inputSchema: {
      type: 'object' as const,
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
    },
    annotations: { readOnlyHint: true },
  },
  {
    name: 'large',
    description: 'Answers with so many characters.',
    inputSchema: { type: 'object' as const, properties: { chars: { type: 'integer' } } },
  },
  { name: 'wait', description: 'Answers never.', inputSchema: { type: 'object' as const } },
  { name: 'fail', description: 'Says that it failed.', inputSchema: { type: 'object' as const } },
  { name: 'throw', description: 'Answers with an error.', inputSchema: { type: 'object' as const } },
];

/** One pixel, in Base64. */
export const tinyPng =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const outputSchema = { type: 'object' as const, properties: { text: { type: 'string' } }, required: ['text'] };

/** Members of tools that tests ask for by name. */
const furtherMembers: Readonly<Record<string, object>> = {
  typed: { outputSchema },
  task: { execution: { taskSupport: 'required' } },
  links: { _meta: { ui: { resourceUri: 'ui://view', visibility: ['model'] }, 'openai/outputTemplate': 'ui://view' } },
};

type Args = Record<string, unknown>;

/** Makes a server with tools, over whichever transport; `waits` counts calls of `wait`. */
export function createTestServer(
  further: readonly string[] = [],
  waits: { running: number } = { running: 0 },
  instructions?: string,
  templates?: TestMcpOptions['templates'],
): Server {
  const completions = templates === 'unknown' ? {} : { completions: {} };
  const capabilities = { tools: {}, prompts: {}, resources: {}, logging: {}, ...completions };
  const server = new Server(
    { name: 'test', version: '1.0.0' },
    { capabilities, jsonSchemaValidator: trustingValidator, ...(instructions !== undefined && { instructions }) },
  );
  const all = [
    ...tools,
    ...further.map((name) => ({ name, inputSchema: { type: 'object' as const }, ...furtherMembers[name] })),
  ];
  // Two pages, as a server with many has them.
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) =>
    params?.cursor === undefined ? { tools: all.slice(0, 2), nextCursor: '2' } : { tools: all.slice(2) },
  );
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: args = {}, _meta } }, extra) => {
    const { signal, sendNotification } = extra;
    const { a, b, chars } = args as Args;
    switch (name) {
      case 'add':
        return {
          content: [{ type: 'text', text: String(Number(a) + Number(b)) }],
          structuredContent: { sum: Number(a) + Number(b) },
        };
      case 'large':
        return { content: [{ type: 'text', text: 'x'.repeat(Number(chars)) }] };
      case 'wait':
        await untilCancelled(signal, waits);
        return { content: [] };
      case 'steps': {
        const { progressToken } = _meta ?? {};
        // In one piece, for a reader that would lose the last of them.
        if (args.joined === true) process.stdout.cork();
        for (let progress = 1; progress <= 3; progress++) {
          for (const level of ['debug', 'warning'] as const) {
            const params = { level, logger: 'steps', data: { step: progress, of: args.name } };
            await sendNotification({ method: 'notifications/message', params });
          }
          if (progressToken === undefined) continue;
          const params = { progressToken, progress, total: 3, message: `step ${progress}` };
          await sendNotification({ method: 'notifications/progress', params });
        }
        if (args.waits === true) await untilCancelled(signal, waits);
        if (args.joined === true) setTimeout(() => process.stdout.uncork(), 100);
        return { content: [{ type: 'text', text: `${args.name}: 3 steps` }] };
      }
      case 'fail':
        return { content: [{ type: 'text', text: 'It did not work.' }], isError: true };
      case 'throw':
        throw new Error('It broke.');
      case 'kind':
        return { kind: 'mcp-failed', content: [{ type: 'text', text: 'It worked.' }] };
      case 'typed':
        return {
          content: [{ type: 'text', text: 'typed' }],
          structuredContent: { text: 'x'.repeat(Number(chars)) },
        };
      case 'links':
        return {
          content: [
            { type: 'resource_link', name: 'note', uri: 'note://7' },
            { type: 'resource', resource: { uri: 'note://8', text: 'Eight.' } },
            { type: 'resource_link', name: 'page', uri: 'https://example.org/' },
          ],
          _meta: { ui: { resourceUri: 'ui://view' }, spent: 7 },
        };
      case 'chart':
        return {
          content: [
            { type: 'text', text: 'Before.' },
            { type: 'image', data: tinyPng, mimeType: 'image/jpeg' },
            { type: 'text', text: 'Between.' },
            { type: 'resource', resource: { uri: 'chart://8', blob: tinyPng, mimeType: 'image/png' } },
            { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
            { type: 'image', data: 'PHN2Zy8+', mimeType: 'image/svg+xml' },
          ],
        };
      case 'process':
        return { content: [{ type: 'text', text: JSON.stringify({ pid: process.pid, env: process.env }) }] };
      case 'die':
        return process.exit(1);
      default:
        return { content: [{ type: 'text', text: name }] };
    }
  });
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: [{ name: 'greet', description: 'Greets.', arguments: [{ name: 'who', required: true }] }],
  }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => ({
    messages: [
      { role: 'user', content: { type: 'text', text: `Greet ${params.arguments?.who}.` } },
      { role: 'user', content: { type: 'resource', resource: { uri: 'note://9', text: 'Nine.' } } },
    ],
  }));
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: [{ name: 'notes', uri: 'file:///notes.txt', mimeType: 'text/plain' }],
  }));
  if (templates !== 'unknown') {
    server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
      resourceTemplates: [{ name: 'note', uriTemplate: 'note://{id}' }],
    }));
    server.setRequestHandler(CompleteRequestSchema, async ({ params: { ref, argument, context } }, { signal }) => {
      // More than MCP allows.
      if (argument.value === 'many') return { completion: { values: Array.from({ length: 120 }, (_, at) => `${at}`) } };
      if (argument.value === 'broken') throw new Error('It broke.');
      if (argument.value === 'wait') await untilCancelled(signal, waits);
      const of = ref.type === 'ref/prompt' ? ref.name : ref.uri;
      const values = [`${of} ${argument.name} ${argument.value}…`, JSON.stringify(context?.arguments ?? null)];
      return { completion: { values, total: 7, hasMore: true } };
    });
  }
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => ({
    contents: [{ uri, mimeType: 'text/plain', text: `Content of ${uri}` }],
  }));
  return server;
}

async function untilCancelled(signal: AbortSignal, waits: { running: number }): Promise<void> {
  waits.running += 1;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  waits.running -= 1;
}

export async function startMcpServer(
  t: { after(done: () => Promise<void>): void },
  {
    form = 'sessions',
    before,
    port: wanted = 0,
    lost = 404,
    tools: further = [],
    instructions,
    templates,
  }: TestMcpOptions = {},
): Promise<TestMcpServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const heard: IncomingHttpHeaders[] = [];
  const waits = { running: 0 };
  const connect = (transport: StreamableHTTPServerTransport) =>
    createTestServer(further, waits, instructions, templates).connect(transport as Transport);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    heard.push(request.headers);
    if (before?.(request, response)) return;
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (known !== undefined) return known.handleRequest(request, response);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body: unknown = chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString());
    if (form === 'stateless') {
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
      await connect(transport);
      return transport.handleRequest(request, response, body);
    }
    if (!isInitializeRequest(body)) return void response.writeHead(lost).end();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (made) => void sessions.set(made, transport),
      onsessionclosed: (ended) => void sessions.delete(ended),
    });
    await connect(transport);
    return transport.handleRequest(request, response, body);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(wanted, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    if (!server.listening) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  t.after(close);
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    place: `127.0.0.1:${port}`,
    heard: () => heard,
    waiting: () => waits.running,
    sessions: () => sessions.size,
    forget: () => sessions.clear(),
    close,
  };
}
