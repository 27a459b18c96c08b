import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mcpServerSchema } from '../../config/schema/schema-mcp.ts';
import type { McpServerConfig } from '../../config/schema.ts';
import { systemClock } from '../../kernel/clock.ts';
import { McpFault } from './mcp-fault.ts';
import { UpstreamServer } from './upstream-server.ts';

async function openTimeouts(config: Partial<McpServerConfig>): Promise<number[]> {
  const timeouts: number[] = [];
  const server = new UpstreamServer({
    name: 'one',
    config: mcpServerSchema.parse(config),
    async open({ timeoutMs }) {
      timeouts.push(timeoutMs);
      return new McpFault('timeout', 'took too long');
    },
    async release() {},
    sessionsMax: 1,
    clock: systemClock,
    onTurn() {},
  });
  await server.ask('a/b', () => assert.fail('there is no session'), new AbortController().signal);
  await server.close();
  return timeouts;
}

test('a program has the whole time of a call to start, which may have to download it; a server by URL has 15 s', async () => {
  assert.deepEqual(await openTimeouts({ command: 'npx' }), [60_000, 60_000]);
  assert.deepEqual(await openTimeouts({ url: 'http://127.0.0.1:9/mcp' }), [15_000, 15_000]);
});
