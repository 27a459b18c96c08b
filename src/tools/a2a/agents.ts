import type { Principal } from '../../books/auth/principal.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, refuse } from '../../kernel/failure.ts';
import { hasText, isObject, type JsonObject, type JsonValue, listIn, objectIn } from '../../kernel/json.ts';
import { didYouMean } from '../../kernel/nearest.ts';
import type { Signer } from '../../kernel/sign.ts';
import { namesPrivateHost } from '../../net/fetch-guard.ts';
import type { Transport } from '../../upstream/transport/upstream-call.ts';
import { type FollowedServices, followServices } from '../mcp/followed.ts';
import type { McpFault } from '../mcp/mcp-fault.ts';
import type { Standing } from '../mcp/service-health.ts';
import { Agent } from './agent.ts';
import type { AgentInterface } from './agent-card.ts';
import { AgentError } from './agent-http.ts';
import { type BoundIds, boundIds } from './bound-ids.ts';
import { type AgentMethod, agentMethods, isStreamed, rpcCode } from './methods.ts';

export interface AgentsParts {
  /** In force; asked at every use. */
  config(): Pick<Config, 'agents'>;
  transport: Transport;
  clock: Clock;
  /** Signs the ids of tasks. */
  signer: Signer;
  /** Whether plan and key allow it. */
  mayCall(principal: Principal, agent: string): boolean;
  /** Why data rules keep the caller's messages from an agent; null: they do not. */
  barred(principal: Principal, agent: string): Failure | null;
  onTurn(agent: string, standing: Standing): void;
}

/** A message whose fields were found right, with the agent's ids. */
export interface PreparedMessage {
  agent: Agent;
  method: AgentMethod & { name: string };
  to: AgentInterface;
  params: JsonObject;
  ids: BoundIds;
}

/** The agents of the configuration, for callers. */
export interface Agents extends Pick<FollowedServices<Agent>, 'all' | 'get' | 'close'> {
  /** Agents that the caller may call, each looked at once. */
  of(principal: Principal): Promise<readonly Agent[]>;
  /** One of them. A FailureError: there is none of this name for the caller, or a data rule keeps its messages from it. */
  find(principal: Principal, name: string): Promise<Agent>;
  /** Checks a message of JSON-RPC. A FailureError for what is wrong, or may not be sent. */
  prepare(agent: Agent, principal: Principal, rpc: JsonObject): PreparedMessage;
}

/** How long a caller waits for an agent that nobody has looked at yet. */
const firstLookMaxMs = 10_000;

export function createAgents(parts: AgentsParts): Agents {
  const { transport, clock, signer, mayCall, barred } = parts;
  const agents = followServices(
    () => parts.config().agents,
    (name, config) => new Agent({ name, config, transport, clock, onTurn: (standing) => parts.onTurn(name, standing) }),
  );
  const allowed = (principal: Principal) =>
    agents.all().filter(({ name }) => mayCall(principal, name) && barred(principal, name) === null);
  return {
    all: agents.all,
    get: agents.get,
    async of(principal) {
      await agents.known(firstLookMaxMs, null);
      return allowed(principal);
    },
    async find(principal, name) {
      const agent = agents.get(name);
      if (agent === undefined || !mayCall(principal, name)) {
        const shown = name.slice(0, 64);
        const names = allowed(principal).map((one) => one.name);
        const message = `There is no agent '${shown}' that this key may call${didYouMean(shown, names)}. GET /a2a lists them.`;
        return refuse({ kind: 'not-found', message });
      }
      const failure = barred(principal, name);
      if (failure !== null) refuse(failure);
      await agents.known(firstLookMaxMs, name);
      return agent;
    },
    prepare(agent, principal, rpc) {
      const ids = boundIds(signer, principal.tenant, agent.name);
      const method = methodOf(rpc);
      const params = paramsOf(rpc, method, ids);
      const file = privateFileIn(params);
      if (file !== null)
        refuseWith(
          rpcCode.invalidParams,
          `'params.${file}' names an address inside a network. Send the bytes of the file.`,
        );
      const resting = agent.resting();
      if (resting !== null) refuse(failureOf(agent.name, resting));
      const to = interfaceOf(agent, method);
      return { agent, method, to, params, ids };
    },
    async close() {
      await agents.close();
      transport.destroy();
    },
  };
}

/** Path of a part whose file's address is not public: the agent would fetch it with its reach. Null: there is none. */
function privateFileIn({ message }: JsonObject): string | null {
  for (const [at, part] of listIn(objectIn(message).parts).entries()) {
    if (!isObject(part)) continue;
    const file = objectIn(part.file);
    for (const address of [part.url, part.uri, file.url, file.uri]) {
      const url = typeof address === 'string' ? URL.parse(address) : null;
      if (url !== null && (url.protocol === 'file:' || namesPrivateHost(url))) return `message.parts[${at}]`;
    }
  }
  return null;
}

function methodOf({ method: name }: JsonObject): PreparedMessage['method'] {
  const method = typeof name === 'string' ? agentMethods.get(name) : undefined;
  if (method === undefined) {
    const shown = typeof name === 'string' ? ` '${name.slice(0, 100)}'` : '';
    return refuseWith(rpcCode.methodNotFound, `The A2A method${shown} is not passed on.`);
  }
  if (method.work === 'push') {
    const message =
      'Push notifications are not passed on: the agent would call addresses of callers. Subscribe to the task, or ask for it.';
    return refuseWith(rpcCode.noPushNotifications, message);
  }
  return { ...method, name: name as string };
}

