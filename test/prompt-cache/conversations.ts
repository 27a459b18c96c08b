/** A text of about so many tokens. */
export const textOf = (tokens: number, word = 'wall') => `${word} `.repeat(Math.ceil((tokens * 4) / (word.length + 1)));

/** Sizes in tokens, and how many turns of the user it has. */
export interface Told {
  system: number;
  tools: number;
  turns: number;
  turn?: number;
}

const schema = { type: 'object', properties: { a: { type: 'number' } } };

/** The same conversation in the four formats of callers. */
export const callers: Record<string, { path(model: string, stream: boolean): string; body(told: Told): object }> = {
  chat: {
    path: () => '/v1/chat/completions',
    body: ({ system, tools, turns, turn = 4 }) => ({
      messages: [
        ...(system > 0 ? [{ role: 'system', content: textOf(system) }] : []),
        ...turnsOf(turns, turn, (role, content) => ({ role: role === 'model' ? 'assistant' : role, content })),
      ],
      ...(tools > 0 && {
        tools: [{ type: 'function', function: { name: 'f', description: textOf(tools), parameters: schema } }],
      }),
    }),
  },
  messages: {
    path: () => '/v1/messages',
    body: ({ system, tools, turns, turn = 4 }) => ({
      max_tokens: 100,
      ...(system > 0 && { system: textOf(system) }),
      messages: turnsOf(turns, turn, (role, content) => ({ role: role === 'model' ? 'assistant' : role, content })),
      ...(tools > 0 && { tools: [{ name: 'f', description: textOf(tools), input_schema: schema }] }),
    }),
  },
  responses: {
    path: () => '/v1/responses',
    body: ({ system, tools, turns, turn = 4 }) => ({
      store: false,
      ...(system > 0 && { instructions: textOf(system) }),
      input: turnsOf(turns, turn, (role, content) => ({ role: role === 'model' ? 'assistant' : role, content })),
      ...(tools > 0 && {
        tools: [{ type: 'function', name: 'f', description: textOf(tools), parameters: schema, strict: false }],
      }),
    }),
  },
  gemini: {
    path: (model, stream) => `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: ({ system, tools, turns, turn = 4 }) => ({
      ...(system > 0 && { systemInstruction: { parts: [{ text: textOf(system) }] } }),
      contents: turnsOf(turns, turn, (role, text) => ({ role, parts: [{ text }] })),
      ...(tools > 0 && {
        tools: [{ functionDeclarations: [{ name: 'f', description: textOf(tools), parametersJsonSchema: schema }] }],
      }),
    }),
  },
};

function turnsOf<T>(turns: number, tokens: number, write: (role: 'user' | 'model', text: string) => T): T[] {
  return Array.from({ length: turns }, (_, at) => [
    ...(at > 0 ? [write('model', `answer ${at}`)] : []),
    write('user', `question ${at} ${textOf(tokens)}`),
  ]).flat();
}
