/** Versions of A2A: each has its names of methods and its form of results. */
export type A2aVersion = '1.0' | '0.3';

/** Work that a method asks for. */
export type AgentWork = 'send' | 'stream' | 'get' | 'list' | 'cancel' | 'subscribe' | 'push' | 'card';

export interface AgentMethod {
  version: A2aVersion;
  work: AgentWork;
}

const names: Readonly<Record<AgentWork, { '1.0': string; '0.3': string }>> = {
  send: { '1.0': 'SendMessage', '0.3': 'message/send' },
  stream: { '1.0': 'SendStreamingMessage', '0.3': 'message/stream' },
  get: { '1.0': 'GetTask', '0.3': 'tasks/get' },
  list: { '1.0': 'ListTasks', '0.3': '' },
  cancel: { '1.0': 'CancelTask', '0.3': 'tasks/cancel' },
  subscribe: { '1.0': 'SubscribeToTask', '0.3': 'tasks/resubscribe' },
  push: {
    '1.0':
      'CreateTaskPushNotificationConfig GetTaskPushNotificationConfig ListTaskPushNotificationConfigs DeleteTaskPushNotificationConfig',
    '0.3':
      'tasks/pushNotificationConfig/set tasks/pushNotificationConfig/get tasks/pushNotificationConfig/list tasks/pushNotificationConfig/delete',
  },
  card: { '1.0': 'GetExtendedAgentCard', '0.3': 'agent/getAuthenticatedExtendedCard' },
};

/** The methods of all versions, by their names. */
export const agentMethods: ReadonlyMap<string, AgentMethod> = new Map(
  (Object.keys(names) as AgentWork[]).flatMap((work) =>
    (['1.0', '0.3'] as const).flatMap((version) =>
      names[work][version].split(' ').flatMap((name) => (name === '' ? [] : [[name, { version, work }] as const])),
    ),
  ),
);

/** Whether a message of this work is answered by a stream of events. */
export function isStreamed(work: AgentWork): boolean {
  return work === 'stream' || work === 'subscribe';
}

/** Codes of errors in JSON-RPC and in A2A. */
export const rpcCode = {
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  /** Culvert refuses the caller, or a limit does. */
  refused: -32_000,
  taskNotFound: -32_001,
  noPushNotifications: -32_003,
  unsupportedOperation: -32_004,
  versionNotSupported: -32_009,
} as const;
