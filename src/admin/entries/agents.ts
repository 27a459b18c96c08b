import { z } from 'zod';
import { redactPart } from '../../config/redact.ts';
import { agentName, agentSchema } from '../../config/schema/schema-agents.ts';
import type { Operation } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { entryOperations } from './entry-operations.ts';
import type { EntryRecords } from './entry-records.ts';
import { guardAddresses } from './send-elsewhere.ts';
import { shownStanding, standingFields } from './shown-standing.ts';
import { entryNamed, listByName, shownEntries, storedFields } from './stored-fields.ts';
import { storedEntryOperations } from './stored-operations.ts';

const newAgent = agentSchema.extend({ name: agentName.describe('Callers reach it at /a2a/NAME.') });

/** An agent as lists show it. */
const shownSchema = z.object({
  name: z.string(),
  url: z.string().describe('Without user, password and query.'),
  ...standingFields,
  description: z.string().nullable().describe('What its card says it does; null: the card was not read yet.'),
  versions: z.array(z.string()).describe('Versions of A2A that it speaks.'),
  streams: z.boolean().nullable(),
  skills: z.array(z.string()).describe('Names of its skills.'),
  card: z
    .looseObject({})
    .nullable()
    .optional()
    .describe(
      'Its card as callers get it, with the address below the server; null: it was not read yet. Not in lists.',
    ),
  ...storedFields,
});

export type AgentReply = z.output<typeof shownSchema>;
type ShownAgent = z.input<typeof shownSchema>;

/** `/agents`: agents elsewhere that callers reach by A2A. */
export function agentOperations(parts: AdminParts, entryRecords: EntryRecords): Operation[] {
  const entries = entryOperations({ path: '/agents', named: 'name', area: 'providers', reply: shownSchema });
  const all = () => shownAgents(parts, entryRecords);
  const show = async (name: string) => {
    const found = entryNamed('agent', await all(), name);
    const agent = (await parts.agents?.())?.get(name);
    return { ...found, card: agent?.cardFor(`/a2a/${name}`, '1.0') ?? null };
  };
  return [
    listByName(entries, 'Lists the agents that callers reach by A2A, with their health.', all),
    entries.show({ summary: 'Returns one agent.', run: show }),
    ...storedEntryOperations(parts, entryRecords, {
      kind: 'agent',
      entries,
      show,
      add: {
        summary: 'Creates an agent, as under `agents` in culvert.yaml. Its headers are encrypted.',
        body: newAgent,
      },
      change: { summary: 'Changes the stored settings of an agent.', guardOf: guardAddresses('agent') },
      remove: { summary: 'Removes the stored settings of an agent.' },
    }),
    entries.act('test', {
      summary: 'Reads the card of an agent now, and returns its state.',
      async run(name) {
        await (await parts.agents?.())?.get(name)?.lookAnew();
        return show(name);
      },
    }),
  ];
}

/** Agents in force, and stored ones that cannot be used. */
async function shownAgents(parts: AdminParts, entryRecords: EntryRecords): Promise<ShownAgent[]> {
  const [rows, agents] = await Promise.all([entryRecords.rows(), parts.agents?.()]);
  const inForce = Object.entries(parts.snapshots.current.config.agents);
  return shownEntries(parts, rows, 'agent', inForce, (name, config, stored, row) => {
    const agent = agents?.get(name);
    const { card = {}, interfaces = {}, streams = null } = agent?.card ?? {};
    const { description, skills } = card;
    const names = (Array.isArray(skills) ? skills : []).map((skill) => (skill as { name?: unknown } | null)?.name);
    return {
      name,
      url: (redactPart({ url: config?.url ?? String(row?.definition.url ?? '') }) as { url: string }).url,
      ...shownStanding(parts.clock, agent?.standing),
      description: typeof description === 'string' ? description : null,
      versions: Object.keys(interfaces),
      streams,
      skills: names.filter((skill) => typeof skill === 'string'),
      ...stored,
    };
  });
}
