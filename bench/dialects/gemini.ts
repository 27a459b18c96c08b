import type { JsonObject } from '../../src/kernel/json.ts';

/**
 * A `generateContent` request of about `bytes`, with an agent's tools in Google's own schema words and the calls that
 * it made. `model` and `stream` stand in it as the route puts them there.
 */
export function geminiBody(bytes: number): JsonObject {
  const functionDeclarations = Array.from({ length: 12 }, (_, i) => ({
    name: i === 0 ? 'read_file' : `tool_${i}`,
    description: 'Does what its name says, with care and never without need. '.repeat(40),
    parameters: {
      type: 'OBJECT',
      properties: {
        path: { type: 'STRING', description: 'Where the file is. '.repeat(8) },
        offset: { type: 'INTEGER', nullable: true },
        mode: { type: 'STRING', enum: ['content', 'files', 'count'] },
      },
      required: ['path'],
    },
  }));
  const contents: JsonObject[] = [{ role: 'user', parts: [{ text: 'Look at the files.' }] }];
  const body = {
    model: 'alias',
    stream: true,
    systemInstruction: { parts: [{ text: 'You are a coding agent. '.repeat(400) }] },
    contents,
    tools: [{ functionDeclarations }],
    generationConfig: { temperature: 0.2, maxOutputTokens: 8_000, thinkingConfig: { includeThoughts: true } },
  };
  for (let size = JSON.stringify(body).length; size < bytes; ) {
    const id = `call_${contents.length}`;
    const turn = [
      {
        role: 'model',
        parts: [
          { text: 'I look at it. '.repeat(8) },
          { functionCall: { id, name: 'read_file', args: { path: '/src/main.ts', offset: contents.length } } },
        ],
      },
      {
        role: 'user',
        parts: [{ functionResponse: { id, name: 'read_file', response: { output: 'a line\n'.repeat(100) } } }],
      },
    ];
    contents.push(...turn);
    size += JSON.stringify(turn).length;
  }
  return body;
}
