import type { Message } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  createAuthenticatingFetchWithRetry,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client';
import { userMessage } from '../start-agent.ts';
import { adminKey, type TestGateway, testKey } from '../start-gateway.ts';

/** The SDK's client of an agent of the gateway. `earlier`: it also speaks A2A 0.3. */
export async function agentClient(
  gateway: Pick<TestGateway, 'url'>,
  name: string,
  { key = testKey, speaks = 'present' }: { key?: string; speaks?: 'present' | 'earlier' } = {},
): Promise<Client> {
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
    headers: async () => ({ authorization: `Bearer ${key}` }),
    shouldRetryWithHeaders: async () => undefined,
  });
  const legacyCompat = { enabled: speaks === 'earlier' };
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl, legacyCompat })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl, legacyCompat }),
  });
  return new ClientFactory(options).createFromUrl(`${gateway.url}/a2a/${name}/.well-known/agent-card.json`, '');
}

/** A request that sends a text. */
export function sending(text: string, more: Partial<Message> = {}) {
  return { tenant: '', message: userMessage(text, more), configuration: undefined, metadata: undefined };
}

export function textOf({ parts }: Pick<Message, 'parts'>): string {
  return parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
}

/** A message of JSON-RPC as it is. */
export async function rpc(gateway: TestGateway, name: string, body: object, key = testKey) {
  const response = await gateway.fetch(`/a2a/${name}`, { json: body, headers: { authorization: `Bearer ${key}` } });
  const answer = (await response.json()) as {
    id: unknown;
    result?: Record<string, unknown>;
    error?: { code: number; message: string };
  };
  return { status: response.status, ...answer };
}

export interface AgentRow {
  endpoint: string;
  model: string;
  status: number;
  class: string;
  units: number;
  stream: boolean;
  route: { agent?: { agent: string; method: string; task: string | null; outcome: string | null; bytes: number } };
}

/** Rows of the ledger, the latest first. */
export async function agentRows(gateway: TestGateway): Promise<AgentRow[]> {
  const response = await gateway.fetch('/admin/v1/requests?limit=50&class=any', {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  return ((await response.json()) as { data: AgentRow[] }).data;
}
