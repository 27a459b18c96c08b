import type { McpServerReply } from '../../../../src/admin/entries/mcp-server-shown.ts';
import { Status, type Tone } from '../../parts/status.tsx';

const tones: Record<McpServerReply['status'], Tone> = {
  up: 'ok',
  down: 'bad',
  'needs-login': 'warn',
  unknown: 'plain',
};

export function ServerStatus({ of: { status } }: { of: McpServerReply }) {
  return <Status tone={tones[status]}>{status === 'needs-login' ? 'needs a login' : status}</Status>;
}
