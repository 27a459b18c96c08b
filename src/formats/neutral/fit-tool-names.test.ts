import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitToolNames } from './fit-tool-names.ts';
import type { NeutralRequest } from './request.ts';

const long = `mcp__${'server-'.repeat(12)}_tool`;
const twin = `${long}_2`;

function asking(...names: string[]): NeutralRequest {
  return {
    model: 'm',
    stream: false,
    includeUsage: false,
    messages: [
      { role: 'user', parts: [{ type: 'text', text: long }] },
      { role: 'assistant', parts: [{ type: 'tool-call', id: '1', name: names[0]!, argumentsJson: '{}' }] },
    ],
    tools: names.map((name) => ({ name })),
    toolChoice: { type: 'tool', name: names[0]! },
  };
}

test('names that fit stay, and the request with them', () => {
  assert.equal(fitToolNames(asking('get_weather', 'x'.repeat(64))), null);
});

test('a longer name is the same short one wherever it stands, unlike others, and told back', () => {
  const fitted = fitToolNames(asking(long, twin, 'with.dots'))!;
  const names = fitted.request.tools!.map(({ name }) => name);
  for (const name of names) assert.match(name, /^[\w-]{1,64}$/);
  assert.equal(new Set(names).size, 3);
  const [call] = fitted.request.messages[1]!.parts;
  assert.equal(call?.type === 'tool-call' && call.name, names[0]);
  assert.deepEqual(fitted.request.toolChoice, { type: 'tool', name: names[0] });
  assert.deepEqual(
    names.map((name) => fitted.callersNames[name]),
    [long, twin, 'with.dots'],
  );
  assert.deepEqual(fitToolNames(asking(long, twin, 'with.dots')), fitted, 'the same in every turn');
});
