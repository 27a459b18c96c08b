import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitToModel, withoutThoughtEdits } from './fit-to-model.ts';
import type { CallerBody, CallerMessage } from './wire.ts';

const turns: CallerMessage[] = [{ role: 'user', content: 'hi' }];
const inLoop: CallerMessage[] = [
  ...turns,
  { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'x' }] },
];
const fit = (members: Partial<CallerBody>, model: string, messages = turns) =>
  fitToModel({ model: 'm', max_tokens: 8_000, ...members, messages }, messages, model);
const unsupported = (...fields: string[]) => fields.map((field) => ({ field, why: 'unsupported' as const }));

test('a body stays as it is for a model of no known generation, and where the model takes all of it', () => {
  const all = { temperature: 1, top_p: 1, thinking: { type: 'enabled', budget_tokens: 5_000 } } as const;
  assert.equal(fit(all, 'other-model'), null);
  assert.equal(fit(all, 'claude-sonnet-4-20250514'), null);
  assert.equal(fit({ temperature: 1 }, 'claude-sonnet-4-5'), null);
  assert.equal(fit({ top_p: 1 }, 'claude-sonnet-4-5'), null);
});

test('sampling is left out where a generation takes one of two words, or none', () => {
  const sampling = { temperature: 1, top_p: 0.5, top_k: 3 };
  assert.deepEqual(fit(sampling, 'claude-sonnet-4-5'), {
    members: {},
    without: ['top_p'],
    losses: unsupported('top_p'),
  });
  const names = Object.keys(sampling);
  assert.deepEqual(fit(sampling, 'claude-opus-5'), { members: {}, without: names, losses: unsupported(...names) });
});

test('an effort is left out for a model that has none, and the rest of output_config stays', () => {
  const losses = unsupported('output_config.effort');
  const alone = fit({ output_config: { effort: 'low' } }, 'claude-sonnet-4-5');
  assert.deepEqual(alone, { members: {}, without: ['output_config'], losses });
  const format = { type: 'json_schema' };
  const beside = fit({ output_config: { effort: 'low', format } }, 'claude-sonnet-4-5');
  assert.deepEqual(beside, { members: { output_config: { format } }, without: [], losses });
  assert.equal(fit({ output_config: { effort: 'low' } }, 'claude-opus-5'), null);
});

test('a budget becomes an effort for a model that thinks as much as it wants', () => {
  const losses = [{ field: 'thinking.budget_tokens', why: 'narrowed' }];
  for (const [budget, effort] of [
    [4_095, 'low'],
    [4_096, 'medium'],
    [16_384, 'high'],
  ] as const)
    assert.deepEqual(fit({ thinking: { type: 'enabled', budget_tokens: budget } }, 'claude-opus-5'), {
      members: { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort } },
      without: [],
      losses,
    });
  const thinking = { type: 'enabled', budget_tokens: 1_024, display: 'omitted' } as const;
  assert.deepEqual(fit({ thinking, output_config: { effort: 'max' } }, 'claude-opus-5')?.members, {
    thinking: { type: 'adaptive', display: 'omitted' },
  });
});

test('adaptive thinking becomes a budget for a model of before, where it has room and no call waits or is forced', () => {
  const adaptive = { thinking: { type: 'adaptive' } } as const;
  assert.deepEqual(fit(adaptive, 'claude-sonnet-4-5'), {
    members: { thinking: { type: 'enabled', budget_tokens: 6_000 } },
    without: [],
    losses: [{ field: 'thinking', why: 'narrowed' }],
  });

  const off = { members: { thinking: { type: 'disabled' } }, without: [], losses: unsupported('thinking') };
  assert.deepEqual(fit({ ...adaptive, max_tokens: 1_000 }, 'claude-sonnet-4-5'), off);
  assert.deepEqual(fit(adaptive, 'claude-3-5-sonnet-20241022'), off);
  for (const choice of [{ type: 'any' }, { type: 'tool', name: 'f' }] as const)
    assert.deepEqual(fit({ ...adaptive, tool_choice: choice }, 'claude-sonnet-4-5'), off);
  assert.notDeepEqual(fit({ ...adaptive, tool_choice: { type: 'auto' } }, 'claude-sonnet-4-5'), off);
  assert.deepEqual(fit(adaptive, 'claude-sonnet-4-5', inLoop), off);

  const edits = [{ type: 'clear_thinking_20251015' }, { type: 'clear_tool_uses_20250919' }, 'odd'];
  const management = { edits, other: 1 };
  const cut = { edits: edits.slice(1), other: 1 };
  assert.deepEqual(
    fit({ ...adaptive, max_tokens: 1_000, context_management: management }, 'claude-sonnet-4-5')?.members,
    {
      thinking: { type: 'disabled' },
      context_management: cut,
    },
  );
  assert.equal(
    fit({ ...adaptive, context_management: management }, 'claude-sonnet-4-5')?.members.context_management,
    undefined,
  );
  assert.deepEqual(withoutThoughtEdits(management), cut);
  const odd = { edits: 'odd' };
  assert.equal(withoutThoughtEdits(odd), odd);
});
