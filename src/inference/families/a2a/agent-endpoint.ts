import { costMilliOf } from '../../../books/metering/settlement.ts';
import { agentPrefix } from '../../../config/schema/schema-agents.ts';
import { type Failure, failureIn, statusOf } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { AgentCallRecord } from '../../../routing/route.ts';
import { type AgentMessage, extensionsOf } from '../../../tools/a2a/agent.ts';
import { readAgentCard, shownCard } from '../../../tools/a2a/agent-card.ts';
import { AgentError, type AgentReply } from '../../../tools/a2a/agent-http.ts';
import { type Agents, failureOf, type PreparedMessage } from '../../../tools/a2a/agents.ts';
import { boundResult, taskNamed } from '../../../tools/a2a/bound-ids.ts';
import { isStreamed } from '../../../tools/a2a/methods.ts';
import { McpFault } from '../../../tools/mcp/mcp-fault.ts';
import { costHeaders } from '../../spine/answer.ts';
import { newProgress } from '../../spine/held-call.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import {
  type Done,
  leavingOf,
  left,
  type ReadRequest,
  type RunningWork,
  type WorkEndpoint,
  type WorkPlan,
} from '../../spine/work.ts';
import { type AgentOrder, readableMessage } from './message-texts.ts';

interface AgentRequest extends ReadRequest, PreparedMessage {
  /** Id of the caller's message; null: it has none. */
  rpcId: string | number | null;
}

export interface AgentEndpointParts {
  agents: Agents;
  /** Address of the agent here, for its card. */
  addressOf(agent: string): string;
}

/** Messages of A2A for one agent. A message to it costs what its `cost` says; questions about tasks are free. */
export function agentEndpoint({ agents, addressOf }: AgentEndpointParts): WorkEndpoint<AgentOrder, AgentRequest> {
  return {
    id: 'a2a-call',
    readable: (_call, order) => readableMessage(order),
    async read({ principal }, { agent: name, rpc }) {
      try {
        const agent = await agents.find(principal, name);
        const { id } = rpc;
        const rpcId = typeof id === 'string' || typeof id === 'number' ? id : null;
        return { ...agents.prepare(agent, principal, rpc), rpcId, release() {} };
      } catch (error) {
        return failureIn(error);
      }
    },
    plan({ config: { costs } }, _call, { agent: { name, config }, method: { work } }) {
      const isMessage = work === 'send' || work === 'stream';
      const costMilli = costMilliOf(costs, isMessage ? (config.cost ?? 'a2a') : 0);
      return { charge: { endpoint: 'a2a-call', alias: agentPrefix + name, tier: null, costMilli } };
    },
    work(running) {
      return isStreamed(running.request.method.work) ? streamed(running) : whole(running, addressOf);
    },
  };
}

type Running = RunningWork<AgentRequest, WorkPlan>;

function messageOf({ requestId, callerHeaders }: ModelCall, { method, to, params }: AgentRequest): AgentMessage {
  const headers = extensionsOf({ get: (name) => String(callerHeaders[name] ?? '') });
  return { id: requestId, version: method.version, to, method: method.name, params, headers };
}

/** Answer to the caller, of an agent's reply: a message of JSON-RPC, or why there is none. */
function answerTo(
  request: AgentRequest,
  reply: AgentReply | AgentError | McpFault,
  addressOf: (agent: string) => string,
) {
  const { agent, method, params, ids, rpcId } = request;
  if (reply instanceof AgentError || reply instanceof McpFault) {
    return { body: null, failure: failureOf(agent.name, reply), outcome: outcomeOf(reply) };
  }
  const result =
    method.work === 'card' ? cardOf(request, reply, addressOf) : boundResult(ids, method, params, reply.result);
  if (result === null) {
    const fault = new McpFault('broken', 'answered with something that is not a result of this method');
    return { body: null, failure: failureOf(agent.name, fault), outcome: fault.reason };
  }
  return { body: JSON.stringify({ jsonrpc: '2.0', id: rpcId, result }), failure: null, outcome: 'ok' };
}

