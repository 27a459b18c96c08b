import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { ChevronLeft, FlaskConical, Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { call } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button, buttonClass } from '../../parts/button.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { EditDefinition } from '../../parts/edit-definition.tsx';
import { ErrorNote, Note } from '../../parts/error-note.tsx';
import { Ago, Count } from '../../parts/figures.tsx';
import { Fact, Facts, Page, Section } from '../../parts/page.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { Badge, Status } from '../../parts/status.tsx';
import { toast } from '../../parts/toast.tsx';
import { Source } from '../providers/source.tsx';
import { Login } from './log-in.tsx';
import { addressOf, type McpServerReply, mcpServerQuery, refreshMcpServers, tones, wordOf } from './use-mcp-servers.ts';

/** One MCP server: how it stands, its tools, and what can be done about it. */
export default function McpServerPage() {
  const { name } = useParams({ strict: false }) as { name: string };
  const { data, error, refetch } = useQuery({ ...mcpServerQuery(name), refetchInterval: 3_000 });
  return (
    <Page
      title={name}
      before={
        <Link to="/dashboard/mcp-servers" className={buttonClass('quiet', '-ml-3 px-2')}>
          <ChevronLeft className="size-4" aria-hidden /> MCP servers
        </Link>
      }
      actions={data !== undefined && <Actions server={data} />}
    >
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <SkeletonRows />}
      {data !== undefined && <McpServer server={data} />}
    </Page>
  );
}

function McpServer({ server }: { server: McpServerReply }) {
  const { name, url, status, why, problem, shadowed, sessions, tools, hidden, checked_at, updated_at } = server;
  const client = useQueryClient();
  const may = useMay('providers', 'write');
  const test = useMutation({
    mutationFn: () => call('POST', `${addressOf(name)}/test`),
    onSuccess: () => refreshMcpServers(client),
  });
  return (
    <>
      {problem !== null && <Note tone="bad">The settings made here cannot be used: {problem}</Note>}
      {shadowed && (
        <Note tone="warn">
          The configuration file has an MCP server with this name, and Culvert uses that one. The settings made here are
          kept, but not used.
        </Note>
      )}
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
              <Status tone={tones[status]}>{wordOf(status)}</Status>
            </Fact>
            {checked_at !== null && (
              <Fact name="Checked">
                <Ago at={checked_at} />
              </Fact>
            )}
            <Fact name="Address">{url ?? 'a program of this machine'}</Fact>
            <Fact name="Source">
              <Source of={server} />
            </Fact>
            {updated_at !== null && (
              <Fact name="Last change">
                <Ago at={updated_at} /> by {server.updated_by}
              </Fact>
            )}
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
    </>
  );
}

/** Stored entries can be changed and removed here; those of the file, in the file. */
function Actions({ server }: { server: McpServerReply }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const may = useMay('providers', 'write');
  const [open, setOpen] = useState<'edit' | 'remove' | null>(null);
  const { name, version } = server;
  if (!may) return null;
  if (version === null) return <span className="text-muted text-sm">Set in the configuration file</span>;
  return (
    <>
      <Button icon={<Pencil className="size-4" />} onClick={() => setOpen('edit')}>
        Edit
      </Button>
      <Button look="danger" icon={<Trash2 className="size-4" />} onClick={() => setOpen('remove')}>
        Remove
      </Button>
      <Dialog open={open === 'edit'} onClose={() => setOpen(null)} title={`Edit ${name}`}>
        <EditDefinition
          entry={server}
          path={addressOf(name)}
          address={{ name: 'url', label: 'URL' }}
          fixed={[]}
          hint="JSON with the keys of culvert.yaml: headers, oauth, tools, timeout, max_bytes."
          onSaved={async () => {
            await refreshMcpServers(client);
            setOpen(null);
          }}
        />
      </Dialog>
      <Confirm
        open={open === 'remove'}
        onClose={() => setOpen(null)}
        title={`Remove ${name}?`}
        action="Remove MCP server"
        onConfirm={async () => {
          await call('DELETE', addressOf(name), { query: { version } });
          toast(`${name} is removed.`);
          await navigate({ to: '/dashboard/mcp-servers' });
          await refreshMcpServers(client);
        }}
      >
        Keys lose its tools, its sessions end, and Culvert forgets its tokens.
      </Confirm>
    </>
  );
}
