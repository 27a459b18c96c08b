import assert from 'node:assert/strict';
import { test } from 'node:test';
import { membersFor } from './encode-forwarded.ts';

const opened = { context_management: /^context-/, speed: /^fast-/ };
const inBody = { without: ['model'], with: { anthropic_version: 'v' }, betas: /^(context|fast)-/, opened };

test('betas that a service knows go into its body, and members that none of them opens stay out', () => {
  assert.deepEqual(membersFor(inBody, 'context-1, unknown-1,context-1'), {
    members: {
      ...inBody,
      without: ['model', 'speed'],
      with: { anthropic_version: 'v', anthropic_beta: ['context-1'] },
    },
    losses: [{ field: 'anthropic-beta', why: 'narrowed' }],
  });
  assert.deepEqual(membersFor(inBody, 'context-1,fast-1'), {
    members: {
      ...inBody,
      without: ['model'],
      with: { anthropic_version: 'v', anthropic_beta: ['context-1', 'fast-1'] },
    },
    losses: [],
  });
  for (const none of ['', undefined, ' , '])
    assert.deepEqual(membersFor(inBody, none), {
      members: { ...inBody, without: ['model', 'context_management', 'speed'] },
      losses: [],
    });
});

test('betas of a header say which members go, and are no loss of the body', () => {
  const { betas, ...rest } = inBody;
  const inHeader = { ...rest, headerBetas: betas };
  assert.deepEqual(membersFor(inHeader, 'fast-1,unknown-1'), {
    members: { ...inHeader, without: ['model', 'context_management'] },
    losses: [],
  });
});

test('a service that takes any beta, or has no such members, gets the body as it is', () => {
  const { betas: _, ...any } = inBody;
  assert.deepEqual(membersFor(any, 'fast-1'), { members: any, losses: [] });
  assert.deepEqual(membersFor(undefined, 'fast-1'), { members: undefined, losses: [] });
});