function interfaceOf(agent: Agent, { version, work }: AgentMethod): AgentInterface {
  const { name, card } = agent;
  if (card === null) return refuse(failureOf(name, agent.unread()));
  const to = card.interfaces[version];
  if (to === undefined) {
    const offered = Object.keys(card.interfaces).join(' and ');
    const message = `The agent '${name}' speaks A2A ${offered}, and this is a method of ${version}.`;
    return refuseWith(rpcCode.versionNotSupported, message);
  }
  if (isStreamed(work) && !card.streams) {
    refuseWith(rpcCode.unsupportedOperation, `The agent '${name}' does not stream, as its card says.`);
  }
  return to;
}

/** Members that are passed on. Others are refused: an agent might read an id under another name. */
const known = {
  send: ['message', 'configuration', 'metadata', 'tenant'],
  task: ['id', 'historyLength', 'metadata', 'tenant'],
  list: [
    'contextId',
    'status',
    'pageSize',
    'pageToken',
    'historyLength',
    'statusTimestampAfter',
    'includeArtifacts',
    'tenant',
  ],
  message: ['kind', 'messageId', 'contextId', 'taskId', 'role', 'parts', 'metadata', 'extensions', 'referenceTaskIds'],
  configuration: [
    'acceptedOutputModes',
    'historyLength',
    'blocking',
    'returnImmediately',
    'pushNotificationConfig',
    'taskPushNotificationConfig',
  ],
} as const;

/** The parameters with the agent's ids, without `tenant`, which is the agent's own word. */
function paramsOf(rpc: JsonObject, { work }: AgentMethod, ids: BoundIds): JsonObject {
  if (work === 'card') return {};
  const { params } = rpc;
  if (!isObject(params)) return refuseWith(rpcCode.invalidParams, "'params' must be an object.");
  const { tenant: _, ...sent } = params;
  if (work === 'send' || work === 'stream') {
    onlyKnown(params, known.send, 'params');
    return sentMessage(sent, ids);
  }
  if (work === 'list') {
    onlyKnown(params, known.list, 'params');
    if (!hasText(sent.contextId)) {
      const message = "Give 'params.contextId': the agent knows one client only, so tasks are listed by their context.";
      refuseWith(rpcCode.unsupportedOperation, message);
    }
    return { ...sent, contextId: ids.agentContext(sent.contextId as string) };
  }
  onlyKnown(params, known.task, 'params');
  return { ...sent, id: taskOf(sent.id, 'params.id', ids) };
}

function sentMessage({ message, configuration, ...others }: JsonObject, ids: BoundIds): JsonObject {
  if (!isObject(message)) return refuseWith(rpcCode.invalidParams, "'params.message' must be an object.");
  onlyKnown(message, known.message, 'params.message');
  const { taskId, contextId, referenceTaskIds, ...content } = message;
  if (!Array.isArray(content.parts) || content.parts.length === 0 || !content.parts.every(isObject)) {
    refuseWith(rpcCode.invalidParams, "'params.message.parts' must be a list of at least one part.");
  }
  const sent: JsonObject = { ...content };
  if (isGiven(taskId)) sent.taskId = taskOf(taskId, 'params.message.taskId', ids);
  if (isGiven(contextId)) {
    if (!hasText(contextId)) refuseWith(rpcCode.invalidParams, "'params.message.contextId' must be a string.");
    sent.contextId = ids.agentContext(contextId as string);
  }
  if (isGiven(referenceTaskIds)) {
    if (!Array.isArray(referenceTaskIds)) {
      refuseWith(rpcCode.invalidParams, "'params.message.referenceTaskIds' must be a list of ids.");
    }
    const path = 'params.message.referenceTaskIds';
    sent.referenceTaskIds = (referenceTaskIds as JsonValue[]).map((id) => taskOf(id, path, ids));
  }
  if (!isGiven(configuration)) return { ...others, message: sent };
  if (!isObject(configuration)) return refuseWith(rpcCode.invalidParams, "'params.configuration' must be an object.");
  onlyKnown(configuration, known.configuration, 'params.configuration');
  const { pushNotificationConfig, taskPushNotificationConfig, ...settings } = configuration;
  if (isGiven(pushNotificationConfig) || isGiven(taskPushNotificationConfig)) {
    const why =
      'Push notifications are not passed on: the agent would call addresses of callers. Leave their configuration out.';
    refuseWith(rpcCode.noPushNotifications, why);
  }
  return { ...others, message: sent, configuration: settings };
}

function taskOf(id: JsonValue | undefined, path: string, ids: BoundIds): string {
  if (!hasText(id)) return refuseWith(rpcCode.invalidParams, `'${path}' must be the id of a task.`);
  const found = ids.agentTask(id as string);
  return (
    found ?? refuseWith(rpcCode.taskNotFound, `This key has no task '${(id as string).slice(0, 200)}' at the agent.`)
  );
}

function onlyKnown(object: JsonObject, names: readonly string[], path: string): void {
  const unknown = Object.keys(object).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const message = `'${path}.${unknown.slice(0, 64)}' is not passed on. Leave it out; A2A writes names as ${names[0]}.`;
  refuseWith(rpcCode.invalidParams, message);
}

function isGiven(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null && value !== '';
}

/** Failure for the caller, of an agent's fault or its refusal. */
export function failureOf(agent: string, fault: McpFault | AgentError): Failure {
  if (fault instanceof AgentError) return { kind: 'agent-refused', code: fault.code, message: fault.message };
  const message = `The agent '${agent}' ${fault.message}.`;
  if (fault.retryAfterMs !== null) {
    return { kind: 'no-target', model: agent, retryAfterMs: fault.retryAfterMs, message };
  }
  return { kind: 'agent-failed', agent, message };
}

function refuseWith(code: number, message: string): never {
  return refuse({ kind: 'agent-refused', code, message });
}
