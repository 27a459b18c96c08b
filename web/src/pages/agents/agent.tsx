import { Link } from '@tanstack/react-router';
import type { AgentReply } from '../../../../src/admin/entries/agents.ts';
import { agents } from '../../api/entries.ts';
import { Note } from '../../parts/error-note.tsx';
import { Fact } from '../../parts/page.tsx';
import { StandingFacts } from '../../parts/standing.tsx';
import { EditDefinition } from '../../parts/stored/edit-definition.tsx';
import { EntryFacts } from '../../parts/stored/stored-entry.tsx';
import { StoredPage } from '../../parts/stored/stored-page.tsx';
import { TestedDetails } from '../../parts/stored/tested-details.tsx';
import { Card } from './card.tsx';

/** One agent: its state, its card, and what can be done about it. */
export default function AgentPage() {
  return (
    <StoredPage
      entries={agents}
      list={{ to: '/dashboard/agents', label: 'Agents' }}
      everyMs={5_000}
      kind="agent"
      area="providers"
      edit={(agent, done) => (
        <EditDefinition
          entry={agent}
          entries={agents}
          address={{ name: 'url', label: 'URL' }}
          fixed={[]}
          hint="JSON with the keys of culvert.yaml: endpoint, headers, cost, timeout, max_bytes, data."
          onDone={done}
        />
      )}
      removal="Keys can no longer send messages to it, and Culvert forgets its headers. Its running tasks continue."
    >
      {(agent) => <Agent agent={agent} />}
    </StoredPage>
  );
}

function Agent({ agent }: { agent: AgentReply }) {
  const { name, url, why } = agent;
  return (
    <>
      {why !== null && <Note tone="bad">{why}</Note>}
      <TestedDetails entries={agents} name={name}>
        <StandingFacts of={agent} />
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
      </TestedDetails>
      <Card of={agent} />
    </>
  );
}
