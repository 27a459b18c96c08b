import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { FlaskConical } from 'lucide-react';
import type { AgentReply } from '../../../../src/admin/entries/agents.ts';
import { agents } from '../../api/entries.ts';
import { call } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorNote, Note } from '../../parts/error-note.tsx';
import { Ago } from '../../parts/figures.tsx';
import { EntryPage, Fact, Facts, Section } from '../../parts/page.tsx';
import { Standing } from '../../parts/standing.tsx';
import { EditDefinition } from '../../parts/stored/edit-definition.tsx';
import { EntryActions, EntryFacts, EntryNotes } from '../../parts/stored/stored-entry.tsx';
import { Card } from './card.tsx';

/** One agent: its state, its card, and what can be done about it. */
export default function AgentPage() {
  const { name } = useParams({ strict: false }) as { name: string };
  const query = useQuery({ ...agents.query(name), refetchInterval: 5_000 });
  return (
    <EntryPage title={name} list={list} query={query} actions={(agent) => <Actions agent={agent} />}>
      {(agent) => <Agent agent={agent} />}
    </EntryPage>
  );
}

const list = { to: '/dashboard/agents', label: 'Agents' };

function Agent({ agent }: { agent: AgentReply }) {
  const { name, url, why, checked_at } = agent;
  const client = useQueryClient();
  const may = useMay('providers', 'write');
  const test = useMutation({
    mutationFn: () => call('POST', `${agents.addressOf(name)}/test`),
    onSuccess: () => agents.refresh(client),
  });
  return (
    <>
      <EntryNotes of={agent} kind="an agent" />
      {why !== null && <Note tone="bad">{why}</Note>}
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
              <Standing of={agent} />
            </Fact>
            {checked_at !== null && (
              <Fact name="Checked">
                <Ago at={checked_at} />
              </Fact>
            )}
            <Fact name="Address">{url}</Fact>
            <Fact name="For callers">
              <code className="font-mono text-xs">/a2a/{name}</code>
            </Fact>
            <EntryFacts of={agent} />
            <Fact name="Calls">
              <Link
                to="/dashboard/requests"
                search={{ agent: name } as never}
                className="text-accent underline-offset-2 hover:underline"
              >
                Messages to this agent
              </Link>
            </Fact>
          </Facts>
          {test.error !== null && <ErrorNote error={test.error} />}
        </div>
      </Section>
      <Card of={agent} />
    </>
  );
}

function Actions({ agent }: { agent: AgentReply }) {
  const client = useQueryClient();
  return (
    <EntryActions
      of={agent}
      name={agent.name}
      kind="agent"
      area="providers"
      entries={agents}
      list={list.to}
      edit={(done) => (
        <EditDefinition
          entry={agent}
          path={agents.addressOf(agent.name)}
          address={{ name: 'url', label: 'URL' }}
          fixed={[]}
          hint="JSON with the keys of culvert.yaml: endpoint, headers, cost, timeout, max_bytes, data."
          onSaved={() => agents.refresh(client).then(done)}
        />
      )}
    >
      Keys can no longer send messages to it, and Culvert forgets its headers. Its running tasks continue.
    </EntryActions>
  );
}
