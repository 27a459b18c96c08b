import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { FlaskConical } from 'lucide-react';
import type { McpServerReply } from '../../../../src/admin/entries/mcp-server-shown.ts';
import { mcpServers } from '../../api/entries.ts';
import { call } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorNote, Note } from '../../parts/error-note.tsx';
import { Ago, Count } from '../../parts/figures.tsx';
import { EntryPage, Fact, Facts, Section } from '../../parts/page.tsx';
import { Standing } from '../../parts/standing.tsx';
import { Badge } from '../../parts/status.tsx';
import { EditDefinition } from '../../parts/stored/edit-definition.tsx';
import { EntryActions, EntryFacts, EntryNotes } from '../../parts/stored/stored-entry.tsx';
import { Login } from './log-in.tsx';
import { TryTool } from './try-tool.tsx';

/** One MCP server: its state, its tools, and what can be done about it. */
export default function McpServerPage() {
  const { name } = useParams({ strict: false }) as { name: string };
  const query = useQuery({ ...mcpServers.query(name), refetchInterval: 3_000 });
  return (
    <EntryPage title={name} list={list} query={query} actions={(server) => <Actions server={server} />}>
      {(server) => <McpServer server={server} />}
    </EntryPage>
  );
}

const list = { to: '/dashboard/mcp-servers', label: 'MCP servers' };

function McpServer({ server }: { server: McpServerReply }) {
  const { name, url, status, why, sessions, tools, hidden, checked_at } = server;
  const client = useQueryClient();
  const may = useMay('providers', 'write');
  const test = useMutation({
    mutationFn: () => call('POST', `${mcpServers.addressOf(name)}/test`),
    onSuccess: () => mcpServers.refresh(client),
  });
  return (
    <>
      <EntryNotes of={server} kind="an MCP server" />
      {why !== null && <Note tone={status === 'down' ? 'bad' : 'warn'}>{why}</Note>}
      <Section
        title="Details"
        actions={
          may && (
            <Button icon={<FlaskConical className="size-4" />} busy={test.isPending} onClick={() => test.mutate()}>
              Test now
            </Button>
          )
        }
      >
        <div className="flex flex-col gap-4">
          <Facts>
            <Fact name="State">
              <Standing of={server} />
            </Fact>
            {checked_at !== null && (
              <Fact name="Checked">
                <Ago at={checked_at} />
              </Fact>
            )}
            <Fact name="Address">{url ?? 'a program on this machine'}</Fact>
            <EntryFacts of={server} />
            <Fact name="Sessions">
              <Count value={sessions} />
            </Fact>
            <Fact name="Calls">
              <Link
                to="/dashboard/requests"
                search={{ mcp_server: name } as never}
                className="text-accent underline-offset-2 hover:underline"
              >
                Requests for its tools
              </Link>
            </Fact>
          </Facts>
          {test.error !== null && <ErrorNote error={test.error} />}
        </div>
      </Section>
      <Login server={server} />
      <Section title="Tools">
        {tools.length === 0 ? (
          <p className="text-muted">Culvert has not seen any.</p>
        ) : (
          <ul aria-label="Tools" className="flex flex-wrap gap-1.5">
            {tools.map((tool) => (
              <li key={tool}>
                {hidden.includes(tool) ? (
                  <Badge tone="warn" title="Its settings do not offer this tool.">
                    <s>{tool}</s>
                  </Badge>
                ) : (
                  <Badge>{tool}</Badge>
                )}
              </li>
            ))}
          </ul>
        )}
      </Section>
      <TryTool server={server} />
    </>
  );
}

function Actions({ server }: { server: McpServerReply }) {
  const client = useQueryClient();
  return (
    <EntryActions
      of={server}
      name={server.name}
      kind="MCP server"
      area="providers"
      entries={mcpServers}
      list={list.to}
      edit={(done) => (
        <EditDefinition
          entry={server}
          path={mcpServers.addressOf(server.name)}
          address={{ name: 'url', label: 'URL' }}
          fixed={[]}
          hint="JSON with the keys of culvert.yaml: headers, oauth, tools, timeout, max_bytes."
          onSaved={() => mcpServers.refresh(client).then(done)}
        />
      )}
    >
      Keys lose its tools, its sessions end, and Culvert forgets its tokens.
    </EntryActions>
  );
}
