import { Link } from '@tanstack/react-router';
import type { McpServerReply } from '../../../../src/admin/entries/mcp-server-shown.ts';
import { mcpServers } from '../../api/entries.ts';
import { Note } from '../../parts/error-note.tsx';
import { Count } from '../../parts/figures.tsx';
import { Fact, Section } from '../../parts/page.tsx';
import { StandingFacts } from '../../parts/standing.tsx';
import { Badge } from '../../parts/status.tsx';
import { EditDefinition } from '../../parts/stored/edit-definition.tsx';
import { EntryFacts } from '../../parts/stored/stored-entry.tsx';
import { StoredPage } from '../../parts/stored/stored-page.tsx';
import { TestedDetails } from '../../parts/stored/tested-details.tsx';
import { Login } from './log-in.tsx';
import { TryTool } from './try-tool.tsx';

/** One MCP server: its state, its tools, and what can be done about it. */
export default function McpServerPage() {
  return (
    <StoredPage
      entries={mcpServers}
      list={{ to: '/dashboard/mcp-servers', label: 'MCP servers' }}
      everyMs={3_000}
      kind="MCP server"
      area="providers"
      edit={(server, done) => (
        <EditDefinition
          entry={server}
          entries={mcpServers}
          address={{ name: 'url', label: 'URL' }}
          fixed={[]}
          hint="JSON with the keys of culvert.yaml: headers, oauth, tools, timeout, max_bytes."
          onDone={done}
        />
      )}
      removal="Keys lose its tools, its sessions end, and Culvert forgets its tokens."
    >
      {(server) => <McpServer server={server} />}
    </StoredPage>
  );
}

function McpServer({ server }: { server: McpServerReply }) {
  const { name, url, status, why, sessions, tools, hidden } = server;
  return (
    <>
      {why !== null && <Note tone={status === 'down' ? 'bad' : 'warn'}>{why}</Note>}
      <TestedDetails entries={mcpServers} name={name}>
        <StandingFacts of={server} />
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
      </TestedDetails>
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
