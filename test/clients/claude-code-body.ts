/** Request bodies shaped as Claude Code 2.1.328 sends them (clients.md §1), 50 to 90 KB for two words. */

const schemaOf = (name: string) => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: {
    file_path: { type: 'string', description: `The absolute path for ${name}. `.repeat(8), pattern: '^/' },
    offset: { type: 'number', exclusiveMinimum: 0, default: 1, description: 'Where to begin. '.repeat(10) },
    mode: { type: 'string', enum: ['content', 'files', 'count'] },
  },
  required: ['file_path'],
  additionalProperties: false,
});

export const toolNames = ['Bash', 'Read', 'Edit', 'Write', 'Glob', 'Grep', 'Task', 'WebFetch', 'TodoWrite', 'Skill'];

const tools = [
  ...toolNames.map((name) => ({
    name,
    description: `${name} does what its name says. Use it with care and never without need. `.repeat(70),
    input_schema: schemaOf(name),
  })),
  {
    name: 'DeferredToolPlaceholder',
    description: 'More tools.',
    input_schema: { type: 'object' },
    defer_loading: true,
  },
];

export const betas =
  'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,per-turn-control-2026-07-01,mid-conversation-tool-changes-2026-07-01,thinking-token-count-2026-05-13,advanced-tool-use-2025-11-20,effort-2025-11-24';

const cache = { type: 'ephemeral' } as const;

const body = {
  model: 'chat',
  system: [
    { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.328; cc_entrypoint=cli; cch=4f1a2;' },
    { type: 'text', text: 'You are a coding agent.', cache_control: cache },
    { type: 'text', text: 'Work in small steps. '.repeat(200), cache_control: cache },
  ],
  tools,
  metadata: {
    user_id: JSON.stringify({ device_id: 'd'.repeat(64), account_uuid: '', session_id: '3f2c9c1e-0000-4000-8000' }),
  },
  max_tokens: 128_000,
  thinking: { type: 'adaptive', display: 'omitted' },
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  output_config: { effort: 'xhigh' },
  stream: true,
};

const firstTurn = (said: string) => ({
  role: 'user',
  content: [
    { type: 'text', text: '<system-reminder>The date is today.</system-reminder>' },
    { type: 'text', text: said, cache_control: cache },
  ],
});

export function firstRequest(said: string): Record<string, unknown> {
  const reminder = {
    role: 'system',
    content: [{ type: 'text', text: 'Mind the effort.', cache_control: cache }],
    output_config: { effort: 'low' },
  };
  return { ...body, messages: [firstTurn(said), reminder] };
}

/** The turn after `said` was answered with `content`, which calls tools: all of them answer. */
export function secondRequest(
  said: string,
  content: readonly { type: string; id?: string }[],
): Record<string, unknown> {
  const results = content
    .filter(({ type }) => type === 'tool_use')
    .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'ok', is_error: false, cache_control: cache }));
  return {
    ...body,
    messages: [
      firstTurn(said),
      { role: 'system', content: 'Mind the effort.', output_config: { effort: 'low' } },
      { role: 'assistant', content },
      { role: 'user', content: results },
    ],
  };
}
