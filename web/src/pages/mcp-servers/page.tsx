import { Link } from '@tanstack/react-router';
import { Blocks } from 'lucide-react';
import type { McpServerReply } from '../../../../src/admin/entries/mcp-server-shown.ts';
import { mcpServers } from '../../api/entries.ts';
import { usePages } from '../../api/pages.ts';
import { buttonClass } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Ago, Count, None } from '../../parts/figures.tsx';
import { useAdding } from '../../parts/forms/add-dialog.tsx';
import { Page } from '../../parts/page.tsx';
import { Standing } from '../../parts/standing.tsx';
import { Source } from '../../parts/stored/stored-entry.tsx';
import { type Column, NameCell, PagedTable } from '../../parts/tables/table.tsx';
import { AddMcpServer } from './add-mcp-server.tsx';

const columns: readonly Column<McpServerReply>[] = [
  {
    head: 'Server',
    value: ({ name }) => name,
    cell: ({ name, url }) => <NameCell name={name}>{url ?? 'a program'}</NameCell>,
  },
  {
    head: 'State',
    value: ({ status }) => status,
    cell: (server) => (
      <span title={server.why ?? undefined}>
        <Standing of={server} />
      </span>
    ),
  },
  { head: 'Source', from: 'sm', cell: (server) => <Source of={server} />, value: ({ source }) => source },
  { head: 'Tools', from: 'md', align: 'right', cell: ({ tools }) => <Count value={tools.length} /> },
  { head: 'Sessions', from: 'lg', align: 'right', cell: ({ sessions }) => <Count value={sessions} /> },
  { head: 'Login', from: 'lg', cell: ({ login }) => (login === null ? <None /> : login.by) },
  {
    head: 'Checked',
    from: 'md',
    align: 'right',
    cell: ({ checked_at }) => (checked_at === null ? <None /> : <Ago at={checked_at} />),
  },
];

/** MCP servers elsewhere, whose tools keys may call here. */
export default function McpServersPage() {
  const pages = usePages<McpServerReply>(mcpServers.path, {}, { everyMs: 5_000, inUrl: true });
  const { add, dialog } = useAdding({
    area: 'providers',
    label: 'Add MCP server',
    title: 'Add an MCP server',
    description: 'Every replica offers its tools at once. Culvert encrypts the token and never shows it again.',
    form: (done) => <AddMcpServer onAdded={done} />,
  });
  return (
    <Page
      title="MCP servers"
      actions={
        <>
          <Link to={'/dashboard/mcp-calls' as never} className={buttonClass()}>
            Calls
          </Link>
          {add}
        </>
      }
    >
      <PagedTable
        label="MCP servers"
        pages={pages}
        columns={columns}
        keyOf={({ name }) => name}
        to={({ name }) => `/dashboard/mcp-servers/${encodeURIComponent(name)}`}
        empty={
          <Empty icon={<Blocks />} title="There are no MCP servers yet." action={add}>
            Keys call the tools of all servers at one address, within their limits. Programs on this machine are set in
            the configuration file.
          </Empty>
        }
      />
      {dialog}
    </Page>
  );
}