function cardOf({ agent, method }: AgentRequest, { result }: AgentReply, addressOf: (agent: string) => string) {
  const { name, config, secrets } = agent;
  const card = readAgentCard((result ?? {}) as JsonObject, config);
  if (typeof card === 'string') return null;
  return shownCard(card, { name, config, secrets, address: addressOf(name), version: method.version });
}

function outcomeOf(reply: AgentError | McpFault): string {
  return reply instanceof AgentError ? `error ${reply.code}` : reply.reason;
}

async function whole({ call, request }: Running, addressOf: (agent: string) => string): Promise<Done> {
  const reply = await request.agent.ask(messageOf(call, request), leavingOf(call.client));
  const { outcome, ...answer } = answerTo(request, reply, addressOf);
  const headers = 'extensions' in reply ? reply.extensions : [];
  const bytes = answer.body === null ? 0 : Buffer.byteLength(answer.body);
  const result = 'result' in reply ? reply.result : undefined;
  const agent = recordOf(request, taskNamed(request.params, request.method, result), outcome, bytes);
  return call.client.disconnected ? { body: null, failure: null, agent } : { ...answer, headers, agent };
}

function recordOf(
  { agent, method }: AgentRequest,
  task: string | null,
  outcome: string | null,
  bytes: number,
): AgentCallRecord {
  return { agent: agent.name, method: method.name, task, outcome, bytes };
}

/** The events of an agent, each as it comes. The agent goes on with the task when the caller leaves. */
function streamed({ call, request, held }: Running): Promise<Done> {
  if (held === null) throw new Error('nothing is held for a message that an agent answers');
  const { sink, client, delivery } = call;
  const headers = costHeaders(held.reserved);
  let bytes = 0;
  let task = taskNamed(request.params, request.method, undefined);
  let started = false;
  const { promise, resolve } = Promise.withResolvers<Done>();
  const settle = (failure: Failure | null, outcome: string | null) => {
    const hasLeft = outcome === null;
    const progress = {
      ...newProgress(),
      delivered: started
        ? failure === null && !hasLeft
          ? ('whole' as const)
          : ('partial' as const)
        : ('nothing' as const),
      usage: started ? { inputTokens: 0, outputTokens: 0 } : null,
      status: failure === null ? 200 : statusOf(failure),
      class: failure?.kind ?? 'ok',
    };
    const agent = recordOf(request, task, outcome, bytes);
    resolve({ ...left, settled: { stream: true, progress, client, agent } });
  };
  const fail = (failure: Failure, outcome: string) => {
    sink.end({ failure, headers: started ? headers : held.reserved.headers });
    settle(failure, outcome);
  };
  delivery.expect([...headers, ...(call.stepHeaders?.() ?? [])]);
  const leaving = new AbortController();
  let extensions: readonly string[] = [];
  const running = request.agent.stream(messageOf(call, request), leaving.signal, {
    begun(head) {
      extensions = extensionsOf(head);
    },
    event(reply) {
      const { body, failure, outcome } = answerTo(request, reply, () => '');
      if (failure !== null) {
        running.abort();
        return fail(failure, outcome);
      }
      if (!started) sink.start('events', [...headers, ...extensions]);
      started = true;
      task ??= taskNamed(request.params, request.method, reply instanceof AgentError ? undefined : reply.result);
      bytes += Buffer.byteLength(body);
      if (sink.chunk(`data: ${body}\n\n`) === 'behind') running.pause();
    },
    ended(fault) {
      if (fault !== null) return fail(failureOf(request.agent.name, fault), outcomeOf(fault));
      sink.end(null);
      settle(null, 'ok');
    },
  });
  const leave = () => {
    running.abort();
    settle(null, null);
  };
  client.onDrain(() => running.resume());
  client.onDisconnect(leave);
  if (client.disconnected) leave();
  return promise;
}
