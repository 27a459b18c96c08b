import { openAiChat } from '../../formats/dialects/openai-chat/index.ts';
import type { ServeServices } from '../../inference/spine/answer-cache.ts';
import { serve } from '../../inference/spine/serve.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { type ErrorContext, type Failure, failureIn, invalid, isFailure } from '../../kernel/failure.ts';
import { factsOf } from '../../kernel/failure-facts.ts';
import { type JsonObject, jsonText } from '../../kernel/json.ts';
import type { Agents } from '../../tools/a2a/agents.ts';
import { callerOf, type Exchange, headerOf, type Route } from '../exchange.ts';
import { linkBaseOf } from '../link-base.ts';
import { plainCallOf } from '../model-call.ts';
import { readJsonBody } from '../read-body.ts';
import { parseErrorCode, rpcBody } from '../rpc-body.ts';
import { writeJson } from '../write-json.ts';
import { keyRoute } from './key-route.ts';

export interface A2aParts {
  services: ServeServices;
  /** Loaded by the first who asks for one. */
  agents(): Promise<Agents>;
}

/** Bound of a message. Large files go by their addresses. */
const bodyBytesMax = 1024 * 1024;

const bodySchema = {
  type: 'object',
  required: ['jsonrpc', 'method'],
  properties: {
    jsonrpc: { const: '2.0' },
    id: { type: ['string', 'integer', 'null'] },
    method: { type: 'string', description: 'Of A2A 1.0 or 0.3, such as SendMessage.' },
    params: { type: 'object' },
  },
} satisfies JsonObject;

/** `/a2a/NAME`: one of the configured agents, by A2A's JSON-RPC. Its card names this address. */
export function a2aRoutes(parts: A2aParts): Route[] {
  return [
    keyRoute('GET /a2a', 'free', {
      dialect: rpcErrors,
      summary: 'Agents that the key may call by A2A',
      async handle(exchange) {
        const agents = await (await parts.agents()).of(callerOf(exchange));
        const data = agents.map(({ name, card, standing }) => ({
          name,
          url: addressOf(parts, exchange)(name),
          description: typeof card?.card.description === 'string' ? card.card.description : null,
          status: standing.at,
        }));
        writeJson(exchange, 200, { object: 'list', data });
      },
    }),
    ...['agent-card.json', 'agent.json'].map((file) =>
      keyRoute(`GET /a2a/:agent/.well-known/${file}`, 'free', {
        dialect: rpcErrors,
        summary: 'Card of an agent, with the address and the key of this server',
        handle: (exchange) => answerCard(parts, exchange),
      }),
    ),
    keyRoute('POST /a2a/:agent', 'one', {
      endpoint: 'a2a-call',
      dialect: rpcErrors,
      summary: 'Agent2Agent protocol: a message to an agent, and its tasks',
      body: { schema: () => bodySchema },
      handle: (exchange) => answerMessage(parts, exchange),
    }),
  ];
}

function addressOf({ services }: A2aParts, { request }: Exchange): (agent: string) => string {
  const base = linkBaseOf(request, services.snapshots.current.config.server);
  return (agent) => `${base}/a2a/${agent}`;
}

async function answerCard(parts: A2aParts, exchange: Exchange): Promise<void> {
  const [agents, { failureOf }] = await Promise.all([parts.agents(), import('../../tools/a2a/agents.ts')]);
  try {
    const agent = await agents.find(callerOf(exchange), exchange.params.agent ?? '');
    const header = headerOf(exchange, 'a2a-version');
    const version = header === undefined ? null : header.startsWith('1') ? '1.0' : '0.3';
    const card = agent.cardFor(addressOf(parts, exchange)(agent.name), version);
    if (card === null) return refuse(exchange.client, failureOf(agent.name, agent.unread()), []);
    writeJson(exchange, 200, card);
  } catch (error) {
    refuse(exchange.client, failureIn(error), []);
  }
}

/** Body → checked → held → asked → answered → settled. */
async function answerMessage(parts: A2aParts, exchange: Exchange): Promise<void> {
  const call = plainCallOf(exchange);
  const { sink, admitted } = call;
  const raw = await readJsonBody(exchange, bodyBytesMax);
  if (raw === null) return;
  const message = Buffer.isBuffer(raw) ? messageIn(raw) : raw;
  if (isFailure(message)) return refuse(sink, message, admitted.headers);
  const { rpc } = message;
  const { id } = rpc;
  if (typeof id === 'string' || typeof id === 'number') exchange.rpcId = id;
  // With all that it needs, loaded by the first who speaks it.
  const [agents, { agentEndpoint }] = await Promise.all([
    parts.agents(),
    import('../../inference/families/a2a/agent-endpoint.ts'),
  ]);
  const endpoint = agentEndpoint({ agents, addressOf: addressOf(parts, exchange) });
  await serve(parts.services, endpoint, call, { rpc, agent: exchange.params.agent ?? '' });
}

function messageIn(raw: Buffer): Failure | { rpc: JsonObject } {
  const read = rpcBody(raw);
  if (isFailure(read)) return read;
  const { jsonrpc, id = null } = read.rpc;
  if (jsonrpc !== '2.0') return invalid('jsonrpc', '\'jsonrpc\' must be "2.0".');
  if (id !== null && typeof id !== 'string' && !Number.isInteger(id)) {
    return invalid('id', "'id' must be a string or a whole number.");
  }
  return read;
}

const rpcParseError = -32_700;
const rpcInvalidRequest = -32_600;
const rpcInvalidAgentResponse = -32_006;
const rpcServerError = -32_000;

/** JSON-RPC's errors with the id of the message, and ours whole among the details. */
const rpcErrors: Route['dialect'] = {
  errorBody,
  errorStatus,
  errorFrame: (failure, context) => `data: ${JSON.stringify(errorBody(failure, context))}\n\n`,
};

/** The SDK of Python reads no body of another status, so why a message was refused would be lost. */
function errorStatus({ kind }: Failure): number | null {
  return kind === 'agent-refused' || kind === 'guard-blocked' ? 200 : null;
}

function codeOf(failure: Failure): number {
  if (failure.kind === 'agent-refused') return failure.code;
  if (failure.kind === 'agent-failed') return rpcInvalidAgentResponse;
  if (failure.kind !== 'invalid-request') return rpcServerError;
  return failure.code === parseErrorCode ? rpcParseError : rpcInvalidRequest;
}

function errorBody(failure: Failure, context: ErrorContext): JsonObject {
  const { error } = openAiChat.errorBody(failure, context) as { error?: JsonObject };
  const { message } = factsOf(failure, context.nowMs);
  const details = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: reasonOf(failure), domain: 'culvert' };
  // Its values are texts: what is null has none.
  const given = Object.entries(error ?? {}).filter(([, value]) => value !== null);
  const metadata = Object.fromEntries(given.map(([name, value]) => [name, jsonText(value)]));
  const shown = { code: codeOf(failure), message, data: [{ ...details, metadata }] };
  return { jsonrpc: '2.0', error: shown, id: context.rpcId ?? null };
}

/** Such as `QUOTA_EXCEEDED`. */
function reasonOf({ kind }: Failure): string {
  return kind.toUpperCase().replaceAll('-', '_');
}
