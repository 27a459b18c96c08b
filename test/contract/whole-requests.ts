/** Requests that use most of each format: tests change them at random places to see the result. */
export interface WholeRequest {
  /** `MODEL` stands for the alias where the path names it. */
  path: string;
  body: Record<string, unknown>;
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const pdf = 'data:application/pdf;base64,JVBERi0=';
const schema = {
  type: 'object',
  properties: { x: { type: 'string', enum: ['a'] }, y: { anyOf: [{ type: 'number' }, { $ref: '#/$defs/z' }] } },
  required: ['x'],
  $defs: { z: { type: 'null' } },
};
const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${png}`, detail: 'low' } };

export const wholeRequests: readonly WholeRequest[] = [
  {
    path: '/v1/messages',
    body: {
      model: 'MODEL',
      max_tokens: 2_048,
      system: [{ type: 'text', text: 's', cache_control: { type: 'ephemeral' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'hi' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'd' }, title: 't' },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 't', signature: 's' },
            { type: 'redacted_thinking', data: 'd' },
            { type: 'text', text: 'a', citations: [{ type: 'char_location', cited_text: 'x', document_index: 0 }] },
            { type: 'tool_use', id: 't1', name: 'f', input: { x: 'a' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'r' }], is_error: false },
          ],
        },
        { role: 'system', content: 'mid' },
      ],
      tools: [
        { name: 'f', description: 'd', input_schema: schema },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      thinking: { type: 'enabled', budget_tokens: 1_024 },
      metadata: { user_id: 'u' },
      output_config: { effort: 'high' },
      top_k: 4,
      stream: false,
    },
  },
  {
    path: '/v1/chat/completions',
    body: {
      model: 'MODEL',
      messages: [
        { role: 'system', content: 's', name: 'n' },
        {
          role: 'user',
          content: [{ type: 'text', text: 'hi' }, image, { type: 'file', file: { file_data: pdf, filename: 'a' } }],
        },
        {
          role: 'assistant',
          content: 'x',
          reasoning_content: 'r',
          tool_calls: [{ id: 't1', type: 'function', function: { name: 'f', arguments: '{"x":"a"}' } }],
        },
        { role: 'tool', tool_call_id: 't1', content: 'r' },
      ],
      tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: schema, strict: true } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
      parallel_tool_calls: false,
      max_completion_tokens: 100,
      seed: 1,
      temperature: 1,
      logit_bias: { '1': 1 },
      user: 'u',
      metadata: { a: 'b' },
      reasoning_effort: 'low',
      stream: false,
    },
  },
  {
    path: '/v1/responses',
    body: {
      model: 'MODEL',
      instructions: 'i',
      input: [
        { role: 'developer', content: 'd', id: 'x' },
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'hi' },
            { type: 'input_image', image_url: image.image_url.url },
            { type: 'input_file', file_data: pdf, filename: 'a' },
          ],
        },
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 's' }], encrypted_content: 'e' },
        { type: 'function_call', call_id: 't1', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 't1', output: 'r' },
        { type: 'custom_tool_call', call_id: 't2', name: 'p', input: 'i' },
        { type: 'custom_tool_call_output', call_id: 't2', output: 'o' },
      ],
      tools: [
        { type: 'function', name: 'f', parameters: schema, strict: false },
        { type: 'custom', name: 'p', format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } },
        { type: 'web_search' },
      ],
      tool_choice: 'auto',
      reasoning: { effort: 'low', summary: 'auto' },
      text: { verbosity: 'low' },
      include: ['reasoning.encrypted_content'],
      max_output_tokens: 100,
      stream: false,
    },
  },
  {
    path: '/v1/responses',
    body: {
      model: 'MODEL',
      input: [
        { role: 'user', content: 'hi' },
        { type: 'tool_search_call', call_id: 's1', execution: 'client', arguments: { query: 'q' } },
        {
          type: 'tool_search_output',
          call_id: 's1',
          execution: 'client',
          tools: [
            {
              type: 'namespace',
              name: 'n',
              description: 'd',
              tools: [{ type: 'function', name: 'f', parameters: schema }],
            },
          ],
        },
        { type: 'function_call', call_id: 't1', name: 'f', namespace: 'n', arguments: '{}' },
        { type: 'function_call_output', call_id: 't1', output: [{ type: 'input_text', text: 'r' }] },
        { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'g', parameters: schema }] },
      ],
      tools: [
        { type: 'tool_search', execution: 'client', description: 'd', parameters: schema },
        { type: 'namespace', name: 'm', description: 'd', tools: [{ type: 'custom', name: 'h', description: 'd' }] },
      ],
      tool_choice: {
        type: 'allowed_tools',
        mode: 'auto',
        tools: [
          { type: 'namespace', name: 'n' },
          { type: 'function', name: 'f', namespace: 'n' },
          { type: 'tool_search' },
          { type: 'mcp', server_label: 's', name: 'x' },
        ],
      },
      stream: false,
    },
  },
  {
    path: '/v1beta/interactions',
    body: {
      model: 'MODEL',
      system_instruction: 's',
      input: [
        {
          type: 'user_input',
          content: [
            { type: 'text', text: 'hi' },
            { type: 'image', data: png, mime_type: 'image/png' },
            { type: 'document', data: 'JVBERi0=', mime_type: 'application/pdf' },
          ],
        },
        { type: 'thought', signature: 's', summary: [{ type: 'text', text: 't' }] },
        { type: 'function_call', id: 't1', name: 'f', arguments: { x: 'a' } },
        { type: 'function_result', call_id: 't1', name: 'f', result: [{ type: 'text', text: 'r' }], is_error: false },
        { type: 'model_output', content: [{ type: 'text', text: 'a' }] },
      ],
      tools: [{ type: 'function', name: 'f', description: 'd', parameters: schema }, { type: 'google_search' }],
      response_format: { type: 'text', mime_type: 'application/json', schema },
      generation_config: { temperature: 1, max_output_tokens: 100, thinking_level: 'low', tool_choice: 'auto' },
      store: false,
      stream: false,
    },
  },
  {
    path: '/v1beta/models/MODEL:generateContent',
    body: {
      systemInstruction: { parts: [{ text: 's' }] },
      contents: [
        { role: 'user', parts: [{ text: 'hi' }, { inlineData: { mimeType: 'image/png', data: png } }] },
        {
          role: 'model',
          parts: [
            { text: 't', thought: true, thoughtSignature: 'c2ln' },
            { functionCall: { id: '1', name: 'f', args: { x: 'a' } } },
          ],
        },
        { role: 'user', parts: [{ functionResponse: { id: '1', name: 'f', response: { output: 'r' } } }] },
      ],
      tools: [{ functionDeclarations: [{ name: 'f', parameters: { type: 'OBJECT', properties: {} } }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
      generationConfig: { temperature: 1, maxOutputTokens: 100, thinkingConfig: { thinkingBudget: 100 } },
    },
  },
  {
    path: '/v1/embeddings',
    body: { model: 'MODEL', input: ['a', 'b'], dimensions: 256, encoding_format: 'base64', user: 'u', input_type: 'q' },
  },
  {
    path: '/v1beta/models/MODEL:batchEmbedContents',
    body: {
      requests: [
        { content: { parts: [{ text: 'a' }] }, outputDimensionality: 256 },
        { content: { parts: [{ text: 'b' }] }, outputDimensionality: 256 },
      ],
    },
  },
];

type Holder = Record<string | number, unknown>;

/** Every place in a JSON value: who holds it, and under which key. */
export function placesIn(value: unknown, places: { holder: Holder; key: string }[] = []) {
  if (typeof value !== 'object' || value === null) return places;
  for (const key of Object.keys(value)) {
    places.push({ holder: value as Holder, key });
    placesIn((value as Holder)[key], places);
  }
  return places;
}
