import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testKey } from '../../start-gateway.ts';
import { abortedThrough, assistant, keyless, missingAssistant, overUpstream, settingsIn } from './assistant.ts';

const skip = missingAssistant('claude');
const events = ['--verbose', '--output-format', 'stream-json'];

test('Claude Code with the variables of its page answers at a start without any provider', { skip }, async (t) => {
  const { url } = await keyless(t);
  const env = { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: testKey };
  const { code, stdout, said } = await assistant(t, 'claude').run(['-p', 'say hi'], env);
  assert.equal(code, 0, said);
  assert.match(stdout, /\[simulated\] .*You said: “say hi”/);
});

test('Claude Code with the settings of its page calls a tool, and goes on with its result', { skip }, async (t) => {
  const claude = assistant(t, 'claude');
  claude.write('.claude/settings.json', settingsIn('claude-code.md', 'json', await keyless(t)));
  const { code, stdout, said } = await claude.run(['-p', 'call Bash', '--allowedTools', 'Bash', ...events]);
  assert.equal(code, 0, said);
  assert.match(stdout, /"type":"tool_use"[^\n]*"name":"Bash"/);
  assert.match(stdout, /"type":"tool_result"[\s\S]*"type":"text","text":"\[simulated\] /);
});

for (const format of ['openai', 'anthropic'] as const) {
  test(`Claude Code asks again after a stream that broke, and its end closes the provider’s (${format})`, {
    skip,
  }, async (t) => {
    const world = await overUpstream(t, format);
    const claude = assistant(t, 'claude');
    claude.write('.claude/settings.json', settingsIn('claude-code.md', 'json', world.gateway));
    world.upstream.script('*', ['tokens=50;cut=40events']);
    const { code, stdout, said } = await claude.run(['-p', 'say hi']);
    assert.equal(code, 0, said);
    assert.match(stdout, /Mock answer/);
    await abortedThrough(world, () => claude.begin(['-p', 'say hi']));
  });
}
