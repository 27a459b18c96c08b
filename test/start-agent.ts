import { randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AgentCard, type Message, Role, type Task, TaskState } from '@a2a-js/sdk';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { listening } from './listening.ts';

/** A real agent, made with the official SDK's server. */
export interface TestAgent {
  url: string;
  /** Headers of every request so far. */
  heard(): readonly IncomingHttpHeaders[];
  /** Messages that it got, the latest last. */
  messages(): readonly Message[];
  /** Lets tasks that wait for it end. */
  goOn(): void;
}

export interface TestAgentOptions {
  /** Versions that it speaks. Default: both. */
  versions?: readonly ('1.0' | '0.3')[];
  /** Members of its card that differ. */
  card?: Partial<AgentCard>;
  /** Members of its extended card that differ. Absent: it has no such card. */
  extended?: Partial<AgentCard>;
  /** Answers instead of the agent; true: it has. */
  before?(request: IncomingMessage, response: ServerResponse): boolean;
}

/**
 * An agent that answers `hello` by a message, `work` by a task that it ends at once, and `wait` by one that goes on until
 * it is told so or cancelled. Its card names a place that only its own machine knows.
 */
export async function startAgent(
  t: { after(done: () => void): void },
  { versions = ['1.0', '0.3'], card = {}, extended, before = () => false }: TestAgentOptions = {},
): Promise<TestAgent> {
  const heard: IncomingHttpHeaders[] = [];
  const worker = new Worker();
  const whole: AgentCard = {
    ...{ name: 'Worker', description: 'Works.', version: '2.1.0', provider: undefined, signatures: [] },
    ...{ securitySchemes: {}, securityRequirements: [] },
    supportedInterfaces: versions.map((protocolVersion) => ({
      ...{ url: 'http://0.0.0.0:9999/rpc', protocolBinding: 'JSONRPC', tenant: '', protocolVersion },
    })),
    capabilities: {
      ...{ streaming: true, pushNotifications: true, extensions: [] },
      extendedAgentCard: extended !== undefined,
    },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [
      {
        ...{ id: 'work', name: 'Work', description: 'Does work.', tags: ['work'], examples: ['work'] },
        ...{ inputModes: [], outputModes: [], securityRequirements: [] },
      },
    ],
    ...card,
  };
  const extendedCard = extended && (async () => ({ ...whole, ...extended }));
  const requestHandler = new DefaultRequestHandler(
    ...([whole, new InMemoryTaskStore(), worker, undefined, undefined, undefined, extendedCard] as const),
  );
  const legacyCompat = { enabled: versions.includes('0.3') };
  const { default: express } = (await import('express' as string)) as { default: () => Express };
  const app = express();
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }));
  app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication, legacyCompat }));
  const server = createServer((request, response) => {
    heard.push(request.headers);
    if (!before(request, response)) app(request, response);
  });
  const url = await listening(t, server);
  return { url, heard: () => heard, messages: () => worker.messages, goOn: () => worker.goOn() };
}

interface Express {
  (request: IncomingMessage, response: ServerResponse): void;
  use(path: string, handler: unknown): void;
}

class Worker implements AgentExecutor {
  readonly messages: Message[] = [];
  #waiting = new Map<string, (state: TaskState) => void>();

  goOn(): void {
    for (const end of this.#waiting.values()) end(TaskState.TASK_STATE_COMPLETED);
  }

  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const { userMessage, taskId, contextId, task } = context;
    this.messages.push(userMessage);
    const text = userMessage.parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
    if (/^(work|wait)/.test(text)) {
      bus.publish(AgentEvent.task(task ?? newTask(taskId, contextId, userMessage)));
      bus.publish(
        AgentEvent.statusUpdate({ taskId, contextId, status: statusOf(TaskState.TASK_STATE_WORKING), metadata: {} }),
      );
      const state = text.startsWith('wait')
        ? await new Promise<TaskState>((resolve) => this.#waiting.set(taskId, resolve))
        : TaskState.TASK_STATE_COMPLETED;
      this.#waiting.delete(taskId);
      const artifact = { artifactId: 'a1', name: 'result', description: '', parts: [textPart(`done: ${text}`)] };
      const done = { ...artifact, metadata: {}, extensions: [] };
      bus.publish(
        AgentEvent.artifactUpdate({ taskId, contextId, artifact: done, append: false, lastChunk: true, metadata: {} }),
      );
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: statusOf(state), metadata: {} }));
    } else bus.publish(AgentEvent.message(said(`You said: ${text}`, contextId)));
    bus.finished();
  }

  async cancelTask(taskId: string): Promise<void> {
    this.#waiting.get(taskId)?.(TaskState.TASK_STATE_CANCELED);
  }
}

function newTask(id: string, contextId: string, message: Message): Task {
  return {
    id,
    contextId,
    status: statusOf(TaskState.TASK_STATE_SUBMITTED),
    artifacts: [],
    history: [message],
    metadata: {},
  };
}

function statusOf(state: TaskState) {
  return { state, timestamp: new Date().toISOString(), message: undefined };
}

function textPart(value: string) {
  return { content: { $case: 'text' as const, value }, metadata: undefined, filename: '', mediaType: 'text/plain' };
}

function said(text: string, contextId: string): Message {
  const ids = { messageId: randomUUID(), contextId, taskId: '', referenceTaskIds: [] };
  return { ...ids, role: Role.ROLE_AGENT, parts: [textPart(text)], metadata: {}, extensions: [] };
}

/** A message of a user, as the SDK's clients send it. */
export function userMessage(text: string, more: Partial<Message> = {}): Message {
  return { ...said(text, ''), role: Role.ROLE_USER, ...more };
}
