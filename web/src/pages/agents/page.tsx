import { Bot } from 'lucide-react';
import type { AgentReply } from '../../../../src/admin/entries/agents.ts';
import { agents } from '../../api/entries.ts';
import { usePages } from '../../api/pages.ts';
import { Empty } from '../../parts/empty.tsx';
import { Ago, Count, None } from '../../parts/figures.tsx';
import { useAdding } from '../../parts/forms/add-dialog.tsx';
import { Page } from '../../parts/page.tsx';
import { Standing } from '../../parts/standing.tsx';
import { Source } from '../../parts/stored/stored-entry.tsx';
import { type Column, NameCell, PagedTable } from '../../parts/tables/table.tsx';
import { AddAgent } from './add-agent.tsx';

const columns: readonly Column<AgentReply>[] = [
  {
    head: 'Agent',
    value: ({ name }) => name,
    cell: ({ name, url }) => <NameCell name={name}>{url}</NameCell>,
  },
  {
    head: 'State',
    value: ({ status }) => status,
    cell: (agent) => (
      <span title={agent.why ?? undefined}>
        <Standing of={agent} />
      </span>
    ),
  },
  { head: 'Source', from: 'sm', cell: (agent) => <Source of={agent} />, value: ({ source }) => source },
  { head: 'A2A', from: 'lg', cell: ({ versions }) => (versions.length === 0 ? <None /> : versions.join(', ')) },
  { head: 'Skills', from: 'md', align: 'right', cell: ({ skills }) => <Count value={skills.length} /> },
  {
    head: 'Checked',
    from: 'md',
    align: 'right',
    cell: ({ checked_at }) => (checked_at === null ? <None /> : <Ago at={checked_at} />),
  },
];

/** Agents elsewhere, which keys may call here by A2A. */
export default function AgentsPage() {
  const pages = usePages<AgentReply>(agents.path, {}, { everyMs: 5_000, inUrl: true });
  const { add, dialog } = useAdding({
    area: 'providers',
    label: 'Add agent',
    title: 'Add an agent',
    description: 'Every replica accepts messages for it at once. Culvert encrypts the token and never shows it again.',
    form: (done) => <AddAgent onAdded={done} />,
  });
  return (
    <Page title="Agents" actions={add}>
      <PagedTable
        label="Agents"
        pages={pages}
        columns={columns}
        keyOf={({ name }) => name}
        to={({ name }) => `/dashboard/agents/${encodeURIComponent(name)}`}
        empty={
          <Empty icon={<Bot />} title="There are no agents yet." action={add}>
            Keys send messages to agents that speak A2A, within their limits. Culvert reads the card of each agent.
          </Empty>
        }
      />
      {dialog}
    </Page>
  );
}
