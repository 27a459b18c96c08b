import type { JsonObject } from '../../src/kernel/json.ts';

/*
 * Bodies of Codex CLI 0.169 as measured (clients.md §2): no instructions but a developer's message, four kinds of
 * tools, the whole history in every turn, about 38 KB with its tools.
 */

const shellText = 'Runs a shell command and returns its output. '.repeat(60);
const grammar = `start: begin_patch hunk+ end_patch\n${'hunk: add_hunk | delete_hunk | update_hunk\n'.repeat(40)}`;

const shell: JsonObject = {
  type: 'function',
  name: 'shell',
  description: shellText,
  strict: false,
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'array', items: { type: 'string' }, description: 'The command to run.' },
      workdir: { type: 'string' },
      timeout_ms: { type: 'number' },
    },
    required: ['command'],
    additionalProperties: false,
  },
};

const more: JsonObject[] = Array.from({ length: 8 }, (_, i) => ({
  ...shell,
  name: `mcp__server__tool_${i}`,
}));

export const codexTools: JsonObject[] = [
  shell,
  {
    type: 'custom',
    name: 'apply_patch',
    description: 'Use the `apply_patch` tool to edit files.',
    format: { type: 'grammar', syntax: 'lark', definition: grammar },
  },
  { type: 'tool_search', execution: 'client' },
  { type: 'web_search', external_web_access: true },
  ...more,
];

const text = (role: string, words: string): JsonObject => ({
  type: 'message',
  role,
  content: [{ type: 'input_text', text: words }],
});

/** The first turn; `history` is everything since the user's words. */
export function codexTurn(words: string, history: readonly JsonObject[] = []): JsonObject {
  return {
    model: 'chat',
    stream: true,
    input: [
      { ...text('developer', `You are Codex, a coding agent. ${'Be precise. '.repeat(800)}`), id: 'msg_dev' },
      text('user', '<environment_context><cwd>/work</cwd><shell>bash</shell></environment_context>'),
      text('user', words),
      ...history,
    ],
    tools: codexTools,
    tool_choice: 'auto',
    parallel_tool_calls: true,
    reasoning: { effort: 'medium' },
    store: false,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: '019a7f3c-thread',
    text: { verbosity: 'low' },
    client_metadata: {},
  };
}

export const codexHeaders = {
  accept: 'text/event-stream',
  originator: 'codex_exec',
  'session-id': '019a7f3c-session',
  'thread-id': '019a7f3c-thread',
  'x-codex-window-id': 'w1',
  'x-codex-turn-metadata': JSON.stringify({ turn: 'x'.repeat(600) }),
};
