import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { checkRequest } from './request-fields.ts';

/** The field that a complaint about a request with these members names; null: there is none. */
function refusedField(members: JsonObject): string | null {
  const checked = checkRequest({ model: 'm', input: 'Hello', ...members });
  const failure = isFailure(checked) ? checked : checked.vendors;
  return failure?.kind === 'invalid-request' ? failure.param : null;
}

const tools = [
  { type: 'function', name: 'lookup', parameters: { type: 'object' } },
  { type: 'custom', name: 'patch' },
];

test('a choice that forces a tool needs a tool of its type and name', () => {
  assert.equal(refusedField({ tools, tool_choice: { type: 'function', name: 'lookup' } }), null);
  assert.equal(refusedField({ tools, tool_choice: { type: 'custom', name: 'patch' } }), null);
  for (const tool_choice of [
    { type: 'function', name: 'other' },
    { type: 'function', name: 'patch' },
    { type: 'custom', name: 'lookup' },
  ])
    assert.equal(refusedField({ tools, tool_choice }), 'tool_choice.name', JSON.stringify(tool_choice));
  assert.equal(refusedField({ tool_choice: { type: 'function', name: 'lookup' } }), 'tool_choice.name');
});

test('a choice that requires any tool needs one', () => {
  assert.equal(refusedField({ tools, tool_choice: 'required' }), null);
  assert.equal(refusedField({ tool_choice: 'required' }), 'tools');
  assert.equal(refusedField({ tools: [], tool_choice: 'required' }), 'tools');
});

test('tools that an earlier response or a prompt may bring are not looked for', () => {
  const tool_choice = { type: 'function', name: 'lookup' };
  assert.equal(refusedField({ previous_response_id: 'resp_1', tool_choice }), null);
  assert.equal(refusedField({ prompt: { id: 'pmpt_1' }, tool_choice }), null);
});
