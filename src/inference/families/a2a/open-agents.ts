import { mayCallAgent, type PlanBook } from '../../../books/metering/plan-book.ts';
import { writtenFacts } from '../../../config/data-rules.ts';
import type { Agent } from '../../../tools/a2a/agent.ts';
import type { Agents, AgentsParts } from '../../../tools/a2a/agents.ts';
import type { ProxyOf } from '../../../upstream/transport/proxy.ts';
import type { Snapshots } from '../../models/snapshot.ts';

export type OpenedAgents = ReturnType<typeof openAgents>;

interface OpenAgentsParts extends Pick<AgentsParts, 'clock' | 'signer' | 'onTurn'> {
  readonly snapshots: Snapshots;
  plans(): PlanBook;
  proxyOf: ProxyOf;
  /** Resolves once the server listens. */
  listening: Promise<unknown>;
}

/** The agents of the configuration, with all that they need, for a server that may have none. */
export function openAgents({ snapshots, plans, proxyOf, listening, ...parts }: OpenAgentsParts) {
  const config = () => snapshots.current.config;
  let loading: Promise<Agents> | null = null;
  let opened: Agents | null = null;
  async function open(): Promise<Agents> {
    const [{ createAgents }, { createTransport }] = await Promise.all([
      import('../../../tools/a2a/agents.ts'),
      import('../../../upstream/transport/send.ts'),
    ]);
    opened = createAgents({
      ...parts,
      config,
      // A message that an agent may have got is not sent again.
      transport: createTransport({ proxyOf, repeats: 'unsent' }),
      mayCall: (principal, name) => mayCallAgent(plans().plan(principal.plan), principal, name),
      barred(principal, name) {
        const { config, models } = snapshots.current;
        const { data, url } = config.agents[name] ?? {};
        return models.barred(principal, writtenFacts(data, url), `agent '${name}'`);
      },
    });
    return opened;
  }
  function load(): Promise<Agents> {
    loading ??= open();
    return loading;
  }
  void listening.then(async () => {
    if (Object.keys(config().agents).length > 0) await load();
  });
  return {
    /** Loaded by the first who asks, or once the server listens if the configuration has agents. */
    load,
    /** The agents in force, if they are loaded. */
    loaded: (): readonly Pick<Agent, 'name' | 'standing'>[] => opened?.all() ?? [],
    async close(): Promise<void> {
      await (await loading)?.close();
    },
  };
}
