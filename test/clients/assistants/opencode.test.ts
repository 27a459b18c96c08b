import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Assistant,
  abortedThrough,
  assistant,
  keyless,
  mcpServer,
  missingAssistant,
  overUpstream,
  settingsIn,
} from './assistant.ts';

const skip = missingAssistant('opencode');
const run = ['run', '--format', 'json'];
const packages = ['@ai-sdk/openai-compatible', '@ai-sdk/anthropic', '@ai-sdk/openai'];

/** With the settings of its page, in the format of a package. */
function configure(opencode: Assistant, gateway: { url: string }, name = packages[0]!): void {
  opencode.write('project/opencode.json', settingsIn('opencode.md', 'json', gateway).replace(packages[0]!, name));
}

for (const name of packages) {
  test(`opencode with the settings of its page calls a tool at a start without any provider (${name})`, {
    skip,
  }, async (t) => {
    const opencode = assistant(t, 'opencode');
    configure(opencode, await keyless(t), name);
    const { code, stdout, said } = await opencode.run([...run, 'call glob']);
    assert.equal(code, 0, said);
    assert.match(stdout, /"type":"tool_use"[^\n]*"tool":"glob"/);
    assert.match(stdout, /"type":"text"[^\n]*\[simulated\] [^\n]*call glob/);
  });
}

test('opencode asks again after a stream that broke, and its end closes the provider’s', { skip }, async (t) => {
  const world = await overUpstream(t);
  const opencode = assistant(t, 'opencode');
  configure(opencode, world.gateway);
  // One of the two may be for the title.
  world.upstream.script('*', ['tokens=50;cut=12events', 'tokens=50;cut=12events']);
  const { code, stdout, said } = await opencode.run([...run, 'say hi']);
  assert.equal(code, 0, said);
  assert.match(stdout, /Mock answer/);
  await abortedThrough(world, () => opencode.begin([...run, 'say hi']));
});

test('opencode calls a tool of its MCP server', { skip }, async (t) => {
  const opencode = assistant(t, 'opencode');
  const settings = JSON.parse(settingsIn('opencode.md', 'json', await keyless(t)));
  const test = { type: 'local', command: [mcpServer.command, ...mcpServer.args], enabled: true };
  opencode.write('project/opencode.json', JSON.stringify({ ...settings, mcp: { test } }));
  const { code, stdout, said } = await opencode.run([...run, 'call test_mock']);
  assert.equal(code, 0, said);
  assert.match(stdout, /"type":"tool_use"[^\n]*"tool":"test_mock"[^\n]*"completed"/);
});
