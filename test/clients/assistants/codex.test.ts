import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  abortedThrough,
  assistant,
  keyless,
  mcpServer,
  missingAssistant,
  overUpstream,
  settingsIn,
} from './assistant.ts';

const skip = missingAssistant('codex');
const exec = ['exec', '--json', '--skip-git-repo-check'];
const withModel = (settings: string, model: string) => settings.replace(/^model = .*$/m, `model = "${model}"`);

test('Codex with the settings of its page answers, and calls a tool, at a start without any provider', {
  skip,
}, async (t) => {
  const codex = assistant(t, 'codex');
  const settings = settingsIn('codex.md', 'toml', await keyless(t));
  codex.write('.codex/config.toml', settings);
  const plain = await codex.run([...exec, 'say hi']);
  assert.equal(plain.code, 0, plain.said);
  assert.match(plain.stdout, /"agent_message","text":"\[simulated\] [^\n]*You said: “say hi”/);
  // The newest models call its tools by a script, which the simulator cannot write.
  codex.write('.codex/config.toml', withModel(settings, 'gpt-5.5'));
  const called = await codex.run([...exec, 'call exec_command']);
  assert.equal(called.code, 0, called.said);
  assert.match(called.stdout, /"item.completed"[^\n]*"command_execution"/);
  assert.match(called.stdout, /"agent_message","text":"\[simulated\] /);
});

for (const format of ['openai', 'anthropic'] as const) {
  test(`Codex asks again after a stream that broke, and its end closes the provider’s (${format})`, {
    skip,
  }, async (t) => {
    const world = await overUpstream(t, format);
    const codex = assistant(t, 'codex');
    codex.write('.codex/config.toml', settingsIn('codex.md', 'toml', world.gateway));
    for (const fault of ['cut=12events', 'error=12;code=server_is_overloaded']) {
      world.upstream.script('*', [`tokens=50;${fault}`]);
      const { code, stdout, said } = await codex.run([...exec, 'say hi']);
      assert.equal(code, 0, said);
      assert.match(stdout, /Mock answer/);
    }
    await abortedThrough(world, () => codex.begin([...exec, 'say hi']));
  });
}

for (const [model, calls] of [
  // Tools of servers come in namespaces for a model that it does not know.
  ['claude-x', ['mcp__test__mock']],
  ['gpt-5.5', ['tool_search', 'mcp__test__mock']],
] as const) {
  test(`Codex calls a tool of its MCP server over another provider (${calls.join(', then ')})`, { skip }, async (t) => {
    const { gateway, upstream } = await overUpstream(t, 'anthropic');
    const codex = assistant(t, 'codex');
    const settings = withModel(settingsIn('codex.md', 'toml', gateway), model);
    const { command, args } = mcpServer;
    // Codex begins a turn without the tools of a server that starts slowly, unless the server is required.
    codex.write(
      '.codex/config.toml',
      `${settings}\n[mcp_servers.test]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\nrequired = true\nstartup_timeout_sec = 60\n`,
    );
    upstream.script('/v1/messages', [...calls.map((name) => `call=${name}`), '']);
    const free = '--dangerously-bypass-approvals-and-sandbox';
    const { code, stdout, said } = await codex.run([...exec, free, 'go on']);
    assert.equal(code, 0, said);
    assert.match(stdout, /"item.completed"[^\n]*"mcp_tool_call"[^\n]*"completed"/);
    const { messages } = upstream.requests().at(-1)!.body as { messages: object[] };
    assert.match(JSON.stringify(messages), /"name":"mcp__test__mock"[\s\S]*"tool_result"/);
  });
}

test('Codex runs the script of a model of its newest family, whose tools stand in its input, over another provider', {
  skip,
}, async (t) => {
  const { gateway, upstream } = await overUpstream(t, 'anthropic');
  const codex = assistant(t, 'codex');
  codex.write('.codex/config.toml', settingsIn('codex.md', 'toml', gateway));
  upstream.script('/v1/messages', ['call=functions__exec', '']);
  const { code, said } = await codex.run([...exec, 'go on']);
  assert.equal(code, 0, said);
  const { messages } = upstream.requests().at(-1)!.body as { messages: object[] };
  assert.match(JSON.stringify(messages), /"name":"functions__exec"[\s\S]*"tool_result"[\s\S]*Script/);
});
