import { hash } from 'node:crypto';
import { isObject, type JsonObject, type JsonValue, objectIn } from '../../kernel/json.ts';
import { type Signer, withoutSignature, withSignature } from '../../kernel/sign.ts';
import type { AgentMethod } from './methods.ts';

/** Ids of an agent's tasks and contexts, as one tenant knows them. No other tenant can use these. */
export type BoundIds = ReturnType<typeof boundIds>;

const ownerChars = 22;

/**
 * Ids with a signature over the tenant and the agent, so that no store has to know whose task is whose. They stay the
 * same in every answer. A context that a caller names begins with a mark of the tenant for the agent.
 */
export function boundIds(signer: Signer, tenant: string, agent: string) {
  const bind = (kind: string) => (id: string) => JSON.stringify([kind, tenant, agent, id]);
  const give = (kind: string, id: string) => withSignature(signer, id, bind(kind));
  const owner = `${hash('sha256', JSON.stringify([tenant, agent]), 'base64url').slice(0, ownerChars)}.`;
  const given = (kind: string, text: string) => withoutSignature(signer, text, bind(kind)) || null;
  return {
    /** The id for the caller, of a task that the agent has. */
    task: (id: string): string => give('task', id),
    /** The same of a context: one of the agent's, or one that the caller has named. */
    context: (id: string): string => (id.startsWith(owner) ? id.slice(owner.length) : give('context', id)),
    /** The agent's id of a task; null: this tenant has none of that id. */
    agentTask: (id: string): string | null => given('task', id),
    /** The agent's id of a context. An id that no agent has given out is a new name, which only this tenant has. */
    agentContext: (id: string): string => given('context', id) ?? owner + id,
  };
}

/** Members of a result of A2A 1.0, one of which holds what the agent says. */
const payloads = ['task', 'message', 'statusUpdate', 'artifactUpdate'] as const;
const kinds: ReadonlySet<JsonValue | undefined> = new Set(['task', 'message', 'status-update', 'artifact-update']);

/** An agent's result with the ids of the caller; null: A2A has no such result of this method. `params`: as they were sent. */
export function boundResult(
  ids: BoundIds,
  { version, work }: AgentMethod,
  params: JsonObject,
  result: JsonValue | undefined,
): JsonObject | null {
  if (!isObject(result)) return null;
  if (work === 'get' || work === 'cancel') return boundTask(ids, result);
  if (work === 'list') return boundList(ids, result, params.contextId);
  if (version === '0.3') {
    if (!kinds.has(result.kind)) return null;
    return result.kind === 'task' ? boundTask(ids, result) : boundMembers(ids, result);
  }
  const name = payloads.find((one) => isObject(result[one]));
  if (name === undefined) return null;
  const payload = result[name] as JsonObject;
  const bound = name === 'task' ? boundTask(ids, payload) : boundMembers(ids, payload);
  return bound === null ? null : { [name]: bound };
}

/** Ids that an agent chooses may be of any length. */
const taskCharsMax = 128;

/** The agent's id of the task that a message, or what it is answered with, names; null: it names none. */
export function taskNamed(params: JsonObject, { work }: AgentMethod, result: JsonValue | undefined): string | null {
  if (work === 'list' || work === 'card') return null;
  const answer = objectIn(result);
  const { task, message } = answer;
  const found = [
    params.id,
    isObject(params.message) ? params.message.taskId : null,
    isObject(task) ? task.id : null,
    answer.kind === 'task' ? answer.id : answer.taskId,
    ...[message, answer.statusUpdate, answer.artifactUpdate].map((one) => (isObject(one) ? one.taskId : null)),
  ].find((id) => typeof id === 'string' && id !== '');
  return typeof found === 'string' ? found.slice(0, taskCharsMax) : null;
}

/**
 * Tasks of other contexts are left out: an agent may not know the filter. Its `totalSize` would then count the tasks of
 * other keys, also where a page has none of them. So the number is that of the page.
 */
function boundList(ids: BoundIds, result: JsonObject, contextId: JsonValue | undefined): JsonObject | null {
  if (!Array.isArray(result.tasks)) return null;
  const tasks = result.tasks.filter((task) => isObject(task) && task.contextId === contextId);
  const bound = tasks.map((task) => boundTask(ids, task as JsonObject));
  return bound.includes(null) ? null : { ...result, tasks: bound, totalSize: bound.length };
}

function boundTask(ids: BoundIds, task: JsonObject): JsonObject | null {
  return typeof task.id !== 'string' ? null : { ...boundMembers(ids, task), id: ids.task(task.id) };
}

/** Ids of a task, a message or an event, and of the messages within. Parts and metadata stay as they are. */
function boundMembers(ids: BoundIds, value: JsonObject): JsonObject {
  const { taskId, contextId, referenceTaskIds, status, history } = value;
  const bound: JsonObject = { ...value };
  if (typeof taskId === 'string' && taskId !== '') bound.taskId = ids.task(taskId);
  if (typeof contextId === 'string' && contextId !== '') bound.contextId = ids.context(contextId);
  if (Array.isArray(referenceTaskIds)) {
    bound.referenceTaskIds = referenceTaskIds.map((id) => (typeof id === 'string' ? ids.task(id) : id));
  }
  if (isObject(status) && isObject(status.message)) {
    bound.status = { ...status, message: boundMembers(ids, status.message) };
  }
  if (Array.isArray(history)) bound.history = history.map((one) => (isObject(one) ? boundMembers(ids, one) : one));
  return bound;
}
