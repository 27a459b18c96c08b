import assert from 'node:assert/strict';
import { test } from 'node:test';
import { abortedThrough, assistant, keyless, missingAssistant, overUpstream, settingsIn } from './assistant.ts';

const skip = missingAssistant('codex');
const exec = ['exec', '--json', '--skip-git-repo-check'];

test('Codex with the settings of its page answers, and calls a tool, at a start without any provider', {
  skip,
}, async (t) => {
  const codex = assistant(t, 'codex');
  codex.write('.codex/config.toml', settingsIn('codex.md', 'toml', await keyless(t)));
  const plain = await codex.run([...exec, 'say hi']);
  assert.equal(plain.code, 0, plain.said);
  assert.match(plain.stdout, /"agent_message","text":"\[simulated\] [^\n]*You said: “say hi”/);
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
