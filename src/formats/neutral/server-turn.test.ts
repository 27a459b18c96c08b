import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NeutralMessage, NeutralRequest } from './request.ts';
import { type ServerTurn, withServerTurn } from './server-turn.ts';

const user: NeutralMessage = { role: 'user', parts: [{ type: 'text', text: 'hi' }] };
const model: NeutralMessage = { role: 'assistant', parts: [{ type: 'text', text: 'so far' }] };
const request: NeutralRequest = { model: 'm', messages: [user], stream: false, includeUsage: false };
const search = { name: 'web_search' };
const turn: ServerTurn = { offered: [search], fields: ['tools.web_search'], messages: [], choice: 'as asked' };

test('a turn of a model with server tools offers their functions beside those of the caller, and says what came before', () => {
  const first = withServerTurn(request, turn);
  assert.deepEqual(first, { ...request, tools: [search] });
  assert.equal(first.messages, request.messages);
  const second = withServerTurn({ ...request, tools: [{ name: 'f' }] }, { ...turn, messages: [model] });
  assert.deepEqual(second.messages, [user, model]);
  assert.deepEqual(second.tools, [{ name: 'f' }, search]);
});

test('which tool the model must call follows the turn: as asked, one, none, or free once it has called one', () => {
  const chosen = (toolChoice: NeutralRequest['toolChoice'], choice: ServerTurn['choice']) =>
    withServerTurn({ ...request, ...(toolChoice && { toolChoice }) }, { ...turn, choice }).toolChoice;
  const required = { type: 'required' } as const;
  const named = { type: 'tool', name: 'f' } as const;
  const auto = { type: 'auto' } as const;
  assert.deepEqual(chosen(required, 'as asked'), required);
  assert.deepEqual(chosen(required, { name: 'g' }), { type: 'tool', name: 'g' });
  assert.deepEqual(chosen(required, 'none'), { type: 'none' });
  assert.deepEqual(
    [chosen(required, 'free'), chosen(named, 'free'), chosen(auto, 'free'), chosen(undefined, 'free')],
    [undefined, undefined, auto, undefined],
  );
});

test('what the functions replace is neither sent to the vendor nor counted as lost, and the rest is', () => {
  const before: NeutralRequest = {
    ...request,
    extensions: { chat: { 'tools.web_search': [{}], other: 1 }, elsewhere: {} },
    lost: [
      { field: 'tools.web_search', why: 'unsupported' },
      { field: 'other', why: 'unsupported' },
    ],
  };
  const { extensions, lost } = withServerTurn(before, { ...turn, lost: [{ field: 'tools.mcp', why: 'unsupported' }] });
  assert.deepEqual(extensions, { chat: { other: 1 }, elsewhere: {} });
  assert.deepEqual(lost, [
    { field: 'other', why: 'unsupported' },
    { field: 'tools.mcp', why: 'unsupported' },
  ]);
  const bare = withServerTurn(request, { ...turn, lost: [{ field: 'tools.mcp', why: 'unsupported' }] });
  assert.deepEqual([bare.lost, 'extensions' in bare], [[{ field: 'tools.mcp', why: 'unsupported' }], false]);
});
