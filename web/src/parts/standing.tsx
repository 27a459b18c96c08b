import type { McpServerReply } from '../../../src/admin/entries/mcp-server-shown.ts';
import { Ago } from './figures.tsx';
import { Fact } from './page.tsx';
import { Status, type Tone } from './status.tsx';

type StandingName = McpServerReply['status'];

const tones: Record<StandingName, Tone> = {
  up: 'ok',
  down: 'bad',
  'needs-login': 'warn',
  unknown: 'plain',
};

/** State of an MCP server or an agent, as the last look found it. */
export function Standing({ of: { status } }: { of: { status: StandingName } }) {
  return <Status tone={tones[status]}>{status === 'needs-login' ? 'needs a login' : status}</Status>;
}

/** Its state, and when that was found, among the facts of its page. */
export function StandingFacts({ of }: { of: Pick<McpServerReply, 'status' | 'checked_at'> }) {
  return (
    <>
      <Fact name="State">
        <Standing of={of} />
      </Fact>
      {of.checked_at !== null && (
        <Fact name="Checked">
          <Ago at={of.checked_at} />
        </Fact>
      )}
    </>
  );
}
