import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway, testKey } from '../../start-gateway.ts';
import type { Lifetime } from '../../start-process.ts';
import { startUpstream, type Upstream } from '../../start-upstream.ts';
import { bedrockWire, startAws, testAwsKeys } from '../../upstream-formats/start-aws.ts';
import {
  abortedThrough,
  assistant,
  keyless,
  mcpServer,
  missingAssistant,
  overUpstream,
  settingsIn,
} from './assistant.ts';

const skip = missingAssistant('claude');
const events = ['--verbose', '--output-format', 'stream-json'];

test('Claude Code with the variables of its page answers at a start without any provider', { skip }, async (t) => {
  const { url } = await keyless(t);
  const env = { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: testKey };
  const { code, stdout, said } = await assistant(t, 'claude').run(['-p', 'say hi'], env);
  assert.equal(code, 0, said);
  assert.match(stdout, /\[simulated\] .*You said: “say hi/);
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
    for (const fault of ['cut=40events', 'error=12;code=rate_limit_error']) {
      world.upstream.script('*', [`tokens=50;${fault}`]);
      const { code, stdout, said } = await claude.run(['-p', 'say hi']);
      assert.equal(code, 0, said);
      assert.match(stdout, /Mock answer/);
    }
    await abortedThrough(world, () => claude.begin(['-p', 'say hi']));
  });
}

test('Claude Code in its mode for Vertex AI calls a tool, goes on with its result, and counts', { skip }, async (t) => {
  const { gateway, upstream } = await overUpstream(t, 'anthropic');
  const env = {
    CLAUDE_CODE_USE_VERTEX: '1',
    CLAUDE_CODE_SKIP_VERTEX_AUTH: '1',
    ANTHROPIC_VERTEX_BASE_URL: `${gateway.url}/v1`,
    ANTHROPIC_VERTEX_PROJECT_ID: 'culvert',
    CLOUD_ML_REGION: 'global',
    ANTHROPIC_CUSTOM_HEADERS: `Authorization: Bearer ${testKey}`,
  };
  const claude = assistant(t, 'claude');
  const { code, stdout, said } = await claude.run(['-p', 'call Bash', '--allowedTools', 'Bash', ...events], env);
  assert.equal(code, 0, said);
  assert.match(stdout, /"type":"tool_use"[^\n]*"name":"Bash"/);
  assert.match(stdout, /"type":"tool_result"[\s\S]*"type":"text","text":"Mock answer/);
  const context = await claude.run(['-p', '/context'], env);
  assert.equal(context.code, 0, context.said);
  const paths = upstream.requests().map(({ path }) => path);
  assert.ok(
    paths.some((path) => path.startsWith('/v1/messages/count_tokens')),
    paths.join('\n'),
  );
});

/** Claude of a cloud over the scriptable upstream: the provider's settings, and its model. */
const clouds = {
  async bedrock(t: Lifetime, upstream: Upstream) {
    const { url } = await startAws(t, upstream, bedrockWire());
    const aws = { access_key_id: testAwsKeys.accessKeyId, secret_access_key: testAwsKeys.secretAccessKey };
    return { type: 'bedrock', base_url: url, region: 'us-east-1', aws };
  },
  vertex: async (_: Lifetime, { url }: Upstream) => ({
    type: 'vertex',
    base_url: url,
    api_key: 'k',
    project: 'my-project',
  }),
  'azure-openai': async (_: Lifetime, { url }: Upstream) => ({ type: 'azure-openai', base_url: url, api_key: 'k' }),
} as const;

const claudeOf: Readonly<Record<keyof typeof clouds, { model: string; path: RegExp }>> = {
  bedrock: {
    model: 'us.anthropic.claude-mock-v1:0',
    path: /^\/model\/us\.anthropic\.claude-mock-v1%3A0\/invoke-with-response-stream$/,
  },
  vertex: { model: 'claude-mock', path: /\/publishers\/anthropic\/models\/claude-mock:streamRawPredict$/ },
  'azure-openai': { model: 'claude-mock', path: /^\/anthropic\/v1\/messages/ },
};

for (const cloud of Object.keys(clouds) as (keyof typeof clouds)[]) {
  test(`Claude Code runs over ${cloud}: a tool with its result, and a stream that broke`, {
    skip,
  }, async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    const { model, path } = claudeOf[cloud];
    const gateway = await startGateway(t, {
      providers: { up: await clouds[cloud](t, upstream) },
      models: { '*': { targets: [`up/${model}`] } },
    });
    const claude = assistant(t, 'claude');
    claude.write('.claude/settings.json', settingsIn('claude-code.md', 'json', gateway));
    const { code, stdout, said } = await claude.run(['-p', 'call Bash', '--allowedTools', 'Bash', ...events]);
    assert.equal(code, 0, said);
    assert.match(stdout, /"type":"tool_use"[^\n]*"name":"Bash"/);
    assert.match(stdout, /"type":"tool_result"[\s\S]*"type":"text","text":"Mock answer/);
    const turns = upstream.requests().filter((request) => path.test(request.path));
    assert.ok(
      turns.length >= 2,
      upstream
        .requests()
        .map((request) => `${request.method} ${request.path}`)
        .join('\n'),
    );
    const last = turns.at(-1)!.body as { system: unknown; messages: { content: unknown }[] };
    assert.match(JSON.stringify(last.system), /cache_control/);
    assert.match(JSON.stringify(last.messages), /tool_result/);
    upstream.script('*', ['tokens=50;cut=40events']);
    const again = await claude.run(['-p', 'say hi']);
    assert.equal(again.code, 0, again.said);
    assert.match(again.stdout, /Mock answer/);
  });
}

test('Claude Code calls a tool of its MCP server that it finds by its own search, over another provider', {
  skip,
}, async (t) => {
  const { gateway, upstream } = await overUpstream(t, 'openai');
  const claude = assistant(t, 'claude');
  claude.write('.claude/settings.json', settingsIn('claude-code.md', 'json', gateway));
  claude.write('project/mcp.json', JSON.stringify({ mcpServers: { test: mcpServer } }));
  upstream.script('*', ['call=ToolSearch', 'call=mcp__test__mock', '']);
  const options = ['--mcp-config', 'mcp.json', '--allowedTools', 'ToolSearch,mcp__test__mock', ...events];
  const { code, stdout, said } = await claude.run(['-p', 'go on', ...options]);
  assert.equal(code, 0, said);
  assert.match(stdout, /"tool_use"[^\n]*"name":"mcp__test__mock"[\s\S]*"tool_result"[^\n]*"mock"/);
});
